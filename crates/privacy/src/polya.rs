//! Noise that is nothing much on its own and Laplace in sum: shares, drawn exactly, and what a sum is worth in which
//! some of them are missing.
//!
//! ```text
//! share(t, N):                          # t: scale in steps of the grid, q = exp(-1/t)
//!     return B - B'                     # two independent negative binomial numbers of shape 1/N
//! negative binomial of shape 1/N:
//!     for b = 0, 1, ... while 2^b < t:  # sizes 1 .. t-1
//!         repeat Poisson(1/N) times:
//!             i = uniform in [2^b, 2^(b+1));  if i < t and coin(2^b / i) and coin(exp(-i/t)): sum += i
//!     repeat Poisson(1/N) times:        # sizes t, t+1, ...
//!         m = 1, 2, 3, ... with probability 1/2, 1/4, 1/8, ...;  o = uniform in [0, t);  i = m t + o
//!         if coin((2/e)^m) and coin(t / i) and coin(exp(-o/t)): sum += i
//!     return sum
//! ```
//!
//! **Why it is exact.** Shape s and parameter q have the generating function ((1-q) / (1-qz))^s =
//! exp(s sum_i q^i (z^i - 1) / i): a sum of i times N_i, where the N_i are independent Poisson numbers of mean s q^i / i.
//! Candidates come to each i as Poisson numbers of mean s / 2^b below t, and of mean s / (2^m t) from t on (a Poisson
//! number of draws, each placed on its own, is an independent Poisson number at each place). Each is kept with
//! probability (2^b / i) q^i, or 2^m (t / i) q^i = (2/e)^m (t / i) exp(-o/t), and what is kept has mean s q^i / i at
//! every i. A Poisson number of mean 1/N is one of mean 1 (exact by rejection) of which each is kept with probability
//! 1/N. All coins are rational, exp of a rational, or 2/e: decided by whole random integers, without a float.
//! N shares have shape 1: the difference of two geometric numbers, which is discrete Laplace noise of scale t.
//!
//! **What k of N shares protect.** Their sum has shape s = k/N < 1 and probabilities P(m) = sum_j w(j) w(j+|m|) up to a
//! factor, w(j) = G(j+s) / (G(s) j!) q^j. As ln G is convex with a falling second derivative, w is log-convex; so is
//! P on m >= 0, as a sum of log-convex functions of m. Hence P(m) / P(m+D) falls in m >= 0; it is at most P(0) / P(D) for
//! the other m too, and the loss of an exact value that moves by D steps is ln(P(0) / P(D)): finite, growing without
//! limit as s falls to 0, and D/t at s = 1. Both sums are bracketed, not approximated: products of log-convex functions
//! are convex, and a convex function's sum over a block of integers lies between the number of terms times the value in
//! the middle and the same times the mean of both ends.

use cahoots_core::Stream;

use crate::exact::{bernoulli, bernoulli_exp, bernoulli_two_over_e, poisson_of_one};

/// One of `parts` shares of discrete Laplace noise of `scale` steps.
pub fn share(rng: &mut Stream, scale: u64, parts: u32) -> i64 {
    negative_binomial(rng, scale, parts) - negative_binomial(rng, scale, parts)
}

/// Negative binomial of shape 1 / `parts`, with q = exp(-1 / `scale`).
fn negative_binomial(rng: &mut Stream, scale: u64, parts: u32) -> i64 {
    let (mut sum, mut start) = (0, 1);
    while start < scale {
        for _ in 0..poisson_of_part(rng, parts) {
            let size = start + rng.below(start);
            if size < scale && bernoulli(rng, start, size) && bernoulli_exp(rng, size, scale) {
                sum += size;
            }
        }
        start *= 2;
    }
    for _ in 0..poisson_of_part(rng, parts) {
        let mut run = 1;
        while bernoulli(rng, 1, 2) {
            run += 1;
        }
        let offset = rng.below(scale);
        let size = run * scale + offset;
        let kept = (0..run).all(|_| bernoulli_two_over_e(rng));
        if kept && bernoulli(rng, scale, size) && bernoulli_exp(rng, offset, scale) {
            sum += size;
        }
    }
    sum as i64
}

