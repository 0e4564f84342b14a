//! KL-UCB (Garivier and Cappe 2011) for rewards in [0, 1].

use serde::{Deserialize, Serialize};

use super::{ArmPolicy, highest_index};
use crate::contract::arms::ArmSet;
use crate::contract::choice::Picked;
use crate::rng::Stream;
use crate::stats::ArmStats;

/// The largest mean q that is not too far from what was seen: n d(mean, q) <= ln t + c ln ln t.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KlUcb {
    /// c: 3 in the paper's theorem, 0 in what it recommends.
    pub constant: f64,
}

impl KlUcb {
    /// What n d(mean, q) may come to before pull number `pull`.
    pub fn level(&self, pull: u64) -> f64 {
        let log = libm::log(pull.max(1) as f64);
        (log + self.constant * libm::log(log.max(1.0))).max(0.0)
    }
}

/// d(p, q) of two Bernoulli distributions, for 0 <= p <= q <= 1. By differences: as exact where q is close to p.
pub(super) fn bernoulli_divergence(p: f64, q: f64) -> f64 {
    let gap = q - p;
    let low = if p > 0.0 { -p * libm::log1p(gap / p) } else { 0.0 };
    let high = if p < 1.0 { -(1.0 - p) * libm::log1p(-gap / (1.0 - p)) } else { 0.0 };
    low + high
}

/// The largest q in [p, 1] with d(p, q) <= level. Newton's method from above on a convex, rising function: it
/// comes down to the root and never passes it.
pub(super) fn upper_mean(p: f64, level: f64) -> f64 {
    if p >= 1.0 || level <= 0.0 {
        return p.min(1.0);
    }
    if p <= 0.0 {
        return -libm::expm1(-level);
    }
    // Pinsker's bound, and d(p, q) >= -h(p) - (1 - p) ln(1 - q) with the entropy h, which is better near 1.
    let entropy = -p * libm::log(p) - (1.0 - p) * libm::log1p(-p);
    let mut q = (p + (0.5 * level).sqrt()).min(-libm::expm1(-(level + entropy) / (1.0 - p)));
    for _ in 0..100 {
        if q >= 1.0 {
            return 1.0;
        }
        let next = q - (bernoulli_divergence(p, q) - level) * q * (1.0 - q) / (q - p);
        // Less than rounding moves it, or upwards by rounding.
        if !(next < q && next > p) {
            break;
        }
        q = next;
    }
    q
}

impl ArmPolicy for KlUcb {
    fn choose(&self, stats: &ArmStats, arms: ArmSet<'_>, _rng: &mut Stream) -> Picked {
        let level = self.level(stats.pulls() + 1);
        let upper = |arm, mean: f64| upper_mean(mean.max(0.0), level / stats.count(arm) as f64);
        let (best, index) = highest_index(stats, arms, upper);
        let Some((mean, index)) = stats.mean(best).zip(index) else {
            return Picked::certain(best);
        };
        // By symmetry the smallest mean is one less the largest of failures.
        let low = 1.0 - upper_mean((1.0 - mean).max(0.0), level / stats.count(best) as f64);
        Picked { score: Some(index), interval: Some((low, index)), ..Picked::certain(best) }
    }

    fn learned(&self, reward: f64, _rng: &mut Stream) -> f64 {
        reward.clamp(0.0, 1.0)
    }
}
