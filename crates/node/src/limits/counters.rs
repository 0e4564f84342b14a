//! How often each limit was met.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// Counters that everyone may raise; [`Counters::read`] is what a status shows.
#[derive(Debug, Default)]
pub struct Counters {
    /// See [`Refusals::connections`].
    pub connections: AtomicU64,
    /// See [`Refusals::accept_errors`].
    pub accept_errors: AtomicU64,
    /// See [`Refusals::late`].
    pub late: AtomicU64,
    /// See [`Refusals::too_large`].
    pub too_large: AtomicU64,
    /// See [`Refusals::open_decisions`].
    pub open_decisions: AtomicU64,
    /// See [`Refusals::identities`].
    pub identities: AtomicU64,
}

/// What was refused since the start of this process, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Refusals {
    /// Connections beyond `limits.connections`.
    pub connections: u64,
    /// Connections that the system could not hand over (descriptors exhausted).
    pub accept_errors: u64,
    /// Peers that took longer than `limits.hello`, `limits.head` or `limits.body`.
    pub late: u64,
    /// Hellos, frames and bodies that were too large, or were of too many arms.
    pub too_large: u64,
    /// Decisions beyond `limits.open_decisions`.
    pub open_decisions: u64,
    /// Connections that did not show who they are, or spoke plain text where TLS is spoken.
    pub identities: u64,
}

impl Counters {
    /// One more.
    pub fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// As they stand.
    pub fn read(&self) -> Refusals {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Refusals {
            connections: of(&self.connections),
            accept_errors: of(&self.accept_errors),
            late: of(&self.late),
            too_large: of(&self.too_large),
            open_decisions: of(&self.open_decisions),
            identities: of(&self.identities),
        }
    }
}
