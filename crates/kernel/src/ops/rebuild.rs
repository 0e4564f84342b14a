//! Factoring from the Gram matrix: elimination on `[V + ridge I | I]`, row by row.
//!
//! Row `i` of the upper factor is `U_i = A_i - sum_(k<i) M_k[i] U_k` with `M_k = U_k / U_kk`; the same
//! combinations of the identity's rows give the unit lower `L^-1`, which is divided by `sqrt(U_ii)` at
//! the end. This is Cholesky without square roots in the chain of dependencies. Sums run along
//! the rows, in ascending `k`.

use super::{chunks, row_start};
use crate::packed::{LogProduct, NotPositiveDefinite};
use crate::simd::{Chunk, Kernel, LANES, Simd, flat, flat_mut};

/// Eliminates; returns the log-determinant. Of an `Err`, only the scratch has changed.
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

/// Chunks of scratch that [`Eliminate`] needs.
pub(crate) fn scratch_len(dim: usize) -> usize {
    2 * dim * chunks(dim)
}

impl Kernel for Eliminate<'_> {
    type Output = Result<f64, NotPositiveDefinite>;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        let Eliminate { dim, gram, ridge, scratch, mut w } = self;
        let length = chunks(dim);
        let (upper, multipliers) = scratch[..2 * dim * length].split_at_mut(dim * length);
        load_upper(dim, gram, ridge, upper);
        let mut product = LogProduct::ONE;
        for i in 0..dim {
            let diagonal = i / LANES;
            let (done, rest) = upper.split_at_mut(i * length);
            let row = &mut rest[..length];
            for c in diagonal..length {
                let mut sum = simd.load(&row[c]);
                for k in 0..i {
                    let m = simd.splat(-flat(multipliers)[k * length * LANES + i]);
                    sum = simd.fma(m, simd.load(&done[k * length + c]), sum);
                }
                simd.store(sum, &mut row[c]);
            }
            let pivot = flat(row)[i];
            if !(pivot > 0.0 && pivot.is_finite()) {
                return Err(NotPositiveDefinite { pivot: i, value: pivot });
            }
            product.times(pivot);
            let inverse = simd.splat(1.0 / pivot);
            for c in diagonal..length {
                let scaled = simd.mul(simd.load(&row[c]), inverse);
                simd.store(scaled, &mut multipliers[i * length + c]);
            }
            if let Some(w) = w.as_deref_mut() {
                for c in 0..=diagonal {
                    let mut unit = Chunk::ZERO;
                    if c == diagonal {
                        unit.0[i % LANES] = 1.0;
                    }
                    let mut sum = simd.load(&unit);
                    for k in c * LANES..i {
                        let m = simd.splat(-flat(multipliers)[k * length * LANES + i]);
                        sum = simd.fma(m, simd.load(&w[row_start(k) + c]), sum);
                    }
                    simd.store(sum, &mut w[row_start(i) + c]);
                }
            }
        }
        if let Some(w) = w {
            for i in 0..dim {
                let pivot = flat(upper)[i * length * LANES + i];
                let scale = simd.div(simd.splat(1.0), simd.sqrt(simd.splat(pivot)));
                for chunk in &mut w[row_start(i)..][..=i / LANES] {
                    simd.store(simd.mul(simd.load(chunk), scale), chunk);
                }
            }
        }
        Ok(product.ln())
    }
}

/// The upper triangle, in rows of whole chunks; what lies left of the diagonal is never read.
#[inline(always)]
fn load_upper(dim: usize, gram: &[f64], ridge: f64, upper: &mut [Chunk]) {
    upper.fill(Chunk::ZERO);
    let stride = chunks(dim) * LANES;
    let upper = flat_mut(upper);
    let mut rest = &gram[..dim * (dim + 1) / 2];
    for j in 0..dim {
        let (row, next) = rest.split_at(j + 1);
        rest = next;
        for (i, &value) in row.iter().enumerate() {
            upper[i * stride + j] = value;
        }
        upper[j * stride + j] += ridge;
    }
}
