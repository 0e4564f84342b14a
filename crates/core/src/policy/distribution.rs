//! How likely each arm of a decision is. Whoever draws from one can say the probability of what it drew, and
//! that is the very number it was drawn with.

use super::pick::pick_open;
use crate::contract::arms::ArmSet;
use crate::contract::choice::Picked;
use crate::ids::ArmIndex;
use crate::rng::Stream;

/// Probabilities of all arms of one decision: they add up to 1, and masked arms have none.
///
/// ```
/// use cahoots_core::ArmSet;
/// use cahoots_core::policy::Distribution;
///
/// let arms = ArmSet::plain(3).unwrap();
/// // 1 / (3 + 2 (0.9 - 0.4)), 1 / (3 + 2 (0.9 - 0.65)), and the rest on the best
/// let drawn = Distribution::inverse_gap(&[0.4, 0.9, 0.65], 2.0, arms);
/// assert_eq!(drawn.probabilities(), [0.25, 1.0 - 0.25 - 1.0 / 3.5, 1.0 / 3.5]);
/// assert_eq!(Distribution::uniform(arms).mixed(0.5, arms), Distribution::uniform(arms));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution(Vec<f64>);

impl Distribution {
    /// This arm and no other.
    pub fn certain(arm: ArmIndex, arms: ArmSet<'_>) -> Distribution {
        let mut probabilities = vec![0.0; arms.len()];
        probabilities[arm.index()] = 1.0;
        Distribution(probabilities)
    }

    /// An arm that was picked, if no other could have been.
    pub fn if_certain(picked: Picked, arms: ArmSet<'_>) -> Option<Distribution> {
        (picked.probability == Some(1.0)).then(|| Distribution::certain(picked.arm, arms))
    }

    /// Every arm that can be chosen, each as likely.
    pub fn uniform(arms: ArmSet<'_>) -> Distribution {
        let each = 1.0 / arms.open() as f64;
        Distribution::where_open(arms, |_| each)
    }

    /// The arm of the highest value, by the kernel's rule.
    pub fn greedy(values: &[f64], arms: ArmSet<'_>) -> Distribution {
        Distribution::certain(pick_open(values.iter().copied(), arms), arms)
    }

    /// In proportion to exp(value / temperature): Boltzmann's distribution.
    pub fn softmax(values: &[f64], temperature: f64, arms: ArmSet<'_>) -> Distribution {
        let open = values.iter().enumerate().filter(|(arm, _)| arms.is_open(ArmIndex(*arm as u32)));
        let highest = open.fold(f64::NEG_INFINITY, |highest, (_, value)| highest.max(*value));
        // Less the highest: no exponential overflows, and one of them is 1.
        let weights = Distribution::where_open(arms, |arm| libm::exp((values[arm] - highest) / temperature));
        let sum: f64 = weights.0.iter().sum();
        Distribution(weights.0.into_iter().map(|weight| weight / sum).collect())
    }

    /// 1 / (K + gamma (best - value)) for each of the K arms that can be chosen but the best, which has the rest:
    /// inverse-gap weighting (Abe and Long 1999; SquareCB of Foster and Rakhlin 2020, Algorithm 1).
    pub fn inverse_gap(values: &[f64], gamma: f64, arms: ArmSet<'_>) -> Distribution {
        let best = pick_open(values.iter().copied(), arms);
        let open = arms.open() as f64;
        // What is above the best is so by rounding alone.
        let gap = |arm: usize| (values[best.index()] - values[arm]).max(0.0);
        let weight = |arm: usize| 1.0 / (open + gamma.min(f64::MAX) * gap(arm));
        let others = |arm: usize| if arm == best.index() { 0.0 } else { weight(arm) };
        let mut probabilities = Distribution::where_open(arms, others).0;
        // At least 1 / K, since no other has more than that.
        probabilities[best.index()] = probabilities.iter().fold(1.0, |rest, p| rest - p);
        Distribution(probabilities)
    }

    /// In proportion to how often each arm won.
    pub fn of_votes(votes: &[u32]) -> Distribution {
        let all: u64 = votes.iter().map(|&votes| u64::from(votes)).sum();
        Distribution(votes.iter().map(|&votes| f64::from(votes) / all as f64).collect())
    }

    /// With probability `epsilon` any arm that can be chosen, otherwise one of these.
    pub fn mixed(mut self, epsilon: f64, arms: ArmSet<'_>) -> Distribution {
        if epsilon > 0.0 {
            let each = epsilon / arms.open() as f64;
            for (arm, p) in self.0.iter_mut().enumerate() {
                if arms.is_open(ArmIndex(arm as u32)) {
                    *p = (1.0 - epsilon) * *p + each;
                }
            }
        }
        self
    }

    /// With probability `share` one of these, otherwise this arm.
    pub fn or(mut self, share: f64, arm: ArmIndex) -> Distribution {
        self.0.iter_mut().for_each(|p| *p *= share);
        self.0[arm.index()] += 1.0 - share;
        self
    }

    fn where_open(arms: ArmSet<'_>, value: impl Fn(usize) -> f64) -> Distribution {
        let open = |arm: usize| arms.is_open(ArmIndex(arm as u32));
        Distribution((0..arms.len()).map(|arm| if open(arm) { value(arm) } else { 0.0 }).collect())
    }

    /// How likely each arm is.
    pub fn probabilities(&self) -> &[f64] {
        &self.0
    }

    /// How likely one arm is.
    pub fn of(&self, arm: ArmIndex) -> f64 {
        self.0[arm.index()]
    }

    /// An arm, as likely as stated to within the grid of 2^-53 on which a draw lies.
    pub fn draw(&self, rng: &mut Stream) -> ArmIndex {
        let mut left = rng.uniform();
        let mut last = 0;
        for (arm, &p) in self.0.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            if left < p {
                return ArmIndex(arm as u32);
            }
            left -= p;
            last = arm;
        }
        // Rounding left a little of the unit interval to nobody.
        ArmIndex(last as u32)
    }
}
