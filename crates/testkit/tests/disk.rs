//! Disks that fill up or lose their tail, and configurations that are wrong.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cahoots_testkit::soak::{Cluster, Process};
use serde_json::json;
use toml::Table;

const EXE: &str = env!("CARGO_BIN_EXE_cahoots-node");

/// Nodes whose stores cannot grow for ever: a limit on the size of their files, which needs no rights.
struct Limited {
    folder: PathBuf,
}

impl Limited {
    /// Nodes are started through [`Self::exe`]. An ignored signal stays ignored over `exec`, so that a write
    /// beyond the limit fails as on a full disk and does not kill.
    fn new(folder: &Path) -> Limited {
        let limited = Limited { folder: folder.into() };
        let script = format!(
            "#!/bin/sh\ntrap '' XFSZ\nlimit='{}'/limit-$1\n\
             if [ -e \"$limit\" ]; then ulimit -S -f \"$(cat \"$limit\")\" || exit 9; fi\nexec '{EXE}' \"$@\"\n",
            folder.display()
        );
        std::fs::write(limited.exe(), script).unwrap();
        std::fs::set_permissions(limited.exe(), std::fs::Permissions::from_mode(0o755)).unwrap();
        limited
    }

    fn exe(&self) -> PathBuf {
        self.folder.join("limited.sh")
    }

    /// The limit of `serve` or of `client`.
    fn file(&self, command: &str) -> PathBuf {
        self.folder.join(format!("limit-{command}"))
    }

    /// From its next start on, the node may make its store so many bytes larger than it is.
    fn leave(&self, command: &str, store: &str, bytes: u64) {
        let size = std::fs::metadata(self.folder.join(store)).unwrap().len();
        // In blocks of 512 bytes, as POSIX has it.
        std::fs::write(self.file(command), ((size + bytes) / 512).to_string()).unwrap();
    }

    fn lift(&self, command: &str) {
        std::fs::remove_file(self.file(command)).unwrap();
    }
}

fn table(text: &str) -> Table {
    text.parse().unwrap()
}

const ONE_CLIENT: &str =
    "[setting]\nusers = 1\ndim = 40\narms = 1\n[algorithm]\nkind = \"async-linucb\"\nupload_ratio = 1.0";

#[test]
fn a_full_disk_stops_a_client_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let limited = Limited::new(folder.path());
    let mut cluster =
        Cluster::new(&limited.exe(), folder.path(), 1, table(ONE_CLIENT), &Table::new(), 1).unwrap();
    cluster.start_all().unwrap();
    cluster.settle(Duration::from_secs(10)).unwrap();
    // Without a coordinator everything stays here, until the disk is full.
    cluster.process(0).kill();
    cluster.process(1).kill();
    limited.leave("client", "client0.store", 200_000);
    cluster.start(1).unwrap();
    cluster.process(1).listening().unwrap();
    let app = cluster.app(0);
    let mut acknowledged = 0u64;
    let arm: Vec<f64> = (0..40).map(|i| f64::from(i) / 40.0).collect();
    let refusal = loop {
        assert!(acknowledged < 5000, "the disk never filled up");
        let (status, answer) = app.post("/decide", &json!({ "arms": [arm] })).unwrap();
        if status != 200 {
            break answer;
        }
        let (status, answer) = app.post("/reward", &json!({ "id": answer["id"], "reward": 1.0 })).unwrap();
        if status != 200 {
            break answer;
        }
        acknowledged += 1;
    };
    assert!(refusal["error"].as_str().unwrap().contains("no space left"), "{refusal}");
    assert!(acknowledged > 0);
    assert_eq!(app.get("/health").unwrap().0, 503);
    assert_eq!(app.post("/decide", &json!({ "arms": [arm] })).unwrap().0, 503);
    // Space, and it goes on by itself.
    let pid = cluster.process(1).pid().to_string();
    let raised = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited:"]).status().unwrap();
    assert!(raised.success());
    let until = Instant::now() + Duration::from_secs(10);
    let decided = loop {
        let (status, answer) = app.post("/decide", &json!({ "arms": [arm] })).unwrap();
        if status == 200 {
            break answer;
        }
        assert!(Instant::now() < until, "it does not recover: {answer}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(app.post("/reward", &json!({ "id": decided["id"], "reward": 1.0 })).unwrap().0, 200);
    acknowledged += 1;
    assert_eq!(app.get("/health").unwrap().1["status"], "ok");
    // A kill and a restart: nothing acknowledged is missing.
    cluster.process(1).kill();
    limited.lift("client");
    cluster.start(1).unwrap();
    cluster.process(1).listening().unwrap();
    cluster.start(0).unwrap();
    cluster.settle(Duration::from_secs(20)).unwrap();
    let uploads = app.get("/status").unwrap().1["uploads"].as_u64().unwrap();
    assert!(uploads >= acknowledged, "{uploads} uploads of {acknowledged} acknowledged rewards");
    let (status, _) = app.post("/decide", &json!({ "arms": [arm] })).unwrap();
    assert_eq!(status, 200);
    cluster.stop_all().unwrap();
}

#[test]
fn a_full_disk_stops_a_coordinator_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let limited = Limited::new(folder.path());
    let mut cluster =
        Cluster::new(&limited.exe(), folder.path(), 1, table(ONE_CLIENT), &Table::new(), 1).unwrap();
    let file = folder.path().join("serve.toml");
    let mut serve = table(&std::fs::read_to_string(&file).unwrap());
    serve.insert("snapshot_every".into(), toml::Value::Integer(100_000));
    std::fs::write(&file, serve.to_string()).unwrap();
    cluster.start_all().unwrap();
    cluster.settle(Duration::from_secs(10)).unwrap();
    cluster.process(0).kill();
    limited.leave("serve", "coordinator.store", 200_000);
    cluster.start(0).unwrap();
    cluster.process(0).listening().unwrap();
    cluster.settle(Duration::from_secs(20)).unwrap();
    let app = cluster.app(0);
    let arm: Vec<f64> = (0..40).map(|i| f64::from(i) / 40.0).collect();
    let mut acknowledged = 0u64;
    let deadline = Instant::now() + Duration::from_secs(30);
    while cluster.process(0).ended().is_none() {
        assert!(Instant::now() < deadline, "the disk never filled up");
        let (_, answer) = app.post("/decide", &json!({ "arms": [arm] })).unwrap();
        let (status, answer) = app.post("/reward", &json!({ "id": answer["id"], "reward": 1.0 })).unwrap();
        assert_eq!(status, 200, "a client works on without its coordinator: {answer}");
        acknowledged += 1;
    }
    assert!(cluster.process(0).complaints().contains("no space left"), "{}", cluster.process(0).complaints());
    limited.lift("serve");
    cluster.start(0).unwrap();
    cluster.process(0).listening().unwrap();
    cluster.settle(Duration::from_secs(20)).unwrap();
    assert_eq!(app.get("/status").unwrap().1["uploads"], acknowledged);
    cluster.stop_all().unwrap();
}

