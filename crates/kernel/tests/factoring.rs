//! Matrices that can hardly be factored, or not at all; and the semi-definite root.

mod common;

use cahoots_kernel::{Factor, Level, NotPositiveDefinite, log_det, semidefinite_cholesky};
use common::{EPS, Statistics, Uniform};

/// Fails to rebuild at every level, leaving the state as it was, with the expected error.
fn fails(gram: &[f64], moment: &[f64], ridge: f64) -> NotPositiveDefinite {
    let dim = moment.len();
    let mut found = Vec::new();
    for level in Level::available() {
        let mut factor = Factor::ridge(dim, 2.0);
        factor.learn(&vec![0.3; dim], 1.0);
        let before = postcard::to_stdvec(&factor).unwrap();
        found.push(factor.rebuild_with(level, gram, moment, ridge).unwrap_err());
        assert_eq!(postcard::to_stdvec(&factor).unwrap(), before, "{level:?} changed the state");
    }
    let error = Factor::of(gram, moment, ridge).unwrap_err();
    assert_eq!(log_det(gram, dim, ridge).unwrap_err().pivot, error.pivot);
    assert!(found.iter().all(|other| other.pivot == error.pivot));
    assert!(error.to_string().contains("not positive definite"));
    error
}

#[test]
fn indefinite_singular_and_not_finite_are_refused() {
    // An eigenvalue below minus the ridge.
    let error = fails(&[1.0, 2.0, 1.0], &[0.0; 2], 0.5);
    assert_eq!((error.pivot, error.value < 0.0), (1, true));
    // Exactly singular, without a ridge.
    assert_eq!(fails(&[1.0, 1.0, 1.0], &[1.0; 2], 0.0), NotPositiveDefinite { pivot: 1, value: 0.0 });
    assert_eq!(fails(&[0.0; 6], &[0.0; 3], 0.0).pivot, 0);
    assert_eq!(fails(&[-1.0], &[0.0], 0.5).pivot, 0);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for dim in [1, 2, 9, 25] {
            for row in [0, dim / 2, dim - 1] {
                let mut data = Statistics::new(dim);
                data.gram[row * (row + 1) / 2 + row] = bad;
                assert_eq!(fails(&data.gram, &data.moment, 1.0).pivot, row);
                // Off the diagonal it spoils the pivot of its row.
                if row > 0 {
                    data.gram[row * (row + 1) / 2 + row] = 1.0;
                    data.gram[row * (row + 1) / 2] = bad;
                    assert_eq!(fails(&data.gram, &data.moment, 1.0).pivot, row);
                }
            }
        }
    }
    assert_eq!(fails(&[1.0], &[0.0], f64::NAN).pivot, 0);
}

