//! Policies over arms without features.

mod beta;
mod exp3;
mod kl_ucb;
mod means;
mod moss;
#[cfg(test)]
mod tests;
mod ucb1;

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use beta::BetaSampling;
pub use exp3::Exp3;
pub use kl_ucb::KlUcb;
pub use means::ByMeans;
pub use moss::Moss;
pub use ucb1::Ucb1;

use super::distribution::Distribution;
use super::pick::pick_open;
use crate::contract::arms::ArmSet;
use crate::contract::choice::Picked;
use crate::ids::ArmIndex;
use crate::rng::Stream;
use crate::stats::ArmStats;

/// Picks by how often each arm was pulled and what it gave.
pub trait ArmPolicy: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The arm to pull.
    fn choose(&self, stats: &ArmStats, arms: ArmSet<'_>, rng: &mut Stream) -> Picked;

    /// How likely [`Self::choose`] is to take each arm, given the same stream at the same position; `None` where that is
    /// not known. What is certain, unless a policy says more.
    fn odds(&self, stats: &ArmStats, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        Distribution::if_certain(self.choose(stats, arms, rng), arms)
    }

    /// What a reward counts for in the statistics: itself, unless a policy reads it otherwise.
    fn learned(&self, reward: f64, _rng: &mut Stream) -> f64 {
        reward
    }
}

/// The arm of the highest index among those that can be chosen; those that were never pulled come first.
fn highest_index(
    stats: &ArmStats,
    arms: ArmSet<'_>,
    index: impl Fn(ArmIndex, f64) -> f64,
) -> (ArmIndex, Option<f64>) {
    let of = |arm| stats.mean(arm).map(|mean| index(arm, mean));
    let all = (0..stats.arms() as u32).map(|arm| of(ArmIndex(arm)).unwrap_or(f64::INFINITY));
    let best = pick_open(all, arms);
    (best, of(best))
}

/// An arm that was never pulled yet, of those that can be chosen.
fn untried(stats: &ArmStats, arms: ArmSet<'_>) -> Option<ArmIndex> {
    (0..stats.arms() as u32).map(ArmIndex).find(|&arm| stats.count(arm) == 0 && arms.is_open(arm))
}
