//! A client's record of its decisions: what was offered, taken and earned, with what probability. Its owner asks for it, it lies
//! beside the client, and nothing of it is sent to anyone. `cahoots evaluate` reads it as it is.
//!
//! Rows go to a file of lines, in the order in which decisions close ([`Spool`]); when that is long or old enough it becomes a
//! Parquet file ([`table`]), whole or not at all, whose name follows from the first row: whoever is interrupted in
//! between does it again and writes the same file. Old files go ([`Retention`]). All of that happens on a thread of its
//! own, so that no decision waits for it, and what it cannot do is told and stops nothing.

mod config;
mod keep;
mod row;
mod spool;
mod table;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use serde::Serialize;

pub use self::config::DecisionLogConfig;
pub use self::row::{Known, Outcome, Row};
use self::spool::Spool;

/// Rows that may wait for the disk; more are left out, and counted.
const WAITING: usize = 10_000;
/// How often the age of things is looked at.
const NOW_AND_THEN: Duration = Duration::from_secs(1);

/// How the record fares.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DecisionLogStatus {
    /// Rows written since this start.
    pub rows: u64,
    /// Rows that were left out since this start, because the disk did not take them.
    pub lost: u64,
    /// Files that are complete.
    pub files: u64,
    /// What is wrong, while it is.
    pub problem: Option<String>,
}

/// A record that is being kept.
#[derive(Debug)]
pub struct DecisionLog {
    rows: Option<SyncSender<Row>>,
    status: Arc<Mutex<DecisionLogStatus>>,
    thread: Option<JoinHandle<()>>,
}

impl DecisionLog {
    /// Goes on with what is in the folder. Refuses a folder that cannot be written to.
    pub fn open(config: &DecisionLogConfig, client: u32) -> Result<DecisionLog, String> {
        let folder = config.folder.clone();
        let wrong = |e: std::io::Error| {
            let folder = config.folder.display();
            format!("[decisions] folder {folder}: {e}; name one that this process may write to")
        };
        let spool = Spool::open(&folder, client).map_err(wrong)?;
        let status = Arc::new(Mutex::new(DecisionLogStatus::default()));
        let (rows, waiting) = sync_channel(WAITING);
        let keeper = Keeper { config: config.clone(), folder, client, spool, status: status.clone() };
        let thread = std::thread::Builder::new().name("decisions".into()).spawn(move || keeper.run(&waiting));
        Ok(DecisionLog { rows: Some(rows), status, thread: Some(thread.map_err(wrong)?) })
    }

    /// A decision has closed. Never waits.
    pub fn push(&self, row: Row) {
        let Some(rows) = &self.rows else { return };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = rows.try_send(row) {
            self.status.lock().expect("no panic under the lock").lost += 1;
        }
    }

    /// How it fares.
    pub fn status(&self) -> DecisionLogStatus {
        self.status.lock().expect("no panic under the lock").clone()
    }
}

impl Drop for DecisionLog {
    /// What waits is written.
    fn drop(&mut self) {
        drop(self.rows.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Keeper {
    config: DecisionLogConfig,
    folder: PathBuf,
    client: u32,
    spool: Spool,
    status: Arc<Mutex<DecisionLogStatus>>,
}

impl Keeper {
    fn run(mut self, waiting: &Receiver<Row>) {
        self.turn();
        loop {
            match waiting.recv_timeout(NOW_AND_THEN) {
                Ok(row) => {
                    self.write(&row);
                    // Whatever else has come goes with the same flush.
                    for row in waiting.try_iter().take(WAITING) {
                        self.write(&row);
                    }
                    self.flush();
                    if self.spool.rows() >= self.config.rotate_rows {
                        self.turn();
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.turn(),
                Err(RecvTimeoutError::Disconnected) => return self.flush(),
            }
        }
    }

    fn write(&mut self, row: &Row) {
        let written = self.spool.append(row);
        let mut status = self.status.lock().expect("no panic under the lock");
        match written {
            Ok(()) => status.rows += 1,
            Err(error) => {
                status.lost += 1;
                status.problem = Some(told(&self.folder, &error));
            }
        }
    }

    fn flush(&mut self) {
        let flushed = self.spool.flush();
        let mut status = self.status.lock().expect("no panic under the lock");
        match flushed {
            Ok(()) => status.problem = None,
            Err(error) => status.problem = Some(told(&self.folder, &error)),
        }
    }

    /// Turns what is long or old enough into a table, and lets old tables go.
    fn turn(&mut self) {
        let due = self.spool.rows() >= self.config.rotate_rows
            || self.spool.age(SystemTime::now()) >= self.config.rotate_after();
        let turned = if due && self.spool.rows() > 0 {
            table::write(&self.folder, self.client, self.spool.path()).and_then(|()| self.spool.restart())
        } else {
            Ok(())
        };
        let kept = turned.and_then(|()| keep::keep(&self.folder, self.client, &self.config));
        let mut status = self.status.lock().expect("no panic under the lock");
        match kept {
            Ok(files) => status.files = files,
            Err(error) => {
                if status.problem.is_none() {
                    tracing::warn!(%error, folder = %self.folder.display(), "the record of decisions cannot be kept");
                }
                status.problem = Some(told(&self.folder, &error));
            }
        }
    }
}

fn told(folder: &Path, error: &std::io::Error) -> String {
    format!(
        "the record of decisions in {} cannot be written ({error}): decisions go on without it; make room, or take \
         [decisions] out of this client's file",
        folder.display()
    )
}

#[cfg(test)]
mod tests;
