//! UCB1 for arms without features.

use serde::{Deserialize, Serialize};

use super::pick::pick_open;
use crate::contract::arms::ArmSet;
use crate::contract::choice::Picked;
use crate::ids::ArmIndex;
use crate::stats::ArmStats;

/// Mean plus `scale * sqrt(ln t / n)`; arms that were never pulled come first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ucb1 {
    /// sqrt(2) for rewards in [0, 1].
    pub scale: f64,
}

impl Ucb1 {
    /// The arm with the highest index among those that can be chosen.
    pub fn choose(&self, stats: &ArmStats, arms: ArmSet<'_>) -> Picked {
        let log_pulls = libm::log(stats.pulls().max(1) as f64);
        let width = |arm| self.scale * (log_pulls / stats.count(arm) as f64).sqrt();
        let bound = |arm| stats.mean(arm).map_or(f64::INFINITY, |mean| mean + width(arm));
        let best = pick_open((0..stats.arms() as u32).map(|arm| bound(ArmIndex(arm))), arms);
        match stats.mean(best) {
            Some(mean) => Picked::optimistic(best, mean, width(best)),
            None => Picked::certain(best),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_every_arm_then_the_most_promising() {
        let mut stats = ArmStats::empty(3);
        let policy = Ucb1 { scale: std::f64::consts::SQRT_2 };
        let arms = ArmSet::plain(3).unwrap();
        for arm in 0..3 {
            assert_eq!(policy.choose(&stats, arms).arm, ArmIndex(arm));
            stats.observe(ArmIndex(arm), if arm == 1 { 1.0 } else { 0.0 });
        }
        assert_eq!(policy.choose(&stats, arms).arm, ArmIndex(1));
    }
}
