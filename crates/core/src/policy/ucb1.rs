//! UCB1 for arms without features.

use serde::{Deserialize, Serialize};

use super::pick::pick;
use crate::ids::ArmIndex;
use crate::stats::ArmStats;

/// Mean plus `scale * sqrt(ln t / n)`; arms that were never pulled come first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ucb1 {
    /// sqrt(2) for rewards in [0, 1].
    pub scale: f64,
}

impl Ucb1 {
    /// The arm with the highest index.
    pub fn choose(&self, stats: &ArmStats) -> ArmIndex {
        let log_pulls = libm::log(stats.pulls().max(1) as f64);
        pick((0..stats.arms() as u32).map(|arm| match stats.mean(ArmIndex(arm)) {
            None => f64::INFINITY,
            Some(mean) => mean + self.scale * (log_pulls / stats.count(ArmIndex(arm)) as f64).sqrt(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_every_arm_then_the_most_promising() {
        let mut stats = ArmStats::empty(3);
        let policy = Ucb1 { scale: std::f64::consts::SQRT_2 };
        for arm in 0..3 {
            assert_eq!(policy.choose(&stats), ArmIndex(arm));
            stats.observe(ArmIndex(arm), if arm == 1 { 1.0 } else { 0.0 });
        }
        assert_eq!(policy.choose(&stats), ArmIndex(1));
    }
}
