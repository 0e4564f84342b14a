//! Measured privacy: run a mechanism many times on two inputs that differ in one unit, and see how well the
//! outputs can be told apart. What can be told apart with certainty bounds the loss from below.

use serde::{Deserialize, Serialize};
use statrs::function::beta::beta_reg;

/// How often what is certified may be wrong.
const DOUBT: f64 = 0.05;

/// The same while a threshold is chosen.
const CHOICE: f64 = 1e-4;

/// What was stated, and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Stated loss.
    pub epsilon: f64,
    /// Stated probability of a larger one.
    pub delta: f64,
    /// Runs on each of the two inputs.
    pub trials: usize,
    /// Lower bound on the loss, right with 95% confidence; 0 where nothing can be told.
    pub measured: f64,
    /// Outputs on this side of the threshold speak for the second input.
    pub threshold: f64,
    /// Above the threshold or below it.
    pub above: bool,
    /// How often that side came up, on the second input and on the first.
    pub rates: [f64; 2],
}

impl Audit {
    /// Compares outputs on the first input with outputs on the second. The threshold is chosen on the first
    /// half of both and certified on the second.
    pub fn new(epsilon: f64, delta: f64, first: &[f64], second: &[f64]) -> Audit {
        let (choose_first, certify_first) = first.split_at(first.len() / 2);
        let (choose_second, certify_second) = second.split_at(second.len() / 2);
        let (threshold, above) = choose(choose_first, choose_second, delta);
        let (measured, rates) = bound(certify_first, certify_second, threshold, above, delta);
        Audit { epsilon, delta, trials: first.len().min(second.len()), measured, threshold, above, rates }
    }

    /// The measured loss does not contradict the stated one.
    pub fn agrees(&self) -> bool {
        self.measured <= self.epsilon
    }
}

/// The side of the threshold with the largest lower bound.
fn choose(first: &[f64], second: &[f64], delta: f64) -> (f64, bool) {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (first, second) = (sorted(first), sorted(second));
    let mut pooled: Vec<f64> = first.iter().chain(&second).copied().collect();
    pooled.sort_by(f64::total_cmp);
    // Finer towards both tails, where losses are largest.
    let places = (1..200).map(|i| {
        let part = f64::from(i) / 200.0;
        let bent = 0.5 + 0.5 * libm::tanh(9.0 * (part - 0.5)) / libm::tanh(4.5);
        (bent * (pooled.len() - 1) as f64) as usize
    });
    let mut best = (0.0, true, f64::NEG_INFINITY);
    for threshold in places.map(|place| pooled[place]) {
        let below = |values: &[f64]| values.partition_point(|value| *value < threshold);
        let (low_first, low_second) = (below(&first), below(&second));
        for above in [true, false] {
            let hits = |low: usize, all: usize| if above { all - low } else { low };
            let (hit, wrong) = (hits(low_second, second.len()), hits(low_first, first.len()));
            // Of many thresholds the luckiest looks best: all are seen with more doubt than the one that is certified.
            let epsilon = loss(hit, second.len(), wrong, first.len(), delta, CHOICE);
            if epsilon > best.2 {
                best = (threshold, above, epsilon);
            }
        }
    }
    (best.0, best.1)
}

fn bound(first: &[f64], second: &[f64], threshold: f64, above: bool, delta: f64) -> (f64, [f64; 2]) {
    let hits = |values: &[f64]| values.iter().filter(|value| (**value >= threshold) == above).count();
    let (hit, wrong) = (hits(second), hits(first));
    let rates = [hit as f64 / second.len() as f64, wrong as f64 / first.len() as f64];
    (loss(hit, second.len(), wrong, first.len(), delta, DOUBT).max(0.0), rates)
}

/// ln((lower bound of the true rate - delta) / upper bound of the false rate), of intervals that fail with
/// probability `doubt`.
fn loss(hit: usize, of: usize, wrong: usize, of_wrong: usize, delta: f64, doubt: f64) -> f64 {
    let (truth, error) = (interval(hit, of, doubt).0, interval(wrong, of_wrong, doubt).1);
    if truth <= delta { f64::NEG_INFINITY } else { libm::log((truth - delta) / error) }
}

/// The exact 95% interval of a rate (Clopper and Pearson 1934).
pub fn clopper_pearson(hits: usize, of: usize) -> (f64, f64) {
    interval(hits, of, DOUBT)
}

/// The exact interval of a rate that fails with probability `doubt`, half of it on either side.
fn interval(hits: usize, of: usize, doubt: f64) -> (f64, f64) {
    let (k, n) = (hits as f64, of as f64);
    let low = if hits == 0 { 0.0 } else { beta_quantile(0.5 * doubt, k, n - k + 1.0) };
    let high = if hits == of { 1.0 } else { beta_quantile(1.0 - 0.5 * doubt, k + 1.0, n - k) };
    (low, high)
}

fn beta_quantile(probability: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if beta_reg(a, b, middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Laplace;
    use cahoots_core::{Keys, NodeId};

    #[test]
    fn intervals_are_the_known_ones() {
        // 4 of 20: R's binom.test gives 0.0573 to 0.4366.
        let (low, high) = clopper_pearson(4, 20);
        assert!((low - 0.057_334).abs() < 1e-5 && (high - 0.436_614).abs() < 1e-5, "{low} {high}");
        assert_eq!(clopper_pearson(0, 10).0, 0.0);
        assert_eq!(clopper_pearson(10, 10).1, 1.0);
    }

    fn outputs(noise: &Laplace, exact: f64, seed: u64, n: usize) -> Vec<f64> {
        let mut rng = Keys::from_seed(seed).privacy(NodeId(0), 0);
        (0..n).map(|_| noise.noised(exact, &mut rng)).collect()
    }

    #[test]
    fn an_honest_mechanism_passes_and_the_bound_is_close_to_the_truth() {
        let noise = Laplace::calibrated("epsilon", 1.0, 1.0, 1).unwrap();
        let audit =
            Audit::new(1.0, 0.0, &outputs(&noise, 0.0, 1, 100_000), &outputs(&noise, 1.0, 2, 100_000));
        assert!(audit.agrees() && audit.measured > 0.9, "{audit:?}");
    }

    #[test]
    fn a_mechanism_with_half_the_noise_is_caught() {
        let noise = Laplace::of_scale("scale", 0.5).unwrap();
        let audit =
            Audit::new(1.0, 0.0, &outputs(&noise, 0.0, 1, 100_000), &outputs(&noise, 1.0, 2, 100_000));
        assert!(!audit.agrees() && audit.measured > 1.8, "{audit:?}");
    }

    #[test]
    fn equal_outputs_tell_nothing() {
        let noise = Laplace::of_scale("scale", 1.0).unwrap();
        let audit = Audit::new(0.1, 0.0, &outputs(&noise, 0.0, 1, 5000), &outputs(&noise, 0.0, 2, 5000));
        assert!(audit.agrees() && audit.measured < 0.1, "{audit:?}");
    }
}
