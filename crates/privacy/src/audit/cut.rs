//! A threshold on a score: chosen on some runs, certified on others.

use serde::{Deserialize, Serialize};

use super::interval::interval;
use crate::gaussian::epsilon_of;

/// How often an interval may fail while thresholds are chosen: of many the luckiest looks best, so all are seen with
/// more doubt than the one that is certified.
pub(super) const CHOICE: f64 = 1e-4;

/// What a bound rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// The definition: ln((true rate - delta) / false rate). Holds for every mechanism.
    Threshold,
    /// For mechanisms whose noise is Gaussian, which are no more private than two normal laws at a distance mu (Dong,
    /// Roth and Su 2022): mu >= Phi^-1(true rate) - Phi^-1(false rate), converted at delta.
    Gaussian,
}

/// One side of a threshold, and for which of the two inputs it speaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    pub test: Test,
    pub threshold: f64,
    /// Scores above the threshold are meant, or those below.
    pub above: bool,
    /// They speak for the first input, not for the second.
    pub for_first: bool,
}

/// How often the cut came up: on the input that it speaks for and on the other, out of how many.
#[derive(Clone, Copy)]
pub(super) struct Hits {
    pub truly: (usize, usize),
    pub falsely: (usize, usize),
}

impl Hits {
    /// The lower bound on the loss, of intervals that fail with probability `doubt`; negative infinity for none.
    fn loss(self, test: Test, delta: f64, doubt: f64) -> f64 {
        let low = interval(self.truly.0, self.truly.1, doubt).0;
        let high = interval(self.falsely.0, self.falsely.1, doubt).1;
        match test {
            Test::Threshold if low <= delta => f64::NEG_INFINITY,
            Test::Threshold => libm::log((low - delta) / high),
            Test::Gaussian => {
                let mu = super::interval::normal_quantile(low) - super::interval::normal_quantile(high);
                // Distances below 0 are kept apart, so that the best cut can be told from the others.
                if mu > 0.0 { epsilon_of(mu, delta) } else { mu }
            }
        }
    }
}

impl Cut {
    /// The cut with the largest lower bound on these scores, and that bound, with [`CHOICE`] doubt.
    pub(super) fn choose(test: Test, first: &[f64], second: &[f64], delta: f64) -> (Cut, f64) {
        let sorted = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_by(f64::total_cmp);
            values
        };
        let (first, second) = (sorted(first), sorted(second));
        let mut pooled: Vec<f64> = first.iter().chain(&second).copied().collect();
        pooled.sort_by(f64::total_cmp);
        // Between two normal laws the middle is the best place, and looking for a better one finds a luckier one.
        let middle = |place: &usize| {
            test == Test::Threshold || (place * 20).abs_diff(pooled.len() * 10) <= pooled.len().max(40)
        };
        let mut thresholds: Vec<f64> =
            places(pooled.len()).into_iter().filter(middle).map(|place| pooled[place]).collect();
        thresholds.dedup();
        let mut best = (Cut { test, threshold: pooled[0], above: true, for_first: false }, f64::NEG_INFINITY);
        for threshold in thresholds {
            for above in [true, false] {
                let hits = |values: &[f64]| {
                    let below = values.partition_point(|value| *value < threshold);
                    (if above { values.len() - below } else { below }, values.len())
                };
                let (on_first, on_second) = (hits(&first), hits(&second));
                for for_first in [false, true] {
                    let (truly, falsely) =
                        if for_first { (on_first, on_second) } else { (on_second, on_first) };
                    let loss = Hits { truly, falsely }.loss(test, delta, CHOICE);
                    if loss > best.1 {
                        best = (Cut { test, threshold, above, for_first }, loss);
                    }
                }
            }
        }
        best
    }

    /// What it certifies on these scores, and how often it came up: on its own input, on the other.
    pub(super) fn certify(&self, first: &[f64], second: &[f64], delta: f64, doubt: f64) -> (f64, [f64; 2]) {
        let hits = |values: &[f64]| {
            let hits = values.iter().filter(|value| (**value >= self.threshold) == self.above).count();
            (hits, values.len())
        };
        let (on_first, on_second) = (hits(first), hits(second));
        let (truly, falsely) = if self.for_first { (on_first, on_second) } else { (on_second, on_first) };
        let rate = |(hits, of): (usize, usize)| hits as f64 / of as f64;
        (Hits { truly, falsely }.loss(self.test, delta, doubt).max(0.0), [rate(truly), rate(falsely)])
    }
}

/// Places in a sorted list: all of a short one; of a long one some, finer towards both ends, where losses are largest.
fn places(length: usize) -> Vec<usize> {
    const MOST: usize = 200;
    if length <= MOST {
        return (0..length).collect();
    }
    let place = |i: usize| {
        let part = i as f64 / MOST as f64;
        let bent = 0.5 + 0.5 * libm::tanh(9.0 * (part - 0.5)) / libm::tanh(4.5);
        (bent * (length - 1) as f64) as usize
    };
    (1..MOST).map(place).collect()
}
