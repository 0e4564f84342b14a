//! Packed symmetric matrices: what can be said of them without a [`Factor`](crate::Factor).
//!
//! Packed means the lower triangle in row-major order, `dim (dim + 1) / 2` numbers.

use std::fmt;

use crate::Level;
use crate::ops::outer::AddOuter;
use crate::ops::rebuild::{Eliminate, scratch_len};
use crate::simd::dispatch;
use crate::workspace;

/// A matrix that was to be factored is not positive definite, or not finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotPositiveDefinite {
    /// The first row at which elimination failed.
    pub pivot: usize,
    /// The pivot there: zero, negative or not finite.
    pub value: f64,
}

impl fmt::Display for NotPositiveDefinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotPositiveDefinite { pivot, value } = self;
        write!(f, "the matrix is not positive definite: pivot {pivot} is {value}")
    }
}

impl std::error::Error for NotPositiveDefinite {}

/// `log det(gram + ridge I)` alone, with the bits of [`Factor::of`](crate::Factor::of) and about half
/// its cost.
///
/// # Panics
/// If `gram.len() != dim (dim + 1) / 2`.
pub fn log_det(gram: &[f64], dim: usize, ridge: f64) -> Result<f64, NotPositiveDefinite> {
    check_len(gram, dim);
    workspace::with(scratch_len(dim), |scratch| {
        dispatch(Level::best(), Eliminate { dim, gram, ridge, scratch, w: None })
    })
}

/// `gram += x x'`, product and sum rounded: the same bits on every host.
///
/// # Panics
/// If `gram.len() != dim (dim + 1) / 2` with `dim = x.len()`.
pub fn add_outer(gram: &mut [f64], x: &[f64]) {
    add_outer_with(Level::best(), gram, x);
}

/// [`add_outer`] at a given level.
///
/// # Panics
/// As [`add_outer`], or if this host lacks the level.
pub fn add_outer_with(level: Level, gram: &mut [f64], x: &[f64]) {
    check_len(gram, x.len());
    dispatch(level, AddOuter { packed: gram, x });
}

/// Lower Cholesky factor, packed, of a positive *semi*-definite packed matrix: for sampling
/// `N(0, gram)`. A pivot within `dim * eps` of the largest diagonal entry counts as zero and gives a
/// zero column. Same bits on every host.
///
/// # Panics
/// If `gram.len() != dim (dim + 1) / 2`.
pub fn semidefinite_cholesky(gram: &[f64], dim: usize) -> Vec<f64> {
    check_len(gram, dim);
    let start = |i: usize| i * (i + 1) / 2;
    let scale = (0..dim).map(|i| gram[start(i) + i]).fold(0.0, f64::max);
    let tolerance = dim as f64 * f64::EPSILON * scale;
    let mut l = gram.to_vec();
    for i in 0..dim {
        let (above, row) = l.split_at_mut(start(i));
        for j in 0..i {
            let other = &above[start(j)..][..=j];
            let dot: f64 = (0..j).map(|k| row[k] * other[k]).sum();
            row[j] = if other[j] > 0.0 { (row[j] - dot) / other[j] } else { 0.0 };
        }
        let norm2: f64 = row[..i].iter().map(|v| v * v).sum();
        let pivot = row[i] - norm2;
        row[i] = if pivot > tolerance { pivot.sqrt() } else { 0.0 };
    }
    l
}

/// Whether a packed matrix is positive semidefinite up to `slack`: eliminates `matrix + slack I` in place. Unlike
/// [`log_det`] it forgives no pivot: a row that depends on others must do so in every column. Same bits on every host.
///
/// # Panics
/// If `matrix.len() != dim (dim + 1) / 2`.
pub fn eliminate(matrix: &mut [f64], dim: usize, slack: f64) -> Result<(), NotPositiveDefinite> {
    check_len(matrix, dim);
    let start = |i: usize| i * (i + 1) / 2;
    let mut column = vec![0.0; dim];
    for k in 0..dim {
        let pivot = matrix[start(k) + k] + slack;
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(NotPositiveDefinite { pivot: k, value: pivot });
        }
        for i in k + 1..dim {
            column[i] = matrix[start(i) + k];
        }
        for i in k + 1..dim {
            let factor = column[i] / pivot;
            let row = &mut matrix[start(i) + k + 1..][..i - k];
            row.iter_mut().zip(&column[k + 1..=i]).for_each(|(entry, above)| *entry -= factor * above);
        }
    }
    Ok(())
}

pub(crate) fn check_len(gram: &[f64], dim: usize) {
    assert_eq!(gram.len(), dim * (dim + 1) / 2, "a packed triangle of the wrong length");
}

/// The logarithm of a product of positive numbers with one call of `log`: mantissas are multiplied,
/// exponents added.
#[derive(Clone, Copy)]
pub(crate) struct LogProduct {
    mantissa: f64,
    exponent: i64,
}

impl LogProduct {
    pub(crate) const ONE: LogProduct = LogProduct { mantissa: 1.0, exponent: 0 };

    /// Multiplies by `x`, positive and finite.
    #[inline(always)]
    pub(crate) fn times(&mut self, x: f64) {
        const SCALE: f64 = (1_u64 << 54) as f64;
        // A subnormal has no exponent of its own.
        let (x, scaled) = if x < f64::MIN_POSITIVE { (x * SCALE, 54) } else { (x, 0) };
        let product = self.mantissa * mantissa(x);
        self.exponent += exponent(x) - scaled + exponent(product);
        self.mantissa = mantissa(product);
    }

    pub(crate) fn ln(self) -> f64 {
        // Around one, so that a product near one is not the difference of two large numbers.
        let (m, e) = if self.mantissa > std::f64::consts::SQRT_2 {
            (self.mantissa * 0.5, self.exponent + 1)
        } else {
            (self.mantissa, self.exponent)
        };
        libm::log(m) + e as f64 * std::f64::consts::LN_2
    }
}

/// The exponent `e` of `x = m 2^e`, `1 <= m < 2`.
#[inline(always)]
fn exponent(x: f64) -> i64 {
    (x.to_bits() >> 52) as i64 - 1023
}

/// The mantissa `m` of `x = m 2^e`, `1 <= m < 2`.
#[inline(always)]
fn mantissa(x: f64) -> f64 {
    f64::from_bits((x.to_bits() & ((1 << 52) - 1)) | (1023 << 52))
}
