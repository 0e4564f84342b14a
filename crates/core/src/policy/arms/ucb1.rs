//! UCB1.

use serde::{Deserialize, Serialize};

use super::{ArmPolicy, highest_index};
use crate::contract::arms::ArmSet;
use crate::contract::choice::Picked;
use crate::rng::Stream;
use crate::stats::ArmStats;

/// Mean plus `scale * sqrt(ln t / n)`; arms that were never pulled come first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ucb1 {
    /// sqrt(2) for rewards in [0, 1].
    pub scale: f64,
}

impl ArmPolicy for Ucb1 {
    fn choose(&self, stats: &ArmStats, arms: ArmSet<'_>, _rng: &mut Stream) -> Picked {
        let log_pulls = libm::log(stats.pulls().max(1) as f64);
        let width = |arm| self.scale * (log_pulls / stats.count(arm) as f64).sqrt();
        let (best, _) = highest_index(stats, arms, |arm, mean| mean + width(arm));
        match stats.mean(best) {
            Some(mean) => Picked::optimistic(best, mean, width(best)),
            None => Picked::certain(best),
        }
    }
}
