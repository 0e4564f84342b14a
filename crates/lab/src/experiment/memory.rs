//! How much memory a run takes, known before any is taken. Rather too little than too much: what is refused for it
//! could not have been run.

use std::fmt;

use cahoots_core::Setting;
use cahoots_sim::rewards::Rewards;
use cahoots_sim::simulated::Outline;

use super::Stage;
use crate::results::bytes;

/// The memory of one run, in bytes, part by part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// The world.
    pub world: f64,
    /// Learners.
    pub clients: f64,
    /// Each learner.
    pub idle: f64,
    /// Models of learners that will have learned something.
    pub active: f64,
    /// What each of these holds besides.
    pub model: f64,
    /// Decisions that wait for their reward at a time, on average.
    pub waiting: f64,
    /// Each of those.
    pub decision: f64,
}

impl Memory {
    /// Of an algorithm in a world in which so many decisions are made.
    pub(super) fn new(world: f64, setting: &Setting, stage: &Stage, outline: &Outline) -> Memory {
        let (clients, steps) = (outline.clients as f64, stage.steps);
        let Rewards { delay, patience, .. } = stage.scenario.rewards;
        let wait = (delay as f64 / 2.0).min(patience.map_or(f64::INFINITY, |ticks| ticks as f64));
        let horizon = stage.scenario.horizon.max(1) as f64;
        Memory {
            world,
            clients,
            idle: outline.idle_bytes as f64,
            // A decision teaches one model.
            active: (clients * outline.models as f64).min(steps as f64),
            model: model(setting),
            waiting: steps as f64 * (wait / horizon).min(0.5),
            decision: 64.0 + 8.0 * setting.dim as f64,
        }
    }

    /// All of it.
    pub fn total(&self) -> f64 {
        self.world + self.clients * self.idle + self.active * self.model + self.waiting * self.decision
    }
}

/// What a learner holds: for features, a factor and a sum, triangles both; for plain arms a few numbers each.
pub(super) fn model(setting: &Setting) -> f64 {
    let largest = setting.local_dims.iter().copied().max().unwrap_or(0);
    match (setting.dim + largest) as f64 {
        0.0 => 16.0 * setting.arms as f64,
        dim => 8.0 * dim * (dim + 1.0),
    }
}

/// The sum, as one would write it down.
impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (world {}, {} clients of {}, {} models of {}, {:.0} decisions that wait of {})",
            bytes(self.total()),
            bytes(self.world),
            self.clients,
            bytes(self.idle),
            self.active,
            bytes(self.model),
            self.waiting,
            bytes(self.decision)
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::Source;
    use crate::{catalogue, from_text};

    /// One model each, or one for each arm, and never more than there are decisions.
    #[test]
    fn models_are_counted_as_learners_hold_them() {
        let models = |algorithm: &str, horizon: u64| {
            let text = format!(
                "name = \"x\"\nhorizon = {horizon}\n[environment]\nkind = \"linear\"\nclients = 3\ndim = 2\narms = 5\n\
                 [[algorithm]]\nkind = \"{algorithm}\"\n"
            );
            let source = Source { name: "x.toml".into(), text };
            from_text(&catalogue(), source, None).unwrap().entries[0].memory.active
        };
        assert_eq!((models("linucb-alone", 100), models("disjoint-linucb", 100)), (3.0, 15.0));
        assert_eq!(models("disjoint-linucb", 7), 7.0);
    }
}
