//! Users and the groups they learn in.

use cahoots_core::policy::{LinearModel, LinearPolicy};
use cahoots_core::{ArmSet, Factor, LinearStats, Picked, Stream, UserId};
use serde::{Deserialize, Serialize};

/// Statistics and their model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Knowledge {
    pub stats: LinearStats,
    pub factor: Factor,
}

impl Knowledge {
    pub fn of(stats: LinearStats, ridge: f64) -> Self {
        let factor = Factor::of(stats.gram.packed(), &stats.moment, ridge)
            .expect("a sum of outer products and a ridge is positive definite");
        Knowledge { stats, factor }
    }

    pub fn observe(&mut self, x: &[f64], reward: f64) {
        self.stats.observe(x, reward);
        self.factor.learn(x, reward);
    }

    pub fn choose(&self, policy: &LinearPolicy, arms: ArmSet<'_>, rng: &mut Stream) -> Picked {
        let model =
            LinearModel { factor: &self.factor, count: self.stats.count, stats: || self.stats.clone() };
        policy.choose(model, arms, rng)
    }
}

/// A user: its own data, its estimate, and the group it is in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Member {
    pub id: UserId,
    pub own: Knowledge,
    pub estimate: Vec<f64>,
    pub group: u32,
}

impl Member {
    pub fn new(id: UserId, nothing: &LinearStats, ridge: f64) -> Self {
        let own = Knowledge::of(nothing.clone(), ridge);
        Member { id, estimate: vec![0.0; nothing.dim()], own, group: 0 }
    }

    pub fn observe(&mut self, x: &[f64], reward: f64) {
        self.own.observe(x, reward);
        self.estimate = self.own.factor.theta();
    }

    pub fn count(&self) -> u64 {
        self.own.stats.count
    }
}

/// The summed statistics of some users.
pub(super) fn sum(members: &[Member], users: &[u32], nothing: &LinearStats) -> LinearStats {
    let mut sum = nothing.clone();
    users.iter().for_each(|&user| sum.merge(&members[user as usize].own.stats));
    sum
}
