//! Many canaries in one run (Steinke, Nasr and Jagielski 2023): each of many units is one of two values, by a coin of
//! its own; an observer of the whole run guesses as many of the coins as it likes.
//!
//! If the mechanism is (epsilon, delta)-private, v of r guesses are right with no more than the probability that r coins
//! of probability e^epsilon / (1 + e^epsilon) give v heads, up to a term for delta: their Theorem 5.2.

use super::interval::DOUBT;

/// The coin of a canary, and how much what was seen speaks for heads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Canary {
    /// It was the second of the two values.
    pub second: bool,
    /// How much speaks for that; 0 is nothing.
    pub score: f64,
}

/// Parts of the canaries that may be guessed: those with the clearest scores.
const PARTS: [f64; 7] = [1.0, 0.5, 0.25, 0.125, 0.06, 0.03, 0.015];

/// A lower bound on epsilon from one run, right with 95% confidence. How many to guess is chosen on the first half of
/// the canaries; the guesses that count are of the second.
pub fn one_run(canaries: &[Canary], delta: f64) -> f64 {
    let (choose, certify) = canaries.split_at(canaries.len() / 2);
    let part = PARTS.into_iter().map(|part| (part, bound(choose, part, delta, DOUBT)));
    let (part, _) =
        part.fold((1.0, f64::NEG_INFINITY), |best, next| if next.1 > best.1 { next } else { best });
    bound(certify, part, delta, DOUBT)
}

fn bound(canaries: &[Canary], part: f64, delta: f64, doubt: f64) -> f64 {
    let mut clearest = canaries.to_vec();
    clearest.sort_by(|a, b| b.score.abs().total_cmp(&a.score.abs()));
    clearest.truncate((part * canaries.len() as f64) as usize);
    let right = clearest.iter().filter(|canary| (canary.score > 0.0) == canary.second).count();
    epsilon_at_least(canaries.len(), clearest.len(), right, delta, doubt)
}

/// The largest epsilon that `right` of `guesses` guesses about `canaries` coins refute, but for a chance of `doubt`.
pub fn epsilon_at_least(canaries: usize, guesses: usize, right: usize, delta: f64, doubt: f64) -> f64 {
    let refuted = |epsilon| chance(canaries, guesses, right, epsilon, delta) <= doubt;
    if !refuted(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 50.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if refuted(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// How likely so many right guesses are at most, if the mechanism is (epsilon, delta)-private.
fn chance(canaries: usize, guesses: usize, right: usize, epsilon: f64, delta: f64) -> f64 {
    let q = 1.0 / (1.0 + libm::exp(-epsilon));
    let n = guesses as f64;
    let ln_factorials = libm::lgamma(n + 1.0);
    let mass = |k: usize| {
        let k = k as f64;
        let log = ln_factorials - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
        libm::exp(log + k * libm::log(q) + (n - k) * libm::log1p(-q))
    };
    let tail: f64 = (right..=guesses).map(mass).sum();
    if delta == 0.0 {
        return tail.min(1.0);
    }
    // alpha = max over i of P(right - i <= heads < right) / i.
    let (mut alpha, mut sum) = (0.0f64, 0.0);
    for i in 1..=right {
        sum += mass(right - i);
        alpha = alpha.max(sum / i as f64);
        if sum < 1e-300 && i > 100 {
            break;
        }
    }
    (tail + 2.0 * alpha * delta * canaries as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Laplace;
    use cahoots_core::{Keys, NodeId};

    #[test]
    fn bounds_are_those_of_the_binomial_law() {
        // 100 of 100: q^100 = 0.05 at q = 0.97049, epsilon = ln(q / (1 - q)) = 3.492.
        assert!((epsilon_at_least(100, 100, 100, 0.0, 0.05) - 3.492).abs() < 1e-3);
        assert_eq!(epsilon_at_least(100, 100, 50, 0.0, 0.05), 0.0);
        let with = epsilon_at_least(100, 100, 100, 1e-5, 0.05);
        assert!(with < epsilon_at_least(100, 100, 100, 0.0, 0.05) && with > 3.4, "{with}");
        // A delta of 1 in 1000 canaries refutes nothing.
        assert_eq!(epsilon_at_least(1000, 20, 20, 0.05, 0.05), 0.0);
    }

    fn laplace(scale: f64, seed: u64) -> Vec<Canary> {
        let noise = Laplace::of_scale("scale", scale).unwrap();
        let keys = Keys::from_seed(seed);
        let (mut coins, mut rng) = (keys.policy(NodeId(0), 0), keys.privacy(NodeId(0), 0));
        let mut canary = || {
            let second = coins.below(2) == 1;
            Canary { second, score: noise.noised(f64::from(second), &mut rng) - 0.5 }
        };
        (0..40_000).map(|_| canary()).collect()
    }

    #[test]
    fn one_run_with_many_canaries_is_close_to_the_truth_and_catches_half_the_noise() {
        let honest = one_run(&laplace(1.0, 3), 0.0);
        assert!(honest > 0.85 && honest <= 1.0, "{honest}");
        let broken = one_run(&laplace(0.5, 4), 0.0);
        assert!(broken > 1.5 && broken <= 2.0, "{broken}");
    }
}
