//! Nodes as processes of their own: this very program, and what Linux says of it from outside.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cahoots_node::NodeError;

use super::{LiveOptions, failed};

/// Linux tells processor time in hundredths of a second, whatever it counts in.
const TICKS: f64 = 100.0;

/// A node that runs as a process of its own, and is killed when it is dropped.
pub(super) struct Process {
    child: Child,
    /// Where it listens.
    pub(super) url: String,
}

/// What a process has used since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    /// Bytes that it handed to the system: to files, and to sockets that it gathers several pieces for.
    pub(super) handed: u64,
    /// Bytes that the system sent to a device for it, in whole pages.
    pub(super) device: u64,
    /// Seconds of all its threads.
    pub(super) cpu: f64,
    /// Bytes of memory that it holds now.
    pub(super) resident: u64,
    /// The most that it ever held.
    pub(super) peak: u64,
}

impl Process {
    /// Runs this program with a command and a file; ready when it says where it listens.
    pub(super) fn start(options: &LiveOptions, command: &str, file: &Path) -> Result<Process, NodeError> {
        let mut child = Command::new(&options.program)
            .arg(command)
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| failed(format!("{}: {e}", options.program.display())))?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(failed)?;
        }
        // Whatever follows ends it: no process outlives the measurement.
        let mut process = Process { child, url: String::new() };
        let said: serde_json::Value = serde_json::from_str(&line)
            .map_err(|_| failed(format!("`{command}` did not say where it listens: {line:?}")))?;
        let listening = said["listening"].as_str().ok_or_else(|| failed("it listens nowhere"))?;
        process.url = format!("http://{listening}");
        Ok(process)
    }

    /// What it has used.
    pub(super) fn usage(&self) -> Result<Usage, NodeError> {
        let read =
            |what: &str| std::fs::read_to_string(format!("/proc/{}/{what}", self.child.id())).map_err(failed);
        let (io, status, stat) = (read("io")?, read("status")?, read("stat")?);
        // Fields are counted after the name, which may hold anything.
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks: u64 = [11, 12].iter().filter_map(|&at| fields.get(at)?.parse::<u64>().ok()).sum();
        Ok(Usage {
            handed: number(&io, "wchar:"),
            device: number(&io, "write_bytes:"),
            cpu: ticks as f64 / TICKS,
            resident: number(&status, "VmRSS:") * 1024,
            peak: number(&status, "VmHWM:") * 1024,
        })
    }

    /// Ends it without a word; ready when it is gone.
    pub(super) fn kill(mut self) -> Result<(), NodeError> {
        self.child.kill().and_then(|()| self.child.wait()).map(drop).map_err(failed)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first number on the line that begins so; 0 where the system does not count it.
pub(super) fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// What all files of a store take.
pub(super) fn store_bytes(store: &Path) -> u64 {
    let name = store.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some(Ok(files)) = store.parent().map(std::fs::read_dir) else { return 0 };
    let ours = files.flatten().filter(|file| file.file_name().to_string_lossy().starts_with(&name));
    ours.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// Waits for something that comes soon, if it comes.
pub(super) async fn soon<T>(seconds: u64, what: &str, it: impl Future<Output = T>) -> Result<T, NodeError> {
    let late = |_| failed(format!("{what}: not within {seconds} s"));
    tokio::time::timeout(Duration::from_secs(seconds), it).await.map_err(late)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_where_they_stand() {
        let text = "rchar: 12\nwchar: 345\nVmHWM:\t  678 kB\n";
        assert_eq!((number(text, "wchar:"), number(text, "VmHWM:"), number(text, "none:")), (345, 678, 0));
    }
}
