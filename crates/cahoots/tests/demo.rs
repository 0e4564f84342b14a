//! The demo as a user starts it: small, and in a folder of temporary files of its own, so that whatever it leaves behind is
//! found. Processes are looked for in /proc.
#![cfg(target_os = "linux")]

mod running;
mod shell;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use running::{Running, asked};
use serde_json::Value;
use shell::{command, text};

/// Nothing here takes longer, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A small demo, whose temporary files are in `folder`.
fn demo(folder: &Path, more: &[&str]) -> Command {
    let mut demo = command(folder, &["demo", "--no-browser", "--clients", "4"]);
    demo.args(more).env("TMPDIR", folder).stdin(Stdio::null());
    demo
}

/// Command lines of processes that name this folder.
fn running_in(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let lines = fs::read_dir("/proc").unwrap().flatten().filter_map(|process| {
        let line =
            String::from_utf8_lossy(&fs::read(process.path().join("cmdline")).ok()?).replace('\0', " ");
        line.contains(folder).then_some(line)
    });
    lines.collect()
}

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A demo that runs, and what it has said on its way.
struct Demo {
    process: Child,
    lines: Receiver<String>,
}

impl Demo {
    fn start(folder: &Path, more: &[&str]) -> Demo {
        let mut process = demo(folder, more).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stderr = process.stderr.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Demo { process, lines }
    }

    /// The line with these words, once it is there.
    fn says(&self, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut said = Vec::new();
        while !said.last().is_some_and(|line: &String| line.contains(words)) {
            let left = deadline.saturating_duration_since(Instant::now());
            said.push(self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("{words:?} not in {said:#?}")));
        }
        said.pop().expect("it was said")
    }

    fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    fn ends(&mut self) -> Option<i32> {
        let mut status = None;
        until("its end", || {
            status = self.process.try_wait().unwrap();
            status.is_some()
        });
        status.and_then(|status| status.code())
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn it_ends_with_a_table_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // Variables for nodes of the user's own are no affair of the demo's.
    let output = demo(folder.path(), &["--seconds", "6"]).env("CAHOOTS_STORE", "elsewhere").output().unwrap();
    let (said, table) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{said}\n{table}");
    for words in ["was killed", "is back", "the coordinator was killed", "the coordinator is back"] {
        assert!(said.contains(words), "{words:?} not in {said}");
    }
    for words in ["alone", "federated", "centralised", "acknowledged", "merged", "raw data"] {
        assert!(table.contains(words), "{words:?} not in {table}");
    }
    assert_eq!(running_in(folder.path()), Vec::<String>::new());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "its files are still there");
}

#[test]
fn its_page_answers_while_it_runs_and_when_the_coordinator_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut demo = Demo::start(folder.path(), &["--seconds", "20"]);
    let line = demo.says("watch them at");
    let page = line.rsplit(' ').next().unwrap().trim_end_matches('/').to_string();
    let get = |path: &str| ureq::get(format!("{page}{path}")).call()?.body_mut().read_to_string();
    let merged = || {
        let mut merged = 0;
        until("its page, all clients, and rewards that are merged", || {
            let (Ok(page), Ok(status)) = (get("/"), get("/status")) else { return false };
            assert!(page.contains("<title>"), "{page}");
            let status: Value = serde_json::from_str(&status).unwrap();
            merged = status["observations"].as_u64().unwrap();
            status["connected"] == 4 && merged > 0
        });
        merged
    };
    let before = merged();
    demo.says("the coordinator is back");
    assert!(merged() >= before, "what was merged is still there");
    demo.signal("-INT");
    assert_eq!(demo.ends(), Some(130));
    assert!(get("/").is_err(), "nobody listens any more");
}

#[test]
fn interrupted_at_any_stage_it_takes_all_its_processes_along() {
    // While they start, while they work, while the coordinator is away.
    for (signal, moment) in [
        ("-INT", "start as processes"),
        ("-INT", "client 1 was killed"),
        ("-TERM", "the coordinator was killed"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut demo = Demo::start(folder.path(), &["--seconds", "8"]);
        demo.says(moment);
        demo.signal(signal);
        assert_eq!(demo.ends(), Some(130), "{moment}");
        assert_eq!(running_in(folder.path()), Vec::<String>::new(), "{moment}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{moment}: its files are still there");
    }
}

#[test]
fn killed_itself_it_leaves_no_process_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut demo = Demo::start(folder.path(), &["--seconds", "60"]);
    demo.says("was killed");
    assert!(running_in(folder.path()).len() >= 4, "{:?}", running_in(folder.path()));
    demo.signal("-KILL");
    assert_eq!(demo.ends(), None);
    until("the end of its processes", || running_in(folder.path()).is_empty());
}

#[test]
fn a_loss_is_a_failure_and_is_said() {
    let folder = tempfile::tempdir().unwrap();
    // A client's store is deleted while the coordinator is away: what it had acknowledged since is gone.
    let output = demo(folder.path(), &["--seconds", "6", "--lose-a-store"]).output().unwrap();
    let (said, table) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(1), "{said}\n{table}");
    assert!(said.contains("client 1 did not come back"), "{said}");
    assert!(said.contains("acknowledged and are not merged"), "{said}");
    assert!(table.contains("federated"), "what came of the others is still shown: {table}");
    assert_eq!(running_in(folder.path()), Vec::<String>::new());
}

#[test]
fn what_is_kept_can_be_looked_at_and_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let output = demo(folder.path(), &["--seconds", "4", "--keep", "kept"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for file in ["coordinator.toml", "coordinator.store", "client-0.toml", "client-3.store"] {
        assert!(kept.join(file).exists(), "{file}");
    }
    let coordinator = Running::start(&kept, "serve", "coordinator.toml");
    assert_eq!(asked(&kept, &["status", "coordinator.toml"])["members"], 4);
    coordinator.stop();
    let again = demo(folder.path(), &["--seconds", "4", "--keep", "kept"]).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "a folder with something in it is not written over");
    assert!(text(&again.stderr).contains("kept"), "{}", text(&again.stderr));
}
