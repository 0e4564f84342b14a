//! What makes things durable: it takes everything that has been logged, commits it at once, and lets go what was
//! waiting for that. While it commits, the next batch gathers. In a deployment it is a thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::state::{State, Work};
use super::{Shared, gain};
use crate::store::{Batch, Store, StoreError};

/// Decisions are committed with the next reward; without one, at this size.
const LARGE: usize = 1 << 20;
/// How often a full disk is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// What is on its way to the disk.
struct Commit {
    batch: Batch,
    work: Work,
    /// The last one.
    stop: bool,
}

/// What became of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is on disk.
    Done,
    /// There is no space: to be tried again.
    Full,
}

/// A client's way to its disk. A commit is [gathered](Self::gather), [written](Self::write) and [let go](Self::finish);
/// between these steps others may use the state.
pub(crate) struct Flusher {
    store: Store,
    snapshot_every: u64,
    commit: Option<Commit>,
}

impl Flusher {
    pub(super) fn new(store: Store, snapshot_every: u64) -> Flusher {
        Flusher { store, snapshot_every, commit: None }
    }

    pub(super) fn run(mut self, shared: &Arc<Shared>, tick: Duration) -> Result<(), StoreError> {
        let mut next_tick = Instant::now() + tick;
        loop {
            let mut state = shared.lock();
            while !Flusher::is_due(&state) {
                let now = Instant::now();
                if now >= next_tick {
                    next_tick = now + tick;
                    Flusher::tick(&mut state);
                    continue;
                }
                state = shared.work.wait_timeout(state, next_tick - now).expect("no panic under the lock").0;
            }
            if state.failed.is_some() {
                return Ok(());
            }
            self.gather(&mut state);
            drop(state);
            while self.write(shared)? == Written::Full {
                // While the disk is full, inputs are refused with the reason, and it is tried again.
                drop(shared.work.wait_timeout(shared.lock(), AGAIN));
            }
            if self.finish(shared) {
                return Ok(());
            }
        }
    }

    /// Is there something to be committed?
    pub(super) fn is_due(state: &State) -> bool {
        state.flush || state.stop || state.journal.batch.bytes() >= LARGE
    }

    /// Time passes; what comes of it is to be committed.
    pub(super) fn tick(state: &mut State) {
        state.tick();
        state.flush |= !state.journal.batch.is_empty();
    }

    /// Takes all that is to be committed now.
    pub(super) fn gather(&mut self, state: &mut State) {
        let stop = state.stop;
        let mut work = state.gather();
        let mut batch: Batch = std::mem::take(&mut work.batch);
        if self.store.wants_snapshot(self.snapshot_every) || stop {
            let now = state.clock.now();
            if let Some(member) = &mut state.member {
                batch.snapshot(member.machine.save());
                batch.set("queues", member.machine.queues().save());
                batch.set("books", member.books.save());
                if let Some(shadow) = state.beside.save() {
                    batch.set(gain::KEY, shadow);
                }
                batch.set("tick", now.to_le_bytes().to_vec());
                // The entry that named the key goes with the log.
                batch.set("secret", state.key.to_vec());
            }
        }
        self.commit = Some(Commit { batch, work, stop });
    }

    /// Writes what was gathered. After an error nothing is taken any more.
    pub(super) fn write(&mut self, shared: &Shared) -> Result<Written, StoreError> {
        let Some(commit) = &self.commit else { return Ok(Written::Done) };
        match self.store.commit(&commit.batch) {
            Ok(()) => {
                if commit.batch.has_snapshot() {
                    tracing::info!(
                        commits = self.store.commits(),
                        bytes = self.store.size(),
                        "snapshot written"
                    );
                }
                Ok(Written::Done)
            }
            Err(error) => {
                let mut state = shared.lock();
                if matches!(error, StoreError::Full { .. }) && !state.stop {
                    if state.stalled.is_none() {
                        tracing::error!(%error, "inputs are refused until there is space again");
                    }
                    state.stall(error.to_string());
                    return Ok(Written::Full);
                }
                state.fail(error.to_string());
                shared.over.notify_waiters();
                Err(error)
            }
        }
    }

    /// What was waiting for the commit goes; `true` after the last one.
    pub(super) fn finish(&mut self, shared: &Shared) -> bool {
        let Some(Commit { work, stop, .. }) = self.commit.take() else { return false };
        let mut state = shared.lock();
        if state.stalled.take().is_some() {
            tracing::info!("there is space on the disk again: inputs are taken");
        }
        state.position = self.store.commits();
        state.committed(work);
        if state.account.withdrawn().is_some() {
            shared.parting.notify_one();
        }
        if stop {
            state.say_alive();
            state.fail("this client was shut down".into());
            shared.over.notify_waiters();
        }
        stop
    }

    /// The store that it writes to.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }
}
