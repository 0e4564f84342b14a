//! The coordinator, step by step.

use std::path::PathBuf;

use cahoots_core::NodeId;
use cahoots_node::NodeError;
use cahoots_node::inside::{SteppedCoordinator, restore};
use cahoots_node::store::StoreError;
use cahoots_node::transport::WINDOW;

use super::super::plan::{Fault, Who};
use super::{Broken, Down, Event, FEDERATION, TICK, World};

/// What may wait for a client: whoever has more is not told that its own messages have come, and so sends no more than
/// a window of them, each of which may be answered.
const LONGEST: usize = 4 * WINDOW;

/// Faults after which the nodes of a federation may not remember the same.
pub(super) fn goes_back(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::Restore { .. }
            | Fault::PutBack { .. }
            | Fault::Lie { .. }
            | Fault::Remove { .. }
            | Fault::Release { .. }
    )
}

fn lies(fault: &Fault) -> bool {
    matches!(fault, Fault::Lie { who: Who::Coordinator, .. })
}

/// Where a copy of the coordinator's store is.
pub(super) fn backup_path(number: usize) -> PathBuf {
    PathBuf::from(format!("/coordinator/copy{number}"))
}

impl World<'_> {
    /// What the coordinator took is committed soon.
    pub(super) fn commit_soon(&mut self) {
        if !self.committing && self.coordinator.is_some() {
            self.committing = true;
            let (start, soon) = (self.site.starts, self.dice.below(2000));
            self.after(soon, Event::Commit(start));
        }
    }

    pub(super) fn commit(&mut self, start: u64) -> Result<(), Broken> {
        if self.site.starts != start {
            return Ok(());
        }
        self.committing = false;
        let stop = self.stopping;
        let Some(coordinator) = &mut self.coordinator else { return Ok(()) };
        for (client, peer) in self.clients.iter_mut().enumerate() {
            // Whoever leaves starts anew, and so does what it was told.
            let ends = coordinator.look(|machine, _| machine.ends(NodeId(client as u32)));
            if ends.sent < peer.heard.sent || ends.received < peer.heard.received {
                peer.heard = ends;
            }
        }
        let committed = coordinator.commit(stop);
        if self.went_off(Who::Coordinator)? {
            return Ok(());
        }
        if let Err(error) = committed {
            // A supervisor sees the exit code and the words, and starts it again.
            self.say(|| format!("the coordinator stops: {error}"));
            self.pull_all()?;
            return self.crash(Who::Coordinator, Down::Kill, 200_000);
        }
        self.coordinator.as_mut().expect("it runs").send();
        self.pull_all()?;
        self.bounded()?;
        if stop {
            let time = self.site.stop;
            return self.crash(Who::Coordinator, Down::Kill, time);
        }
        Ok(())
    }

    /// What the coordinator has handed to its streams leaves.
    pub(super) fn pull_all(&mut self) -> Result<(), Broken> {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        outgoing.retain(|connection| self.connections[*connection].down.from.is_some());
        for connection in &outgoing {
            self.pull(*connection, false)?;
        }
        self.outgoing = outgoing;
        Ok(())
    }

    /// What waits for each client is bounded.
    fn bounded(&mut self) -> Result<(), Broken> {
        let clients = self.clients.len() as u32;
        let Some(coordinator) = &mut self.coordinator else { return Ok(()) };
        let longest = coordinator.look(|machine, _| {
            (0..clients).map(|client| machine.queues().len(NodeId(client))).max().unwrap_or(0)
        });
        if longest > LONGEST {
            return Err(format!("{longest} messages wait for one client"));
        }
        Ok(())
    }

    /// Nothing honest is refused, as long as no store has gone back in time.
    pub(super) fn refused_honestly(&mut self) -> Result<(), Broken> {
        let Some(coordinator) = &mut self.coordinator else { return Ok(()) };
        self.refused = coordinator.refused();
        if self.refused > self.disturbed && !self.plan.has(goes_back) {
            return Err(format!(
                "the coordinator refuses {} messages, and {} were altered",
                self.refused, self.disturbed
            ));
        }
        Ok(())
    }

    /// What the coordinator has told its clients is on disk.
    fn not_forgotten(&mut self) -> Result<(), Broken> {
        let Some(coordinator) = &mut self.coordinator else { return Ok(()) };
        for (client, peer) in self.clients.iter().enumerate() {
            let (said, ends) =
                (peer.heard, coordinator.look(|machine, _| machine.ends(NodeId(client as u32))));
            if ends.sent < said.sent || ends.received < said.received {
                return Err(format!(
                    "the coordinator has told client {client} of {said:?}, and starts with {ends:?}"
                ));
            }
        }
        Ok(())
    }

    /// The coordinator starts.
    pub(super) fn start_coordinator(&mut self) -> Result<(), Broken> {
        let platform = self.site.computer.platform();
        if std::mem::take(&mut self.restore)
            && let Some(commits) = self.backups.last().cloned()
        {
            let (copy, store) = (backup_path(self.backups.len()), self.site.store.clone());
            self.say(|| format!("the coordinator's store is that of {}", copy.display()));
            self.site.branched = Some(self.now);
            for client in 0..self.clients.len() {
                self.forget_seen(None, Some(client));
            }
            if self.dice.one_in(3) {
                // Whoever does this may be interrupted too.
                let at = self.site.computer.disk.operations() + self.dice.between(1, 24);
                self.site.computer.disk.mood(|mood| mood.off_at = Some(at));
                self.site.crash = (if self.dice.one_in(2) { Down::Power } else { Down::Kill }, 50_000);
            }
            let restored = restore(&platform, &copy, &store, FEDERATION);
            self.site.computer.disk.mood(|mood| mood.off_at = None);
            self.site.uncertain = true;
            self.site.computer.tape().fork(commits);
            if self.went_off(Who::Coordinator)? {
                return Ok(());
            }
            match restored {
                Ok(()) => {}
                Err(NodeError::Store(
                    StoreError::Full { .. } | StoreError::Write { .. } | StoreError::Unreachable { .. },
                )) => {
                    self.restore = true;
                    return self.crash(Who::Coordinator, Down::Kill, 300_000);
                }
                // The disk lied when the copy was made; an older one may be sound.
                Err(NodeError::Store(StoreError::Damaged { .. })) if self.plan.has(lies) => {
                    self.backups.pop();
                    (self.restore, self.ended) = (true, self.backups.is_empty());
                    return self.crash(Who::Coordinator, Down::Kill, 300_000);
                }
                Err(error) => return Err(format!("the coordinator's store is not put back: {error}")),
            }
        }
        let stores = self.site.computer.tape().lives().len();
        let opened = SteppedCoordinator::open(self.coordinator_config(), &platform);
        if self.went_off(Who::Coordinator)? {
            return Ok(());
        }
        match opened {
            Ok(coordinator) => {
                self.say(|| format!("the coordinator starts at commit {}", coordinator.commits()));
                self.coordinator = Some(coordinator);
                if std::mem::take(&mut self.site.uncertain) {
                    self.recognise();
                }
                // Only a disk that lies can lose all of a store, with whatever says that there was one.
                if self.site.computer.tape().lives().len() > stores && !self.plan.has(lies) {
                    return Err("the coordinator starts with an empty store, where it had one".into());
                }
                self.not_forgotten()?;
            }
            Err(error) => return self.cannot_start(Who::Coordinator, &error),
        }
        (self.committing, self.stopping, self.disturbed) = (false, false, 0);
        let (start, tick) = (self.site.starts, self.dice.below(TICK));
        self.after(tick, Event::Tick(Who::Coordinator, start));
        Ok(())
    }
}