#[test]
fn a_truncated_store_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let serve = table("[setting]\nusers = 1\ndim = 2\narms = 1\n[algorithm]\nkind = \"async-linucb\"");
    let mut cluster = Cluster::new(Path::new(EXE), folder.path(), 1, serve, &Table::new(), 1).unwrap();
    cluster.start_all().unwrap();
    cluster.settle(Duration::from_secs(10)).unwrap();
    for (i, store, command, file) in
        [(0, "coordinator.store", "serve", "serve.toml"), (1, "client0.store", "client", "client0.toml")]
    {
        cluster.process(i).kill();
        for part in [store.to_string(), format!("{store}.1.log")] {
            let path = folder.path().join(&part);
            let bytes = std::fs::read(&path).unwrap();
            for length in [0, 10, bytes.len() / 2] {
                std::fs::write(&path, &bytes[..length]).unwrap();
                let mut process = Process::start(Path::new(EXE), command, &folder.path().join(file)).unwrap();
                let status = process.wait(Duration::from_secs(15)).unwrap();
                let words = process.complaints();
                let what = format!("{part} cut to {length}: {words}");
                assert_eq!(status.code(), Some(1), "{what}");
                assert!(words.contains("is damaged") && words.contains("To recover"), "{what}");
                assert!(!words.contains("panicked"), "{what}");
                let left = std::fs::metadata(&path).unwrap().len();
                assert_eq!(left, length as u64, "the file was left as it is");
            }
            std::fs::write(&path, &bytes).unwrap();
        }
    }
}

#[test]
fn wrong_configurations_end_with_code_2_the_line_and_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    let good = "federation = \"x\"\nstore = \"s\"\n[setting]\nusers = 1\ndim = 2\narms = 1\n[algorithm]\nkind = \"async-linucb\"\n";
    let cases = [
        (good.replace("store =", "stroe ="), "serve.toml:2: unknown field `stroe`"),
        (good.replace("users = 1", "users = \"one\""), "serve.toml:4:"),
        (good.replace("async-linucb", "async-linucbb"), "no algorithm \"async-linucbb\""),
        (good.replace("dim = 2", "dim = 0"), "needs arms with features"),
        (format!("{good}ridge = -1.0\n"), "ridge: must be a number above 0"),
        (good.replace("[setting]\nusers = 1\ndim = 2\narms = 1\n", ""), "[setting] is missing"),
        (format!("tick = 0.0\n{good}"), "tick must be a number of seconds"),
        (format!("listen = \"nowhere\"\n{good}"), "choose another `listen`"),
    ];
    for (text, words) in cases {
        let file = folder.path().join("serve.toml");
        std::fs::write(&file, &text).unwrap();
        let output = Command::new(EXE).arg("serve").arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).to_string();
        assert!(output.status.code() == Some(2) && said.contains(words), "{words}: {said}");
    }
}
