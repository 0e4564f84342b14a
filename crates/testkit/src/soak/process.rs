//! A node as a process of its own, to be killed.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A running `serve` or `client`.
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    errors: PathBuf,
    what: String,
}

impl Process {
    /// Starts `exe COMMAND FILE`; what it complains about goes to a file beside FILE.
    pub fn start(exe: &Path, command: &str, file: &Path) -> Result<Process, String> {
        let what = format!("{command} {}", file.display());
        let failed = |e: std::io::Error| format!("{what}: {e}");
        let errors = file.with_extension("stderr");
        let log = File::options().create(true).append(true).open(&errors).map_err(failed)?;
        let mut child = Command::new(exe)
            .arg(command)
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(failed)?;
        let stdout = child.stdout.take().expect("asked for");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Process { child, lines, errors, what })
    }

    /// The next line on stdout, as JSON; `None` when it has ended without one.
    pub fn line(&mut self, patience: Duration) -> Result<Option<Value>, String> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => {
                serde_json::from_str(&line).map(Some).map_err(|e| format!("{}: {line:?}: {e}", self.what))
            }
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("{}: nothing on stdout; {}", self.what, self.complaints()))
            }
        }
    }

    /// The address it listens on.
    pub fn listening(&mut self) -> Result<String, String> {
        let line = self.line(Duration::from_secs(20))?;
        line.as_ref()
            .and_then(|line| line["listening"].as_str())
            .map(Into::into)
            .ok_or_else(|| format!("{} did not start: {}", self.what, self.complaints()))
    }

    /// Its number in the system.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// kill -9.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(&mut self) -> Result<ExitStatus, String> {
        self.signal(Signal::TERM);
        self.wait(Duration::from_secs(20))
    }

    /// Stops it where it is (SIGSTOP): it is there, holds all it has, and does nothing.
    pub fn freeze(&mut self) {
        self.signal(Signal::STOP);
    }

    /// It goes on as if no time had passed.
    pub fn thaw(&mut self) {
        self.signal(Signal::CONT);
    }

    fn signal(&mut self, signal: Signal) {
        // Whoever has been waited for may have left its number to another.
        if let (None, Some(pid)) = (self.ended(), Pid::from_raw(self.child.id() as i32)) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Has it ended?
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits until it has ended.
    pub fn wait(&mut self, patience: Duration) -> Result<ExitStatus, String> {
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if let Some(status) = self.ended() {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Err(format!("{} does not end: {}", self.what, self.complaints()))
    }

    /// What it wrote on stderr, in this life and earlier ones.
    pub fn complaints(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
