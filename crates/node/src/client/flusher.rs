//! The thread that makes things durable: it takes everything that has been
//! logged, commits it at once, and lets go what was waiting for that. While it
//! commits, the next batch gathers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Shared;
use crate::store::{Batch, Store, StoreError};

/// Decisions are committed with the next reward; without one, at this size.
const LARGE: usize = 1 << 20;
/// How often a full disk is tried again.
const AGAIN: Duration = Duration::from_millis(500);

pub(super) fn run(
    shared: &Arc<Shared>,
    mut store: Store,
    tick: Duration,
    snapshot_every: u64,
) -> Result<(), StoreError> {
    let mut next_tick = Instant::now() + tick;
    loop {
        let mut state = shared.lock();
        while !state.flush && !state.stop && state.journal.batch.bytes() < LARGE {
            let now = Instant::now();
            if now >= next_tick {
                next_tick = now + tick;
                state.tick();
                state.flush |= !state.journal.batch.is_empty();
                continue;
            }
            state = shared.work.wait_timeout(state, next_tick - now).expect("no panic under the lock").0;
        }
        let stop = state.stop;
        if state.failed.is_some() {
            return Ok(());
        }
        let mut work = state.gather();
        let mut batch: Batch = std::mem::take(&mut work.batch);
        if store.wants_snapshot(snapshot_every) || stop {
            let now = state.clock.now();
            if let Some(member) = &mut state.member {
                batch.snapshot(member.machine.save());
                batch.set("queues", member.machine.queues().save());
                batch.set("books", member.books.save());
                batch.set("tick", now.to_le_bytes().to_vec());
            }
        }
        drop(state);
        let committed = if batch.is_empty() { Ok(()) } else { commit(shared, &mut store, &batch) };
        let mut state = shared.lock();
        match committed {
            Ok(()) => {
                state.stalled = None;
                state.position = store.commits();
                state.committed(work);
            }
            Err(error) => {
                state.fail(error.to_string());
                shared.over.notify_waiters();
                return Err(error);
            }
        }
        if stop {
            state.say_alive();
            state.fail("this client was shut down".into());
            shared.over.notify_waiters();
            return Ok(());
        }
    }
}

/// Commits; while the disk is full, inputs are refused with the reason, and it is tried again.
fn commit(shared: &Arc<Shared>, store: &mut Store, batch: &Batch) -> Result<(), StoreError> {
    loop {
        match store.commit(batch) {
            Err(error @ StoreError::Full { .. }) => {
                let mut state = shared.lock();
                if state.stop {
                    return Err(error);
                }
                if state.stalled.is_none() {
                    tracing::error!(%error, "inputs are refused until there is space again");
                }
                state.stall(error.to_string());
                drop(shared.work.wait_timeout(state, AGAIN));
            }
            other => return other,
        }
    }
}
