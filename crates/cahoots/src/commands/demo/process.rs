//! A node as a process of its own, which ends with the demo however that ends.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use cahoots_lab::LabError;

/// A running `serve` or `client`.
pub(super) struct Process {
    child: Child,
    first_line: Receiver<String>,
    log: PathBuf,
}

/// How far a process has come.
pub(super) enum Stage {
    Starting,
    Listening,
    /// It has ended, with these words.
    Over(String),
}

impl Process {
    /// Starts `cahoots COMMAND FILE`; what it complains about goes to a file beside FILE.
    pub(super) fn start(exe: &Path, command: &str, file: &Path) -> Result<Process, LabError> {
        let mut command_line = Command::new(exe);
        command_line.args([command, "--while-stdin"]).arg(file);
        Process::run(command_line, file)
    }

    /// Runs a command that ends with its standard input, and says a first line when it is there.
    pub(super) fn run(mut command_line: Command, file: &Path) -> Result<Process, LabError> {
        let log = file.with_extension("log");
        let failed = |error: std::io::Error| LabError::io("start a process for", file, &error);
        let errors = File::options().create(true).append(true).open(&log).map_err(failed)?;
        // What the user's own nodes are told by variables is not for these.
        let told = std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"CAHOOTS_"));
        for (name, _) in told {
            command_line.env_remove(name);
        }
        let mut child = command_line
            // Its end tells that the demo has ended, even by kill -9; nothing is ever written to it.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            // Ctrl-C is for the demo, which then ends them all.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let stdout = child.stdout.take().expect("asked for");
        let (sender, first_line) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
            if let Some(line) = lines.next() {
                let _ = sender.send(line);
            }
            lines.for_each(drop);
        });
        Ok(Process { child, first_line, log })
    }

    /// Does it listen yet? Says so once.
    pub(super) fn stage(&mut self) -> Stage {
        match self.first_line.try_recv() {
            Ok(_) => Stage::Listening,
            Err(TryRecvError::Empty) => Stage::Starting,
            Err(TryRecvError::Disconnected) => Stage::Over(self.last_words()),
        }
    }

    /// Its last words, if it has ended by itself.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(format!("{} ({status})", self.last_words()))
    }

    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last = log.lines().next_back().unwrap_or("it said nothing");
        last.trim_start_matches("cahoots: ").to_string()
    }

    /// kill -9; ready when it is gone.
    pub(super) fn kill(&mut self) {
        // With all that it has started itself.
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
