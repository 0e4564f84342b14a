//! Whether a log can answer: what the weights look like, and whether propensities are what they are said to be.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use serde::Serialize;

/// How far the log and the policy are apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostics {
    /// Decisions that were evaluated.
    pub rows: u64,
    /// Decisions of the policy's own that they weigh as much as: (sum w)^2 / sum w^2.
    pub effective: f64,
    /// Mean weight, which is 1 where propensities are right and the log goes wherever the policy goes.
    pub mean_weight: f64,
    /// How far that is from 1, in standard errors.
    pub mean_weight_off: f64,
    /// The largest weight's share of all weight.
    pub largest_share: f64,
    /// Quantiles of the weights: 50%, 90%, 99%, 99.9%, 100%.
    pub weight_quantiles: [f64; 5],
    /// Hill's estimate of the tail index of the weights: below 2, their variance is not finite. Absent where the largest
    /// weights are equal, as bounded ones are.
    pub tail_index: Option<f64>,
    /// Percent of the policy's probability on arms that the log never shows.
    pub never_shown_percent: f64,
    /// The largest weight that the smallest propensity allows.
    pub largest_possible: f64,
    /// Weights that were cut.
    pub clipped: u64,
    /// The arm whose propensities look worst.
    pub calibration: Option<Calibration>,
    /// The smallest propensity.
    pub least_propensity: f64,
}

/// How well the propensities of an arm fit how often it was taken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// The arm.
    pub arm: String,
    /// Sum of 1/p over its decisions, per decision of all: 1 where propensities are right.
    pub mean: f64,
    /// How far that is from 1, in standard errors: the largest that the smallest propensity allows.
    pub standard_errors: f64,
}

/// Quantiles that are shown.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];
/// The largest weights, kept as they are.
const KEPT: usize = 2000;
/// Others are counted in buckets whose bounds differ by this much.
const BUCKET: f64 = 1.005;

/// Weights as they come, in bounded memory: the largest 2,000 exactly, others within half a percent.
#[derive(Default)]
pub struct Weights {
    count: u64,
    zeros: u64,
    buckets: BTreeMap<i32, u64>,
    largest: BinaryHeap<Reverse<Positive>>,
}

/// A weight, in order.
#[derive(Clone, Copy, PartialEq)]
struct Positive(f64);

impl Eq for Positive {}

impl PartialOrd for Positive {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Positive {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Weights {
    /// One more.
    pub fn add(&mut self, weight: f64) {
        self.count += 1;
        if weight <= 0.0 {
            self.zeros += 1;
            return;
        }
        let bucket = (libm::log(weight) / libm::log(BUCKET)).floor() as i32;
        *self.buckets.entry(bucket).or_default() += 1;
        self.largest.push(Reverse(Positive(weight)));
        if self.largest.len() > KEPT {
            self.largest.pop();
        }
    }

    /// The largest ones, from the largest down.
    fn top(&self) -> Vec<f64> {
        let mut top: Vec<f64> = self.largest.iter().map(|weight| weight.0.0).collect();
        top.sort_by(|a, b| b.total_cmp(a));
        top
    }

    /// The largest.
    pub fn most(&self) -> f64 {
        self.top().first().copied().unwrap_or_default()
    }

    /// Quantiles: 50%, 90%, 99%, 99.9%, 100%.
    pub fn quantiles(&self) -> [f64; 5] {
        let top = self.top();
        QUANTILES.map(|at| {
            let rank = ((at * self.count as f64).ceil() as u64).max(1);
            if rank <= self.zeros || self.count == 0 {
                return 0.0;
            }
            if let Some(weight) = top.get((self.count - rank) as usize) {
                return *weight;
            }
            let mut seen = self.zeros;
            let bucket = self.buckets.iter().find(|(_, count)| {
                seen += **count;
                seen >= rank
            });
            bucket.map_or(0.0, |(bucket, _)| libm::pow(BUCKET, f64::from(*bucket) + 0.5))
        })
    }

    /// Hill's (1975) estimate from the square root of n largest weights; `None` where those are equal, or too few.
    pub fn tail_index(&self) -> Option<f64> {
        let top = self.top();
        let positive = self.count - self.zeros;
        let k = ((positive as f64).sqrt() as usize).min(KEPT - 1);
        let threshold = *top.get(k).filter(|_| k >= 10)?;
        let mean = top[..k].iter().map(|weight| libm::log(weight / threshold)).sum::<f64>() / k as f64;
        // Many ties with the threshold are no tail: the weights are bounded there.
        let ties = top[..k].iter().filter(|weight| **weight <= threshold).count();
        (mean > 0.0 && 2 * ties < k).then(|| 1.0 / mean)
    }
}

#[cfg(test)]
mod tests {
    use cahoots_sim::draw::{Draw, Purpose};

    use super::*;

    #[test]
    fn a_pareto_tail_is_found_and_equal_weights_have_none() {
        let mut draw = Draw::keyed(1, Purpose::World, 0, 0);
        let (mut weights, mut equal) = (Weights::default(), Weights::default());
        for _ in 0..100_000 {
            weights.add(libm::pow(1.0 - draw.uniform(), -1.0 / 1.5));
            equal.add(2.0);
        }
        // k = 316: the standard error is 1.5 / sqrt(316) = 0.084; four of them.
        let index = weights.tail_index().unwrap();
        assert!((index - 1.5).abs() < 0.34, "{index}");
        assert_eq!(equal.tail_index(), None);
        assert_eq!(equal.quantiles()[4], 2.0);
        assert!((equal.quantiles()[0] / 2.0 - 1.0).abs() < 0.005);
        // The median of this law is 2^(2/3); its standard error is 0.3%, the bucket's width half a percent.
        assert!((weights.quantiles()[0] / 1.5874 - 1.0).abs() < 0.02, "{:?}", weights.quantiles());
    }

    #[test]
    fn zeros_count() {
        let mut weights = Weights::default();
        for i in 0..100 {
            weights.add(if i < 95 { 0.0 } else { f64::from(i) });
        }
        assert_eq!(weights.quantiles(), [0.0, 0.0, 98.0, 99.0, 99.0]);
        assert_eq!(weights.most(), 99.0);
    }
}