/// Poisson of mean 1 / `parts`.
fn poisson_of_part(rng: &mut Stream, parts: u32) -> usize {
    let candidates = poisson_of_one(rng);
    (0..candidates).filter(|_| bernoulli(rng, 1, u64::from(parts))).count()
}

/// The loss of an exact value that moves by `moved` steps, under `present` of `parts` shares of noise of `scale` steps:
/// an upper bound, by less than one part in ten thousand.
pub fn epsilon_of(scale: u64, moved: u64, present: u32, parts: u32) -> f64 {
    if present >= parts {
        return moved as f64 / scale as f64;
    }
    if present == 0 {
        return f64::INFINITY;
    }
    let shape = f64::from(present) / f64::from(parts);
    let rate = 1.0 / scale as f64;
    // ln w(j) + ln G(s), for real j.
    let log = |j: f64| libm::lgamma(j + shape) - libm::lgamma(j + 1.0) - j * rate;
    let moved = moved as f64;
    let at_zero = |j: f64| libm::exp(2.0 * log(j));
    let at_moved = |j: f64| libm::exp(log(j) + log(j + moved));
    // Beyond 20 scales terms fall at least like exp(-2j / t); the lower bound leaves them out.
    let end = 20 * scale;
    let (mut most, mut least) = (at_zero(end as f64) / -libm::expm1(-2.0 * rate), 0.0);
    let mut start = 0;
    while start < end {
        let length = (start / 256).max(1).min(end - start);
        let (first, last) = (start as f64, (start + length - 1) as f64);
        most += length as f64 * 0.5 * (at_zero(first) + at_zero(last));
        least += length as f64 * at_moved(0.5 * (first + last));
        start += length;
    }
    // Rounding of some thousand terms.
    libm::log(most / least) + 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{Keys, NodeId};

    fn rng(seed: u64) -> Stream {
        Keys::from_seed(seed).privacy(NodeId(0), 0)
    }

    /// Pearson's statistic of `draws` against probabilities of `-edge..=edge` and the rest.
    fn assert_law(draws: impl Iterator<Item = i64>, edge: i64, probability: impl Fn(i64) -> f64, what: &str) {
        let mut counts = vec![0u64; 2 * edge as usize + 2];
        let mut n = 0.0;
        for draw in draws {
            let place = if draw.abs() > edge { 2 * edge as usize + 1 } else { (draw + edge) as usize };
            counts[place] += 1;
            n += 1.0;
        }
        let mut expected: Vec<f64> = (-edge..=edge).map(|x| n * probability(x)).collect();
        expected.push(n - expected.iter().sum::<f64>());
        let statistic: f64 =
            expected.iter().zip(&counts).map(|(e, c)| (*c as f64 - e) * (*c as f64 - e) / e).sum();
        let k = (counts.len() - 1) as f64;
        assert!((statistic - k).abs() < 5.0 * (2.0 * k).sqrt(), "{what}: {statistic} for {k}");
    }

    /// P of one share, summed term by term.
    fn probability(scale: u64, shape: f64, x: i64) -> f64 {
        let q = libm::exp(-1.0 / scale as f64);
        let weight = |j: f64| {
            let log = libm::lgamma(j + shape) - libm::lgamma(j + 1.0) - libm::lgamma(shape);
            libm::exp(log) * libm::pow(q, j) * libm::pow(1.0 - q, shape)
        };
        (0..200 * scale).map(|j| weight(j as f64) * weight((j + x.unsigned_abs()) as f64)).sum()
    }

    #[test]
    fn a_share_has_its_exact_probabilities() {
        for (scale, parts) in [(1, 2), (3, 2), (5, 4), (13, 3)] {
            let (mut rng, shape) = (rng(scale), 1.0 / f64::from(parts));
            let draws = (0..200_000).map(|_| share(&mut rng, scale, parts));
            let law = |x| probability(scale, shape, x);
            assert_law(draws, 2 * scale as i64, law, &format!("{scale} / {parts}"));
        }
    }

    #[test]
    fn shares_of_all_are_discrete_laplace_noise() {
        for (scale, parts) in [(3u64, 1), (3, 2), (4, 7)] {
            let mut rng = rng(scale + 50);
            let sums = (0..100_000).map(|_| (0..parts).map(|_| share(&mut rng, scale, parts)).sum());
            let q = libm::exp(-1.0 / scale as f64);
            let law = |x: i64| (1.0 - q) / (1.0 + q) * libm::pow(q, x.unsigned_abs() as f64);
            assert_law(sums, 3 * scale as i64, law, &format!("{scale} / {parts}"));
        }
    }

    /// On the grids that are used there are a million steps: moments and tail.
    #[test]
    fn shares_add_up_on_fine_grids_too() {
        for (scale, parts) in [(1_000_000u64, 7), (1_500_000, 50)] {
            let (mut rng, n) = (rng(5), 20_000);
            let sums: Vec<f64> = (0..n)
                .map(|_| (0..parts).map(|_| share(&mut rng, scale, parts)).sum::<i64>() as f64)
                .collect();
            let t = scale as f64;
            let square = sums.iter().map(|x| x * x).sum::<f64>() / n as f64;
            // A Laplace square has a standard deviation of sqrt(5) times its mean 2 t^2.
            assert!((square / (2.0 * t * t) - 1.0).abs() < 5.0 * (5.0 / n as f64).sqrt(), "{scale} {parts}");
            for edge in [1.0, 2.0, 4.0] {
                let tail = libm::exp(-edge);
                let seen = sums.iter().filter(|x| x.abs() >= edge * t).count() as f64 / n as f64;
                let error = (tail * (1.0 - tail) / n as f64).sqrt();
                assert!((seen - tail).abs() < 5.0 * error, "{scale} {parts} {edge}: {seen} {tail}");
            }
        }
    }

    #[test]
    fn one_share_of_many_is_mostly_nothing() {
        let (mut rng, n) = (rng(6), 5_000);
        let zeros = (0..n).filter(|_| share(&mut rng, 1_000_000, 50) == 0).count() as f64 / n as f64;
        // Both numbers are 0 with probability (1 - q)^(2/50).
        let expected = libm::exp(-2.0 * libm::log(1e6) / 50.0);
        assert!((zeros - expected).abs() < 5.0 * (expected * (1.0 - expected) / n as f64).sqrt(), "{zeros}");
    }

    #[test]
    fn missing_shares_cost_what_is_known_of_them() {
        let loss = |present| epsilon_of(1 << 20, 1 << 20, present, 10);
        assert_eq!(loss(10), 1.0);
        assert!((loss(9) - 1.19).abs() < 0.005, "{}", loss(9));
        assert!((loss(8) - 1.44).abs() < 0.005, "{}", loss(8));
        assert!(loss(5) > 3.3 && loss(5) < 4.0, "{}", loss(5));
        assert!(loss(1) > 10.0 && loss(1).is_finite());
        assert_eq!(loss(0), f64::INFINITY);
    }

    #[test]
    fn the_loss_is_bounded_from_above_and_closely() {
        for (scale, moved, present, parts) in
            [(64, 64, 9, 10), (64, 64, 1, 3), (64, 20, 1, 2), (50, 150, 2, 5)]
        {
            let shape = f64::from(present) / f64::from(parts);
            let (zero, there) = (probability(scale, shape, 0), probability(scale, shape, moved as i64));
            let (exact, bound) = (libm::log(zero / there), epsilon_of(scale, moved, present, parts));
            assert!(bound >= exact && bound < exact + 1e-4, "{scale} {present}/{parts}: {exact} {bound}");
        }
    }
}
