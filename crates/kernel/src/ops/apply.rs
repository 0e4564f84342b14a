//! Products with `W` and its transpose.

use super::{chunks, row_start};
use crate::simd::{Chunk, Kernel, LANES, Simd};

/// Calls `$body` with the constant `$r` equal to `$count`, which is between 1 and 8: a variable row
/// count would keep the sums in memory.
macro_rules! with_rows {
    ($count:expr, $r:ident => $body:block) => {
        match $count {
            8 => {
                const $r: usize = 8;
                $body
            }
            7 => {
                const $r: usize = 7;
                $body
            }
            6 => {
                const $r: usize = 6;
                $body
            }
            5 => {
                const $r: usize = 5;
                $body
            }
            4 => {
                const $r: usize = 4;
                $body
            }
            3 => {
                const $r: usize = 3;
                $body
            }
            2 => {
                const $r: usize = 2;
                $body
            }
            _ => {
                const $r: usize = 1;
                $body
            }
        }
    };
}
pub(crate) use with_rows;

/// The products of `R` rows, `length` chunks each, with `x`; lanes past `R` are zero.
#[inline(always)]
fn dots<S: Simd, const R: usize>(simd: S, rows: &[Chunk], length: usize, x: &[Chunk]) -> S::V {
    let mut rest = rows;
    let mut rows = [rest; R];
    for row in &mut rows {
        (*row, rest) = rest.split_at(length);
    }
    let x = &x[..length];
    let mut sums = [simd.splat(0.0); LANES];
    for c in 0..length {
        let x = simd.load(&x[c]);
        for r in 0..R {
            sums[r] = simd.fma(simd.load(&rows[r][c]), x, sums[r]);
        }
    }
    simd.sums(sums)
}

/// `out = W x`, padded.
pub(crate) struct Apply<'a> {
    pub dim: usize,
    pub w: &'a [Chunk],
    pub x: &'a [f64],
    /// `chunks(dim)`.
    pub scratch: &'a mut [Chunk],
    pub out: &'a mut [Chunk],
}

impl Apply<'_> {
    /// Eight entries of `W x`.
    #[inline(always)]
    pub(crate) fn block<S: Simd>(simd: S, dim: usize, w: &[Chunk], x: &[Chunk], block: usize) -> S::V {
        let count = (dim - block * LANES).min(LANES);
        let rows = &w[row_start(block * LANES)..];
        with_rows!(count, R => { dots::<S, R>(simd, rows, block + 1, x) })
    }
}

impl Kernel for Apply<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Apply { dim, w, x, scratch, out } = self;
        pad(simd, x, scratch);
        for block in 0..chunks(dim) {
            let y = Apply::block(simd, dim, w, scratch, block);
            simd.store(y, &mut out[block]);
        }
    }
}

/// `out = W' y`, padded; sums run over the rows in ascending order.
pub(crate) struct ApplyTransposed<'a> {
    pub dim: usize,
    pub w: &'a [Chunk],
    pub y: &'a [f64],
    pub out: &'a mut [Chunk],
}

impl Kernel for ApplyTransposed<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let y = &self.y[..self.dim];
        for (c, out) in self.out[..chunks(self.dim)].iter_mut().enumerate() {
            let mut sum = simd.splat(0.0);
            for i in c * LANES..self.dim {
                sum = simd.fma(simd.splat(y[i]), simd.load(&self.w[row_start(i) + c]), sum);
            }
            simd.store(sum, out);
        }
    }
}

/// A row of numbers padded with zeros into `out`.
#[inline(always)]
pub(crate) fn pad<S: Simd>(simd: S, row: &[f64], out: &mut [Chunk]) {
    let (whole, rest) = row.as_chunks::<LANES>();
    let (to, tail) = out[..chunks(row.len())].split_at_mut(whole.len());
    for c in 0..whole.len() {
        simd.store(simd.load_any(&whole[c]), &mut to[c]);
    }
    if let Some(tail) = tail.first_mut() {
        simd.store(simd.load_some(rest, simd.splat(0.0)), tail);
    }
}
