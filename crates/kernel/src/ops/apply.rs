//! Products with `W` and its transpose.

use std::array::from_fn;

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
pub(crate) fn dots<S: Simd, const R: usize>(simd: S, rows: &[Chunk], length: usize, x: &[Chunk]) -> S::V {
    let rows = &rows[..R * length];
    let mut sums = [simd.splat(0.0); LANES];
    for (c, x) in x[..length].iter().enumerate() {
        let x = simd.load(x);
        for r in 0..R {
            sums[r] = simd.fma(simd.load(&rows[r * length + c]), x, sums[r]);
        }
    }
    simd.sums(sums)
}

/// `out = W x`, padded.
pub(crate) struct Apply<'a> {
    pub dim: usize,
    pub w: &'a [Chunk],
    pub x: &'a [Chunk],
    pub out: &'a mut [Chunk],
}

impl Kernel for Apply<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for block in 0..chunks(self.dim) {
            let count = (self.dim - block * LANES).min(LANES);
            let rows = &self.w[row_start(block * LANES)..];
            let y = with_rows!(count, R => { dots::<S, R>(simd, rows, block + 1, self.x) });
            simd.store(y, &mut self.out[block]);
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
pub(crate) fn pad(row: &[f64], out: &mut [Chunk]) {
    let (whole, rest) = row.as_chunks::<LANES>();
    for (to, from) in out.iter_mut().zip(whole) {
        to.0 = *from;
    }
    if !rest.is_empty() {
        let mut last = [0.0; LANES];
        last[..rest.len()].copy_from_slice(rest);
        out[whole.len()] = Chunk(last);
    }
}

/// A padded copy of a row.
pub(crate) fn padded(row: &[f64]) -> Vec<Chunk> {
    row.chunks(LANES).map(|part| Chunk(from_fn(|k| part.get(k).copied().unwrap_or(0.0)))).collect()
}
