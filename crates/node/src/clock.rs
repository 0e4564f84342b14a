//! Ticks of a deployment: intervals since the store was made, never going back.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cahoots_core::Tick;

/// Tells the tick.
#[derive(Clone, Debug)]
pub struct Clock {
    born: Duration,
    interval: Duration,
    last: Tick,
}

impl Clock {
    /// A clock that continues at `last`.
    pub fn new(born: Duration, interval: Duration, last: Tick) -> Clock {
        Clock { born, interval: interval.max(Duration::from_millis(1)), last }
    }

    /// The time by which new stores are dated.
    pub fn today() -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// The present tick. A wall clock that is set back makes it stand still.
    pub fn now(&mut self) -> Tick {
        let age = Self::today().saturating_sub(self.born);
        self.last = self.last.max((age.as_nanos() / self.interval.as_nanos()) as Tick);
        self.last
    }

    /// A replayed input happened at this tick.
    pub fn seen(&mut self, tick: Tick) {
        self.last = self.last.max(tick);
    }
}
