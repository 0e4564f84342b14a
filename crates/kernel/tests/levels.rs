//! Scalar, AVX2 and AVX-512 agree bit for bit; plain arithmetic agrees up to rounding.

mod common;

use cahoots_kernel::{Factor, Level, Profile, Scores, Tiles, profile};
use common::{Statistics, Uniform, norm, tiles};

/// The levels whose bits must agree, and plain arithmetic.
fn levels() -> (Vec<Level>, Level) {
    let (fused, plain): (Vec<_>, Vec<_>) =
        Level::available().into_iter().partition(|level| level.profile() == Profile::Fma);
    (fused, plain[0])
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn state(factor: &Factor) -> Vec<u64> {
    let mut all = bits(factor.z());
    all.push(factor.log_det().to_bits());
    (0..factor.dim()).for_each(|i| all.extend(bits(factor.row(i))));
    all
}

/// A few steps of a bandit at one level: learns what it picks, then rebuilds, then learns on.
fn run(level: Level, dim: usize, arms: &[Vec<f64>], steps: usize) -> (Factor, Scores, Vec<usize>) {
    let packed = tiles(dim, arms);
    let mut factor = Factor::ridge(dim, 0.37);
    let (mut scores, mut picked) = (Scores::default(), Vec::new());
    let mut data = Statistics::new(dim);
    let mut random = Uniform(dim as u64);
    for step in 0..steps {
        if step % 8 == 7 {
            factor.rebuild_with(level, &data.gram, &data.moment, 0.37).unwrap();
        }
        factor.score_with(level, &packed, &mut scores);
        let k = scores.highest_bound_with(level, 0.9, None).arm;
        let reward = random.next();
        factor.learn_with(level, &arms[k], reward);
        data.add(&arms[k], reward);
        picked.push(k);
    }
    (factor, scores, picked)
}

fn agree(dim: usize, count: usize, steps: usize) {
    let arms = Uniform((dim * 10_000 + count) as u64).vectors(count, dim);
    let (fused, plain) = levels();
    let (factor, scores, picked) = run(fused[0], dim, &arms, steps);
    for &level in &fused[1..] {
        let (other, other_scores, other_picked) = run(level, dim, &arms, steps);
        assert_eq!(picked, other_picked, "{level:?} picks otherwise at ({dim}, {count})");
        assert_eq!(state(&factor), state(&other), "{level:?} learns otherwise at ({dim}, {count})");
        assert_eq!(bits(&scores.mean), bits(&other_scores.mean), "{level:?} at ({dim}, {count})");
        assert_eq!(bits(&scores.width2), bits(&other_scores.width2), "{level:?} at ({dim}, {count})");
    }

    // Plain arithmetic on the same sequence: within what either may differ from the truth.
    let (mut factor, mut other) = (Factor::ridge(dim, 0.37), Factor::ridge(dim, 0.37));
    let mut data = Statistics::new(dim);
    for &k in &picked {
        factor.learn_with(fused[0], &arms[k], 0.5);
        other.learn_with(plain, &arms[k], 0.5);
        data.add(&arms[k], 0.5);
    }
    let (mut a, mut b) = (Scores::default(), Scores::default());
    factor.score_with(fused[0], &tiles(dim, &arms), &mut a);
    other.score_with(plain, &tiles(dim, &arms), &mut b);
    let tolerance = 2.0 * data.tolerance(0.37);
    for k in 0..count {
        let size = norm(&arms[k]);
        assert!((a.width2[k] - b.width2[k]).abs() <= tolerance * size * size / 0.37);
        assert!((a.mean[k] - b.mean[k]).abs() <= tolerance * size * norm(&data.moment) / 0.37);
    }
    assert!((factor.log_det() - other.log_det()).abs() <= dim as f64 * tolerance);
}

#[test]
fn every_small_dimension() {
    for dim in 1..=41 {
        for count in [1, 3, 8, 12, 13, 25, 36] {
            agree(dim, count, 10);
        }
    }
}

#[test]
fn every_number_of_arms() {
    for count in 1..=80 {
        agree(10, count, 3);
    }
    for count in [255, 1000, 4999, 5000] {
        agree(25, count, 3);
    }
}

#[test]
fn large_dimensions() {
    for dim in [47, 63, 64, 65, 71, 96, 100, 127, 128, 129, 160, 199, 200, 300] {
        agree(dim, 1 + dim % 29, 10);
    }
}

#[test]
fn an_arm_scores_the_same_wherever_it_lies() {
    let (fused, plain) = levels();
    for level in fused.into_iter().chain([plain]) {
        for dim in [1, 7, 10, 25, 40] {
            let mut random = Uniform(3);
            let arms = random.vectors(45, dim);
            let (factor, scores, _) = run(level, dim, &arms, 12);
            let mut other = Scores::default();
            factor.score_with(level, &tiles(dim, &arms), &mut other);
            for first in 1..45 {
                let mut some = Scores::default();
                factor.score_with(level, &tiles(dim, &arms[first..]), &mut some);
                assert_eq!(bits(&some.mean), bits(&other.mean[first..]));
                assert_eq!(bits(&some.width2), bits(&other.width2[first..]));
            }
            if level == Level::best() {
                for (k, x) in arms.iter().enumerate() {
                    let (mean, width2) = factor.mean_and_width2(x);
                    assert_eq!(bits(&[mean, width2]), bits(&[other.mean[k], other.width2[k]]));
                }
            }
            assert_eq!(scores.mean.len(), 45);
        }
    }
}

#[test]
fn extreme_numbers_agree_too() {
    let (fused, _) = levels();
    for special in [f64::NAN, f64::INFINITY, 1e300, 5e-324, -0.0] {
        let mut arms = Uniform(5).vectors(11, 10);
        arms[3][4] = special;
        arms[10][9] = special;
        let results: Vec<_> = fused
            .iter()
            .map(|&level| {
                let mut factor = Factor::ridge(10, 1.0);
                let mut scores = Scores::default();
                arms[..3].iter().for_each(|x| {
                    factor.learn_with(level, x, 1.0);
                });
                factor.score_with(level, &tiles(10, &arms), &mut scores);
                factor.learn_with(level, &arms[3], 1.0);
                // NaN has many encodings: they count as one.
                let plain = |v: &f64| if v.is_nan() { u64::MAX } else { v.to_bits() };
                let rows: Vec<u64> = (0..10).flat_map(|i| factor.row(i).iter().map(plain)).collect();
                let means: Vec<u64> = scores.mean.iter().chain(&scores.width2).map(plain).collect();
                (rows, means, scores.highest_bound_with(level, 1.0, None).arm)
            })
            .collect();
        results.windows(2).for_each(|pair| assert_eq!(pair[0], pair[1], "{special}"));
    }
}

#[test]
fn the_best_level_is_available_and_sets_the_profile() {
    assert!(Level::available().contains(&Level::best()));
    assert_eq!(profile(), Level::best().profile());
    assert_eq!(Level::Plain.profile(), Profile::Plain);
}

#[test]
fn a_level_that_the_host_lacks_panics() {
    for level in [Level::Avx2, Level::Avx512] {
        let call = || Factor::ridge(2, 1.0).score_with(level, &Tiles::new(2), &mut Scores::default());
        assert_eq!(std::panic::catch_unwind(call).is_ok(), level.is_available());
    }
}
