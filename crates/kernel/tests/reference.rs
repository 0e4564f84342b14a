//! The factor against plain ridge regression with a dense inverse.

mod common;

use cahoots_kernel::{Factor, Level, Scores, log_det};
use common::{RIDGES, Statistics, Uniform, dot, inverse, norm, tiles, times};
use proptest::prelude::*;

/// Everything a factor can be asked, against the definitions.
fn check(factor: &Factor, level: Level, data: &Statistics, ridge: f64, arms: &[Vec<f64>]) {
    let dim = data.dim;
    let tolerance = data.tolerance(ridge);
    let (inverse, expected_log_det) = inverse(&data.dense(ridge));
    let theta = times(&inverse, &data.moment);
    let unit = tolerance * norm(&data.moment) / ridge;
    // log det is the integral of tr(A^-1 dA), each entry of dA being that uncertain.
    let log_tolerance = dim as f64 * tolerance;
    assert!((factor.log_det() - expected_log_det).abs() <= log_tolerance, "log det");
    for (found, expected) in factor.theta().iter().zip(&theta) {
        assert!((found - expected).abs() <= unit, "theta: {found} for {expected}");
    }

    let mut scores = Scores::default();
    factor.score_with(level, &tiles(dim, arms), &mut scores);
    assert_eq!((scores.mean.len(), scores.width2.len()), (arms.len(), arms.len()));
    for (k, x) in arms.iter().enumerate() {
        let (mean, width2) = (dot(x, &theta), dot(x, &times(&inverse, x)));
        let size = norm(x);
        assert!((scores.mean[k] - mean).abs() <= unit * size, "mean");
        assert!((scores.width2[k] - width2).abs() <= tolerance * size * size / ridge, "width");
        assert!(scores.width2[k] >= 0.0);
        for (found, expected) in factor.solve(x).iter().zip(times(&inverse, x)) {
            assert!((found - expected).abs() <= tolerance * size / ridge, "solve");
        }
    }

    // Toward some other direction: x' W' direction.
    let direction: Vec<f64> = (0..dim).map(|i| libm::cos(i as f64 * 0.7)).collect();
    let toward = factor.theta_toward(&direction);
    factor.score_toward_with(level, &tiles(dim, arms), &direction, &mut scores);
    for (k, x) in arms.iter().enumerate() {
        let size = norm(x) * norm(&direction) / ridge.sqrt();
        assert!((scores.mean[k] - dot(x, &toward)).abs() <= tolerance * size, "toward");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn learning_and_rebuilding_are_ridge_regression(
        seed: u64, dim in 1_usize..40, count in 0_usize..60, which in 0_usize..4, arms in 1_usize..20,
    ) {
        let (mut random, ridge) = (Uniform(seed), RIDGES[which]);
        let mut data = Statistics::new(dim);
        let steps: Vec<_> = (0..count).map(|_| (random.vector(dim), random.next())).collect();
        let arms = random.vectors(arms, dim);
        for level in Level::available() {
            let mut learnt = Factor::ridge(dim, ridge);
            data = Statistics::new(dim);
            for (x, reward) in &steps {
                let before = learnt.log_det();
                let gain = learnt.learn_with(level, x, *reward);
                prop_assert!(gain >= 0.0);
                prop_assert_eq!(learnt.log_det(), before + gain);
                data.add(x, *reward);
            }
            check(&learnt, level, &data, ridge, &arms);
            let mut rebuilt = Factor::ridge(dim, 3.0);
            rebuilt.rebuild_with(level, &data.gram, &data.moment, ridge).unwrap();
            check(&rebuilt, level, &data, ridge, &arms);
        }
        let of = Factor::of(&data.gram, &data.moment, ridge).unwrap();
        prop_assert_eq!(log_det(&data.gram, dim, ridge).unwrap().to_bits(), of.log_det().to_bits());
    }

    #[test]
    fn the_gain_is_ln1p_of_the_squared_width(seed: u64, dim in 1_usize..40, scale in -8_i32..8) {
        let mut random = Uniform(seed);
        let mut factor = Factor::ridge(dim, 0.5);
        for _ in 0..10 {
            let x: Vec<f64> = random.vector(dim).iter().map(|v| v * libm::pow(10.0, scale.into())).collect();
            let (_, width2) = factor.mean_and_width2(&x);
            let gain = factor.learn(&x, 1.0);
            // Two orders of summing |y|^2, each of whose terms is positive: the y differ by dim * eps
            // of |W_i||x|, which is at most |x| / sqrt(ridge) here.
            let size = common::dot(&x, &x) / 0.5;
            let tolerance = 8.0 * dim as f64 * common::EPS * size.max(width2);
            prop_assert!((gain - libm::log1p(width2)).abs() <= tolerance);
        }
    }
}

#[test]
fn without_data_the_width_is_the_norm() {
    for ridge in RIDGES {
        let factor = Factor::ridge(3, ridge);
        let (mean, width2) = factor.mean_and_width2(&[1.0, -2.0, 2.0]);
        assert_eq!(mean, 0.0);
        assert!((width2 - 9.0 / ridge).abs() <= 8.0 * common::EPS * 9.0 / ridge);
        assert!(
            (factor.log_det() - 3.0 * libm::log(ridge)).abs()
                <= 8.0 * common::EPS * 3.0 * libm::log(ridge).abs().max(1.0)
        );
        assert_eq!((factor.z(), factor.theta()), (&[0.0; 3][..], vec![0.0; 3]));
    }
}
