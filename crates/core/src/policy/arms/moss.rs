//! MOSS: minimax optimal strategy in the stochastic case (Audibert and Bubeck 2009).

use serde::{Deserialize, Serialize};

use super::{ArmPolicy, highest_index};
use crate::contract::arms::ArmSet;
use crate::contract::choice::Picked;
use crate::ids::ArmIndex;
use crate::rng::Stream;
use crate::stats::ArmStats;

/// Mean plus sqrt(max(ln(n / (K s)), 0) / s) for an arm that was pulled s times, of K arms and n pulls in all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moss {
    /// How many pulls there will be.
    pub horizon: u64,
}

impl Moss {
    /// What is added to the mean of an arm.
    pub fn width(&self, pulls: u64, arms: usize) -> f64 {
        let pulls = pulls as f64;
        (libm::log(self.horizon as f64 / (arms as f64 * pulls)).max(0.0) / pulls).sqrt()
    }
}

impl ArmPolicy for Moss {
    fn choose(&self, stats: &ArmStats, arms: ArmSet<'_>, _rng: &mut Stream) -> Picked {
        let width = |arm: ArmIndex| self.width(stats.count(arm), stats.arms());
        let (best, _) = highest_index(stats, arms, |arm, mean| mean + width(arm));
        match stats.mean(best) {
            Some(mean) => Picked::optimistic(best, mean, width(best)),
            None => Picked::certain(best),
        }
    }
}