#[test]
fn zero_rows_are_the_ridge_alone() {
    for ridge in [1e-12, 0.01, 7.3] {
        let mut data = Statistics::new(12);
        data.add(&[0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1.0);
        let factor = Factor::of(&data.gram, &data.moment, ridge).unwrap();
        for i in (0..12).filter(|i| ![1, 3].contains(i)) {
            let mut unit = [0.0; 12];
            unit[i] = 1.0;
            let (mean, width2) = factor.mean_and_width2(&unit);
            assert_eq!(mean, 0.0);
            assert!((width2 * ridge - 1.0).abs() <= 4.0 * EPS);
        }
    }
}

#[test]
fn nearly_singular_still_factors() {
    // Rank three and a ridge far below the eigenvalues, but above their rounding (dim * eps * trace).
    for dim in [4, 8, 25, 60] {
        let mut random = Uniform(dim as u64);
        let arms = random.vectors(3, dim);
        let mut data = Statistics::new(dim);
        (0..30).for_each(|k| data.add(&arms[k % 3], 1.0));
        let ridge = 64.0 * dim as f64 * EPS * data.trace();
        for level in Level::available() {
            let mut factor = Factor::ridge(dim, 1.0);
            factor.rebuild_with(level, &data.gram, &data.moment, ridge).unwrap();
            // All but three eigenvalues are the ridge, known to some (rounding / ridge) = 1/64 each.
            let low = (dim - 3) as f64 * libm::log(ridge);
            assert!(factor.log_det() > low - 0.1 * dim as f64);
            assert!(factor.log_det() < low + 3.0 * libm::log(data.trace() + ridge) + 0.1 * dim as f64);
        }
    }
}

#[test]
fn extreme_scales_do_not_overflow_the_determinant() {
    for exponent in [-1000, -300, 300, 1000] {
        let ridge = libm::exp2(exponent.into());
        let expected = 40.0 * exponent as f64 * std::f64::consts::LN_2;
        let close = |found: f64| (found - expected).abs() <= 8.0 * EPS * expected.abs();
        assert!(close(Factor::ridge(40, ridge).log_det()));
        assert!(close(log_det(&vec![0.0; 820], 40, ridge).unwrap()));
    }
    // The smallest subnormal.
    let tiny = 5e-324;
    assert!((Factor::ridge(2, tiny).log_det() + 2.0 * 1074.0 * std::f64::consts::LN_2).abs() < 1e-12);
}

#[test]
fn the_semidefinite_root_reproduces_the_matrix() {
    for dim in [1, 2, 3, 8, 25, 60] {
        for rank in [0, 1, 2, dim / 2, dim] {
            let mut random = Uniform((dim * 100 + rank) as u64);
            let arms = random.vectors(rank, dim);
            let mut data = Statistics::new(dim);
            arms.iter().for_each(|x| data.add(x, 0.0));
            let root = semidefinite_cholesky(&data.gram, dim);
            let start = |i: usize| i * (i + 1) / 2;
            let scale = (0..dim).map(|i| data.gram[start(i) + i]).fold(0.0, f64::max);
            // A pivot at the tolerance dim * 2 eps * scale that counts as zero drops a column whose
            // entries are at most the geometric mean of it and the diagonal.
            let tolerance = (2.0 * dim as f64 * EPS).sqrt() * scale;
            for i in 0..dim {
                assert!(root[start(i) + i] >= 0.0);
                for j in 0..=i {
                    let product: f64 = (0..=j).map(|k| root[start(i) + k] * root[start(j) + k]).sum();
                    assert!((product - data.gram[start(i) + j]).abs() <= tolerance);
                }
            }
        }
    }
}

#[test]
fn zero_pivots_give_zero_columns() {
    // Rank one, a zero row, a repeated row; and a pivot of rounding size.
    assert_eq!(semidefinite_cholesky(&[1.0; 6], 3), [1.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(semidefinite_cholesky(&[0.0, 0.0, 4.0, 0.0, 2.0, 5.0], 3), [0.0, 0.0, 2.0, 0.0, 1.0, 2.0]);
    assert_eq!(semidefinite_cholesky(&[4.0, 4.0, 4.0, 2.0, 2.0, 5.0], 3), [2.0, 2.0, 0.0, 1.0, 0.0, 2.0]);
    let nearly = semidefinite_cholesky(&[1.0, 1.0, 1.0 + f64::EPSILON], 2);
    assert_eq!(nearly, [1.0, 1.0, 0.0]);
    assert_eq!(semidefinite_cholesky(&[], 0), []);
}

#[test]
fn the_semidefinite_root_of_a_definite_matrix_is_cholesky() {
    let root = semidefinite_cholesky(&[4.0, 2.0, 5.0, -2.0, 1.0, 11.0], 3);
    assert_eq!(root, [2.0, 1.0, 2.0, -1.0, 1.0, 3.0]);
}

/// A million copies of one context: all but one pivot are the ridge, far below the rounding of the rest.
///
/// The exact pivots are `ridge s_i / s_(i-1)`, with `s_i` the sum of the first squares of the context (the
/// first is `copies s_0 + ridge`). Each lies within rounding of the ridge and counts as the ridge, so that
/// the factors `s_i / s_(i-1)`, in all `|x|^2 / s_0`, are what is lost of the determinant, and no more.
#[test]
fn a_ridge_lost_in_rounding_is_still_a_ridge() {
    let (dim, ridge, copies) = (7, 1e-12, 1e6);
    let rising: Vec<f64> = (0..dim).map(|i| 0.1 + 0.13 * i as f64).collect();
    let falling: Vec<f64> = rising.iter().rev().copied().collect();
    for x in [rising, falling] {
        let mut gram = Vec::new();
        for i in 0..dim {
            gram.extend((0..=i).map(|j| copies * (x[i] * x[j])));
        }
        let moment: Vec<f64> = x.iter().map(|x| copies * x).collect();
        let square: f64 = x.iter().map(|x| x * x).sum();
        let exact = (dim - 1) as f64 * libm::log(ridge) + libm::log(copies * square + ridge);
        let lost = libm::log(square / (x[0] * x[0]));
        for level in Level::available() {
            let mut factor = Factor::ridge(dim, 1.0);
            factor.rebuild_with(level, &gram, &moment, ridge).unwrap();
            // Roundings of a few logarithms, each smaller than the whole.
            let error = (factor.log_det() - (exact - lost)).abs();
            assert!(error <= 16.0 * EPS * exact.abs(), "{level:?}: {error}");
            // Exactly, width2 is 1 / copies and the mean 1. What elimination leaves of a row, two roundings
            // of x_i, is divided by the root of the ridge: y_i; and z = copies y, since b = copies x.
            let (mean, width2) = factor.mean_and_width2(&x);
            let rest = copies * dim as f64 * (2.0 * EPS) * (2.0 * EPS) / ridge + 8.0 * EPS;
            assert!((mean - 1.0).abs() <= rest, "{level:?}: {mean}");
            assert!((width2 * copies - 1.0).abs() <= rest, "{level:?}: {width2}");
        }
    }
}

/// Sums of what can be observed, whatever its scale: rounding grows with the entries, the ridge does not.
#[test]
fn data_of_any_legal_scale_factors() {
    for exponent in [0, 20, 27, 40, 100] {
        let scale = (1_u128 << exponent) as f64;
        for dim in [2, 5, 25] {
            let mut random = Uniform(dim as u64);
            for distinct in [1, 2, 400] {
                let arms = random.vectors(distinct, dim);
                let mut data = Statistics::new(dim);
                for k in 0..400 {
                    let arm: Vec<f64> = arms[k % distinct].iter().map(|x| x * scale).collect();
                    data.add(&arm, 1.0);
                }
                for level in Level::available() {
                    let mut factor = Factor::ridge(dim, 0.1);
                    let rebuilt = factor.rebuild_with(level, &data.gram, &data.moment, 0.1);
                    assert!(rebuilt.is_ok(), "2^{exponent}, dim {dim}, {distinct} arms: {rebuilt:?}");
                    let (_, width2) = factor.mean_and_width2(&arms[0]);
                    assert!(width2.is_finite() && width2 >= 0.0);
                }
            }
        }
    }
}

/// A large feature does not drown what is known of a small one beside it.
#[test]
fn features_of_different_scales_are_told_apart() {
    for order in [[0, 1], [1, 0]] {
        let mut random = Uniform(3);
        let mut data = Statistics::new(2);
        for row in random.vectors(400, 2) {
            let mut x = [0.0; 2];
            (x[order[0]], x[order[1]]) = (row[0], row[1] * 1e9);
            data.add(&x, x[order[0]]);
        }
        let factor = Factor::of(&data.gram, &data.moment, 0.1).unwrap();
        let mut small = [0.0; 2];
        small[order[0]] = 1.0;
        let (mean, width2) = factor.mean_and_width2(&small);
        assert!((mean - 1.0).abs() < 0.01 && width2 < 0.05, "{order:?}: {mean} {width2}");
    }
}

/// What no data can have led to is refused at every scale.
#[test]
fn indefinite_matrices_are_refused_at_every_scale() {
    for scale in [1e-6, 1.0, 1e8, 1e30] {
        let gram = [scale, 1.001 * scale, scale];
        let ridge = 1e-4 * scale;
        assert_eq!(fails(&gram, &[0.0; 2], ridge).pivot, 1);
    }
}
