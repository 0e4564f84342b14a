//! Learning for a very long time, where almost nothing of the space is ever seen.
//!
//! Arms span three dimensions and the ridge is tiny, so the condition number is about 1e15: running
//! inverses lose their log-determinant here. The arms have few bits, so the Gram matrix is exact; the
//! reference factors it with twice the digits.

mod common;

use cahoots_kernel::{Factor, Level};
use common::double::inverse_factor;
use common::{EPS, Statistics, Uniform};

/// Arms with coordinates in multiples of 1/16, all in a random subspace of three dimensions.
fn arms(dim: usize, random: &mut Uniform) -> Vec<Vec<f64>> {
    let mut small = |range: u64| (random.bits() >> 33) % (2 * range + 1);
    let basis: Vec<Vec<f64>> = (0..3).map(|_| (0..dim).map(|_| small(4) as f64 - 4.0).collect()).collect();
    let mut weights = || small(2) as f64 - 2.0;
    let mut mix = || {
        let (a, b, c) = (weights(), weights(), weights());
        (0..dim).map(|i| (a * basis[0][i] + b * basis[1][i] + c * basis[2][i]) / 16.0).collect()
    };
    (0..64).map(|_| mix()).collect()
}

/// Learns and compares; returns the errors of `W`, row by row relative to the row's norm, and of the
/// log-determinant.
fn drift(level: Level, dim: usize, steps: usize, ridge: f64) -> (f64, f64) {
    let mut random = Uniform(dim as u64);
    let arms = arms(dim, &mut random);
    let mut factor = Factor::ridge(dim, ridge);
    let mut counts = vec![0_u64; arms.len()];
    for _ in 0..steps {
        let k = (random.bits() >> 58) as usize;
        factor.learn_with(level, &arms[k], 0.25);
        counts[k] += 1;
    }
    let mut data = Statistics::new(dim);
    for (x, &count) in arms.iter().zip(&counts) {
        // Exactly count * x x': small integers over 256.
        let mut once = Statistics::new(dim);
        once.add(x, 0.0);
        data.gram.iter_mut().zip(&once.gram).for_each(|(sum, v)| *sum += count as f64 * v);
    }
    let (w, log_det) = inverse_factor(&data.dense(0.0), ridge);
    let error = |i: usize| {
        let difference: f64 = factor.row(i).iter().zip(&w[i]).map(|(a, b)| (a - b) * (a - b)).sum();
        (difference / common::dot(&w[i], &w[i])).sqrt()
    };
    let worst = (0..dim).map(error).fold(0.0, f64::max);
    (worst, (factor.log_det() - log_det).abs())
}

/// Rounding leaves remainders of the seen directions, of size `eps / sqrt(ridge)`, in the rows of `W`
/// that belong to unseen ones, and their squares are learnt at every step: the drift is proportional to
/// `eps^2 / ridge`, and stays below 1e-9 for a million steps with a ridge of 2^-30.
fn check(dim: usize, steps: usize, ridge: f64) {
    for level in [Level::Plain, Level::best()] {
        let (w, log_det) = drift(level, dim, steps, ridge);
        println!("{level:?}, dimension {dim}, {steps} steps: W {w:e}, log det {log_det:e}");
        assert!(w < 1e-9, "W drifts by {w:e}");
        // Twice that for every row, and the rounding of the running sum: half a unit of its size a step.
        let rounding = steps as f64 * EPS * dim as f64 * libm::log(ridge).abs();
        assert!(log_det <= 2e-9 * dim as f64 + rounding, "log det off by {log_det:e}");
    }
}

#[test]
fn a_million_updates_in_a_degenerate_subspace() {
    check(8, 1_000_000, libm::exp2(-30.0));
    check(25, 300_000, libm::exp2(-30.0));
}

#[test]
#[cfg(feature = "soak")]
fn many_million_updates_in_a_degenerate_subspace() {
    check(8, 30_000_000, libm::exp2(-10.0));
    check(25, 10_000_000, libm::exp2(-10.0));
    check(25, 1_000_000, libm::exp2(-30.0));
    check(100, 300_000, libm::exp2(-30.0));
}

#[test]
fn coordinates_never_seen_stay_exactly_as_they_were() {
    for level in Level::available() {
        let fresh = Factor::ridge(20, 0.3);
        let mut factor = fresh.clone();
        let mut random = Uniform(7);
        for _ in 0..1000 {
            let mut x = random.vector(20);
            (0..20).filter(|i| i % 3 == 1 || *i > 16).for_each(|i| x[i] = 0.0);
            factor.learn_with(level, &x, 1.0);
        }
        for i in (0..20).filter(|i| i % 3 == 1 || *i > 16) {
            assert_eq!(factor.row(i), fresh.row(i));
            assert_eq!(factor.z()[i], 0.0);
        }
    }
}
