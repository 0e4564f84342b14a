//! What a user or a cluster knows.

use cahoots_core::policy::{Distribution, LinearModel, LinearPolicy};
use cahoots_core::{ArmSet, Factor, LinearStats, Picked, Stream};
use serde::{Deserialize, Serialize};

/// Statistics and their model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Knowledge {
    /// The statistics.
    pub stats: LinearStats,
    /// Their model.
    pub factor: Factor,
}

impl Knowledge {
    /// What these statistics say.
    pub fn of(stats: LinearStats, ridge: f64) -> Self {
        let factor = Factor::of(stats.gram.packed(), &stats.moment, ridge)
            .expect("a sum of outer products and a ridge is positive definite");
        Knowledge { stats, factor }
    }

    /// Learns from one observation.
    pub fn observe(&mut self, x: &[f64], reward: f64) {
        self.stats.observe(x, reward);
        self.factor.learn(x, reward);
    }

    /// The policy's choice.
    pub fn choose(&self, policy: &LinearPolicy, arms: ArmSet<'_>, rng: &mut Stream) -> Picked {
        policy.choose(self.model(), arms, rng)
    }

    /// How likely that is to be each arm.
    pub fn odds(&self, policy: &LinearPolicy, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        policy.distribution(self.model(), arms, rng)
    }

    fn model(&self) -> LinearModel<'_, impl FnOnce() -> LinearStats> {
        LinearModel { factor: &self.factor, count: self.stats.count, stats: || self.stats.clone() }
    }
}
