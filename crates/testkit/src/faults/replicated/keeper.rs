//! Where a simulated coordinator has its log from, and how it hears of the others.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use cahoots_node::replica::{Beacon, Engine, Keeper, Pulse, Unusable};

use crate::stream::Stream;

/// What a coordinator says of itself, and what it has heard and not looked at.
#[derive(Debug, Default)]
pub(super) struct Air {
    /// Counts those who listened and spoke for this coordinator, one after the other.
    turn: u64,
    pub(super) saying: Option<Pulse>,
    /// It is said at once, and not only when it is time again.
    pub(super) news: bool,
    heard: VecDeque<Pulse>,
}

/// A coordinator's place in the air; clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Antenna(Arc<Mutex<Air>>);

impl Antenna {
    pub(super) fn air(&self) -> MutexGuard<'_, Air> {
        self.0.lock().expect("no panic under the lock")
    }

    /// It hears this, if it listens.
    pub(super) fn hears(&self, pulse: Pulse) {
        self.air().heard.push_back(pulse);
    }

    /// Its process has ended.
    pub(super) fn falls_silent(&self) {
        let mut air = self.air();
        *air = Air { turn: air.turn + 1, ..Air::default() };
    }
}

/// The stream and the air, as one coordinator has them.
#[derive(Debug)]
pub(super) struct Modelled {
    pub(super) stream: Stream,
    pub(super) antenna: Antenna,
}

impl Keeper for Modelled {
    fn engine(&mut self) -> Result<Box<dyn Engine>, Unusable> {
        Ok(Box::new(self.stream.clone()))
    }

    fn beacon(&mut self) -> Result<Box<dyn Beacon>, Unusable> {
        let mut air = self.antenna.air();
        *air = Air { turn: air.turn + 1, ..Air::default() };
        Ok(Box::new(Voice { turn: air.turn, antenna: self.antenna.clone() }))
    }
}

/// One of those who speak and listen for a coordinator.
struct Voice {
    turn: u64,
    antenna: Antenna,
}

impl Beacon for Voice {
    fn say(&mut self, pulse: Option<Pulse>) {
        let mut air = self.antenna.air();
        if air.turn == self.turn {
            air.news |= air.saying.is_none() || pulse.as_ref().is_some_and(|pulse| pulse.resigns);
            air.saying = pulse;
        }
    }

    fn heard(&mut self) -> Option<Pulse> {
        let mut air = self.antenna.air();
        if air.turn == self.turn { air.heard.pop_front() } else { None }
    }
}

impl Drop for Voice {
    fn drop(&mut self) {
        let mut air = self.antenna.air();
        // What was said last still leaves.
        if air.turn == self.turn && !air.news {
            air.saying = None;
        }
    }
}
