//! Thompson sampling for rewards in [0, 1], with Beta posteriors (Agrawal and Goyal 2012).

use serde::{Deserialize, Serialize};

use super::ArmPolicy;
use crate::contract::arms::ArmSet;
use crate::contract::choice::Picked;
use crate::ids::ArmIndex;
use crate::policy::{Distribution, pick_open};
use crate::rng::{self, Stream};
use crate::stats::ArmStats;

/// Draws a mean for each arm from Beta(successes + 1, failures + 1) and takes the arm of the highest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BetaSampling {
    /// Draw this many times and then one of the winners, so that its probability is known; once, and unknown, if `None`.
    pub samples: Option<u32>,
}

impl BetaSampling {
    fn winner(&self, stats: &ArmStats, arms: ArmSet<'_>, rng: &mut Stream) -> ArmIndex {
        let mut mean = |arm: ArmIndex| {
            let successes = stats.sum(arm);
            beta(successes + 1.0, (stats.count(arm) as f64 - successes).max(0.0) + 1.0, rng)
        };
        // Every arm is drawn, masked or not: what is masked does not move the draws of the others.
        let means: Vec<f64> = (0..stats.arms() as u32).map(|arm| mean(ArmIndex(arm))).collect();
        pick_open(means.into_iter(), arms)
    }
}

impl ArmPolicy for BetaSampling {
    fn choose(&self, stats: &ArmStats, arms: ArmSet<'_>, rng: &mut Stream) -> Picked {
        match self.odds(stats, arms, rng) {
            Some(odds) => Picked::drawn(&odds, rng),
            None => Picked::arm(self.winner(stats, arms, rng)),
        }
    }

    fn odds(&self, stats: &ArmStats, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        let samples = self.samples?;
        let mut votes = vec![0; arms.len()];
        for _ in 0..samples {
            votes[self.winner(stats, arms, rng).index()] += 1;
        }
        Some(Distribution::of_votes(&votes))
    }

    /// Algorithm 2 of Agrawal and Goyal: a reward between 0 and 1 is a coin that is tossed once.
    fn learned(&self, reward: f64, rng: &mut Stream) -> f64 {
        let success = reward >= 1.0 || reward > 0.0 && rng.uniform() < reward;
        f64::from(u8::from(success))
    }
}

/// A draw from Beta(a, b), both at least 1.
fn beta(a: f64, b: f64, rng: &mut Stream) -> f64 {
    let (x, y) = (gamma(a, rng), gamma(b, rng));
    x / (x + y)
}

/// A draw from the gamma distribution of this shape, at least 1.
fn gamma(shape: f64, rng: &mut Stream) -> f64 {
    rng::gamma(rng, shape, Stream::normal, Stream::uniform)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Keys, NodeId};

    #[test]
    fn gamma_draws_have_the_moments_of_their_shape() {
        let mut rng = Keys::from_seed(2).policy(NodeId(0), 0);
        for shape in [1.0, 1.5, 4.0, 300.0] {
            let n = 100_000;
            let draws: Vec<f64> = (0..n).map(|_| gamma(shape, &mut rng)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let variance = draws.iter().map(|x| (x - shape) * (x - shape)).sum::<f64>() / f64::from(n);
            assert!((mean - shape).abs() < 5.0 * (shape / f64::from(n)).sqrt(), "{shape}: {mean}");
            // The fourth central moment is 3 shape^2 + 6 shape.
            let spread = ((2.0 * shape * shape + 6.0 * shape) / f64::from(n)).sqrt();
            assert!((variance - shape).abs() < 5.0 * spread, "{shape}: {variance}");
        }
    }

    #[test]
    fn a_reward_is_a_coin() {
        let policy = BetaSampling { samples: None };
        let mut rng = Keys::from_seed(2).policy(NodeId(0), 0);
        let heads: f64 = (0..10_000).map(|_| policy.learned(0.3, &mut rng)).sum();
        assert!((heads - 3000.0).abs() < 5.0 * (10_000.0f64 * 0.21).sqrt(), "{heads}");
        let sure: Vec<f64> = [-2.0, 0.0, 1.0, 7.0].map(|reward| policy.learned(reward, &mut rng)).into();
        assert_eq!(sure, [0.0, 0.0, 1.0, 1.0]);
    }
}
