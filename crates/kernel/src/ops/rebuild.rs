//! Factoring from the Gram matrix: elimination on `[V + ridge I | I]`, row by row.
//!
//! Row `i` of the upper factor is `U_i = A_i - sum_(k<i) U_k[i] / U_kk U_k`; the same combinations of
//! the identity's rows give the unit lower `L^-1`, which is divided by `sqrt(U_ii)` at the end. This is
//! Cholesky without square roots in the chain of dependencies. Sums run along the rows, in ascending
//! `k`.

use super::apply::with_rows;
use super::{chunks, row_start};
use crate::packed::{LogProduct, NotPositiveDefinite};
use crate::simd::{Chunk, Kernel, LANES, Simd, flat, flat_mut};

/// Eliminates; returns the log-determinant. In case of `Err`, only the scratch has changed.
pub(crate) struct Eliminate<'a> {
    pub dim: usize,
    /// Packed lower triangle, without the ridge.
    pub gram: &'a [f64],
    pub ridge: f64,
    /// [`scratch_len`] chunks, of any content.
    pub scratch: &'a mut [Chunk],
    /// Receives `W`; without it the log-determinant is all that is computed.
    pub w: Option<&'a mut [Chunk]>,
}

/// Chunks of scratch that [`Eliminate`] needs: the pivots, and for each row its part of the upper
/// factor, of the lower inverse, and the multipliers `-U_i / U_ii` for the rows below.
pub(crate) fn scratch_len(dim: usize) -> usize {
    (1 + 3 * dim) * chunks(dim)
}

impl Kernel for Eliminate<'_> {
    type Output = Result<f64, NotPositiveDefinite>;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        let Eliminate { dim, gram, ridge, scratch, w } = self;
        let length = chunks(dim);
        let stride = 3 * length;
        let (pivots, rows) = scratch.split_at_mut(length);
        load(dim, gram, ridge, rows);
        let mut product = LogProduct::ONE;
        for i in 0..dim {
            let (done, rest) = rows.split_at_mut(i * stride);
            let row = &mut rest[..stride];
            // The upper factor's columns from `i` on and the inverse's up to `i` lie side by side.
            let mut first = i / LANES;
            let end = if w.is_some() { first + length + 1 } else { length };
            while first < end {
                let count = (end - first).min(LANES);
                with_rows!(count, C => { reduce::<S, C>(simd, i, done, row, first) });
                first += count;
            }
            let mut pivot = flat(row)[i];
            // No pivot of V + ridge I is below the ridge. One that differs from it by no more than rounding
            // can do has no data of its own, and what little is left in its row is rounding too. Rounding is
            // relative to what is rounded: a large feature says nothing about a small one beside it.
            let own = diagonal(gram, i);
            let rounding = (dim as f64 * f64::EPSILON * own).min(f64::MAX);
            let drowned = ridge > 0.0 && pivot <= rounding && pivot >= -SUMMED * own;
            if rounding <= ridge && (pivot - ridge).abs() <= rounding {
                pivot = ridge;
                let upper = flat_mut(&mut row[..length]);
                upper[i] = ridge;
                for entry in upper[i + 1..].iter_mut().filter(|entry| entry.abs() <= rounding) {
                    *entry = 0.0;
                }
            } else if drowned {
                // The ridge is lost in the rounding of large entries. |U_ij|^2 <= U_ii U_jj: the whole row is.
                pivot = ridge;
                let upper = flat_mut(&mut row[..length]);
                upper[i + 1..].fill(0.0);
                upper[i] = ridge;
            }
            if !(pivot > 0.0 && pivot.is_finite()) {
                return Err(NotPositiveDefinite { pivot: i, value: pivot });
            }
            product.times(pivot);
            flat_mut(pivots)[i] = pivot;
            let scale = simd.splat(-1.0 / pivot);
            for c in i / LANES..length {
                let multiplier = simd.mul(simd.load(&row[c]), scale);
                simd.store(multiplier, &mut row[2 * length + c]);
            }
        }
        if let Some(w) = w {
            for pivots in &mut *pivots {
                let root = simd.sqrt(simd.load(pivots));
                simd.store(simd.div(simd.splat(1.0), root), pivots);
            }
            for (i, row) in rows.chunks_exact(stride).take(dim).enumerate() {
                let scale = simd.splat(flat(pivots)[i]);
                let to = &mut w[row_start(i)..][..=i / LANES];
                for (c, to) in to.iter_mut().enumerate() {
                    simd.store(simd.mul(simd.load(&row[length + c]), scale), to);
                }
            }
        }
        Ok(product.ln())
    }
}

/// How far below zero, relative to its row's entry on the diagonal, the rounding of a long sum of
/// observations may push a pivot: some 2^22 of them, all rounded the same way.
const SUMMED: f64 = 1.0 / (1_u64 << 30) as f64;

fn diagonal(gram: &[f64], i: usize) -> f64 {
    gram[i * (i + 3) / 2]
}

/// Subtracts from `C` chunks of row `i` the multiples of all rows above.
#[inline(always)]
fn reduce<S: Simd, const C: usize>(simd: S, i: usize, above: &[Chunk], row: &mut [Chunk], first: usize) {
    let stride = row.len();
    let multiplier = stride / 3 * 2 * LANES + i;
    let row = &mut row[first..first + C];
    let mut sums = [simd.splat(0.0); C];
    for c in 0..C {
        sums[c] = simd.load(&row[c]);
    }
    for other in above.chunks_exact(stride) {
        let m = simd.splat(flat(other)[multiplier]);
        let other = &other[first..first + C];
        for c in 0..C {
            sums[c] = simd.fma(m, simd.load(&other[c]), sums[c]);
        }
    }
    for c in 0..C {
        simd.store(sums[c], &mut row[c]);
    }
}

/// The upper triangle and the identity, in rows of whole chunks. What comes to lie left of the
/// diagonal of the upper factor is never read.
#[inline(always)]
fn load(dim: usize, gram: &[f64], ridge: f64, rows: &mut [Chunk]) {
    rows.fill(Chunk::ZERO);
    let length = chunks(dim) * LANES;
    let rows = flat_mut(rows);
    let mut rest = &gram[..dim * (dim + 1) / 2];
    for j in 0..dim {
        let (row, next) = rest.split_at(j + 1);
        rest = next;
        for (i, &value) in row.iter().enumerate() {
            rows[i * 3 * length + j] = value;
        }
        rows[j * 3 * length + j] += ridge;
        rows[j * 3 * length + length + j] = 1.0;
    }
}
