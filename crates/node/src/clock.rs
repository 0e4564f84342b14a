//! Ticks of a deployment: intervals since the store was made, never going back.

use std::time::Duration;

use cahoots_core::Tick;

use crate::platform::{Bug, Platform};

/// Tells the tick.
#[derive(Clone, Debug)]
pub struct Clock {
    platform: Platform,
    born: Duration,
    interval: Duration,
    last: Tick,
}

impl Clock {
    /// A clock that continues at `last`.
    pub fn new(born: Duration, interval: Duration, last: Tick) -> Clock {
        Clock::on(Platform::System, born, interval, last)
    }

    /// The same, on any platform.
    pub(crate) fn on(platform: Platform, born: Duration, interval: Duration, last: Tick) -> Clock {
        Clock { platform, born, interval: interval.max(Duration::from_millis(1)), last }
    }

    /// The time by which new stores are dated.
    pub fn today() -> Duration {
        Platform::System.wall()
    }

    /// The present tick. A wall clock that is set back makes it stand still.
    pub fn now(&mut self) -> Tick {
        let age = self.platform.wall().saturating_sub(self.born);
        self.last = self.last.max((age.as_nanos() / self.interval.as_nanos()) as Tick);
        self.last
    }

    /// The date, as a wall clock has it: it may jump.
    pub(crate) fn wall(&self) -> Duration {
        self.platform.wall()
    }

    /// Time that has passed, whatever the wall clock says.
    pub(crate) fn elapsed(&self) -> Duration {
        self.platform.elapsed()
    }

    /// Was this fault planted?
    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.platform.has(bug)
    }

    /// A replayed input happened at this tick.
    pub fn seen(&mut self, tick: Tick) {
        self.last = self.last.max(tick);
    }
}
