//! What no majority outlives: the log has lost what was acknowledged.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Heard, RawClient};
use super::trouble::{Federation, PATIENCE};

/// So many records are lost, at least.
const LOST: u64 = 3;

impl Federation {
    /// All disks are put `back` to older copies, or the stream is removed. Every coordinator must halt and say why; once their operator
    /// accepts it, they go on with what there is, and clients send again what it lacks. (Snapshots that are lost too take along what they
    /// covered, if clients rely on them: who is sent away with that says so, and it is not played here.)
    pub(super) fn lose_the_log(&mut self, back: bool) -> Result<(), String> {
        self.servers.await_current(PATIENCE)?;
        self.coordinators.await_one_leader(PATIENCE)?;
        let all = 0..self.servers.servers();
        let copy = |i: usize| self.folder.join(format!("old-disk-{i}"));
        if back {
            all.clone().for_each(|i| self.servers.kill(i));
            all.clone().try_for_each(|i| self.servers.copy_data(i, &copy(i)))?;
            self.servers.start_all()?;
            self.servers.await_ready(PATIENCE)?;
        }
        self.await_records(LOST)?;
        if back {
            all.clone().for_each(|i| self.servers.kill(i));
            all.clone().try_for_each(|i| self.servers.put_back(i, &copy(i)))?;
            self.harm.disks += all.len() as u64;
            self.servers.start_all()?;
        } else {
            self.remove_the_stream()?;
        }
        for i in 0..self.coordinators.count() {
            self.coordinators.await_halt(i, PATIENCE, "has lost what it had acknowledged")?;
        }
        self.harm.halts += 1;
        self.watch.forget();
        self.outputs.forget();
        self.coordinators.accept_rollback(true)?;
        self.coordinators.start_all()?;
        self.coordinators.await_one_leader(PATIENCE)?;
        self.coordinators.accept_rollback(false)
    }

    fn remove_the_stream(&self) -> Result<(), String> {
        let name = self.servers.log_name().ok_or("no stream to remove")?;
        let mut client = RawClient::connect(self.servers.address(0))?;
        let removed = client.ask(&format!("$JS.API.STREAM.DELETE.{name}"), &Value::Null, PATIENCE)?;
        match removed {
            Heard::Answer(answer) if answer["success"] == json!(true) => Ok(()),
            other => Err(format!("stream {name} was not removed: {other:?}")),
        }
    }

    /// Waits until the log has so many records more.
    fn await_records(&self, records: u64) -> Result<(), String> {
        let last = || {
            let all = (0..self.coordinators.count()).filter_map(|i| self.coordinators.replica(i).ok());
            all.map(|replica| replica.sequence).max().unwrap_or(0)
        };
        let (deadline, before) = (Instant::now() + PATIENCE, last());
        while last() < before + records {
            if Instant::now() > deadline {
                return Err(format!("the log does not grow behind {before}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}
