//! Greedy, epsilon-greedy, softmax and inverse-gap weighting by the mean reward of each arm.

use serde::{Deserialize, Serialize};

use super::{ArmPolicy, untried};
use crate::contract::arms::ArmSet;
use crate::contract::choice::Picked;
use crate::ids::ArmIndex;
use crate::policy::{Distribution, Leaning};
use crate::rng::Stream;
use crate::stats::ArmStats;

/// Arms that were never pulled come first; then one is drawn by the means of all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByMeans {
    /// How means are read.
    pub leaning: Leaning,
    /// Probability of any arm instead.
    pub epsilon: f64,
}

impl ByMeans {
    /// By these means, arms that can be chosen have all been pulled.
    fn over(&self, means: &[f64], stats: &ArmStats, arms: ArmSet<'_>) -> Distribution {
        self.leaning.over(means, stats.pulls(), arms).mixed(self.epsilon, arms)
    }
}

fn means(stats: &ArmStats) -> Vec<f64> {
    let mean = |arm: u32| stats.mean(ArmIndex(arm)).unwrap_or(f64::NEG_INFINITY);
    (0..stats.arms() as u32).map(mean).collect()
}

impl ArmPolicy for ByMeans {
    fn choose(&self, stats: &ArmStats, arms: ArmSet<'_>, rng: &mut Stream) -> Picked {
        if let Some(arm) = untried(stats, arms) {
            return Picked::certain(arm);
        }
        let means = means(stats);
        let picked = Picked::drawn(&self.over(&means, stats, arms), rng);
        Picked { score: Some(means[picked.arm.index()]), ..picked }
    }

    fn odds(&self, stats: &ArmStats, arms: ArmSet<'_>, _rng: &mut Stream) -> Option<Distribution> {
        Some(match untried(stats, arms) {
            Some(arm) => Distribution::certain(arm, arms),
            None => self.over(&means(stats), stats, arms),
        })
    }
}
