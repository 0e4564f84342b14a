//! How often each limit was met.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

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
    /// What strangers may have logged.
    pub quiet: Quiet,
}

/// A limit of lines that others can cause.
#[derive(Debug, Default)]
pub struct Quiet(Mutex<Option<(Instant, u32)>>);

impl Quiet {
    /// Lines in a second.
    const LINES: u32 = 20;

    /// Whether one more line may be written.
    pub fn may_speak(&self) -> bool {
        let mut spoken = self.0.lock().expect("no panic under the lock");
        match &mut *spoken {
            Some((since, lines)) if since.elapsed() < Duration::from_secs(1) => {
                *lines += 1;
                *lines <= Quiet::LINES
            }
            other => {
                *other = Some((Instant::now(), 1));
                true
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_do_not_fill_the_log() {
        let quiet = Quiet::default();
        assert_eq!((0..1000).filter(|_| quiet.may_speak()).count(), 20);
        *quiet.0.lock().unwrap() = Some((Instant::now() - Duration::from_secs(2), 1000));
        assert!(quiet.may_speak());
    }
}
