//! Words on the way, for people who wait.

use std::io::Write as _;
use std::time::{Duration, Instant};

/// Says on the standard error how far something has come, once it takes a while.
pub(crate) struct Told {
    what: String,
    last: Instant,
}

impl Told {
    /// About this.
    pub(crate) fn new(what: String) -> Told {
        Told { what, last: Instant::now() }
    }

    /// Says so every two seconds.
    pub(crate) fn now_and_then(&mut self, how_far: impl FnOnce() -> String) {
        if self.last.elapsed() >= Duration::from_secs(2) {
            self.last = Instant::now();
            // A reader that has gone away is no failure.
            let _ = writeln!(std::io::stderr(), "{}: {}", self.what, how_far());
        }
    }
}
