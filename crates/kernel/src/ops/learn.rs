//! Learning: the rank-one update of `W` and `z` for an arm `x` with reward `r`.
//!
//! With `y = W x`, `s_j = sum_(i<=j) y_i^2`, `t_j = 1 + s_j`, `t_(-1) = 1`,
//! `w_j = 1 / sqrt(t_j t_(j-1))`, `U_j = sum_(i<j) y_i W_i` and `u_j = sum_(i<j) y_i z_i` (old `W`,
//! old `z`):
//!
//! ```text
//! W_j <- t_(j-1) w_j W_j - y_j w_j U_j
//! z_j <- t_(j-1) w_j z_j + y_j w_j (r - u_j)
//! log det += ln(1 + |y|^2)
//! ```
//!
//! The update runs along the rows, so only `y` and the prefix sums cross lanes. First all of `y`, then
//! all coefficients, then all rows: each stage then has many independent chains in flight.

use std::cell::Cell;

use super::apply::{Apply, pad, with_rows};
use super::chunks;
use crate::simd::{Chunk, Kernel, LANES, Simd};

/// Updates `w` and `z`; returns `|y|^2`.
pub(crate) struct Learn<'a> {
    pub dim: usize,
    pub w: &'a mut [Chunk],
    pub z: &'a mut [Chunk],
    pub x: &'a [f64],
    pub reward: f64,
    /// [`SCRATCH`] times `chunks(dim)`, of any content.
    pub scratch: &'a mut [Chunk],
}

/// Chunks of scratch that learning needs for every eight coordinates.
pub(crate) const SCRATCH: usize = 5;

/// The coefficients of eight rows: `y_j`, `t_(j-1) w_j` and `-y_j w_j`.
type Coefficients = [Chunk; 3];

impl Kernel for Learn<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f64 {
        let Learn { dim, w, z, x, reward, scratch } = self;
        let length = chunks(dim);
        let (padded, scratch) = scratch.split_at_mut(length);
        let (u, scratch) = scratch.split_at_mut(length);
        let (rows, _) = scratch.as_chunks_mut::<3>();
        let rows = &mut rows[..length];
        pad(simd, x, padded);
        u.fill(Chunk::ZERO);
        for block in 0..length {
            let y = Apply::block(simd, dim, w, padded, block);
            simd.store(y, &mut rows[block][0]);
        }
        let (mut s, mut explained) = (simd.splat(0.0), simd.splat(0.0));
        for (row, z) in rows.iter_mut().zip(z) {
            (s, explained) = coefficients(simd, row, z, reward, s, explained);
        }
        let mut rest = w;
        for block in 0..length {
            let count = (dim - block * LANES).min(LANES);
            let (w, next) = rest.split_at_mut(count * (block + 1));
            rest = next;
            with_rows!(count, R => { rotate::<S, R>(simd, w, &rows[block], &mut u[..=block]) });
        }
        let mut width2 = Chunk::ZERO;
        simd.store(s, &mut width2);
        width2.0[0]
    }
}

/// Completes the coefficients, given `y`, and updates their part of `z`; takes and returns the sums
/// over all rows before, `s` and `u`.
#[inline(always)]
fn coefficients<S: Simd>(
    simd: S,
    [y, keep, mix]: &mut Coefficients,
    z: &mut Chunk,
    reward: f64,
    s_before: S::V,
    u_before: S::V,
) -> (S::V, S::V) {
    let one = simd.splat(1.0);
    let (y, old) = (simd.load(y), simd.load(z));
    let s = simd.add(s_before, simd.scan(simd.mul(y, y)));
    let before = simd.add(one, simd.shift(s, s_before));
    let after = simd.add(one, s);
    // Divided, not multiplied by the inverse: a row with y = 0 must not change at all, or directions
    // that are never seen drift by a rounding each step. (The root of a rounded square is exact.)
    let root = simd.sqrt(simd.mul(before, after));
    let (kept, mixed) = (simd.div(before, root), simd.div(y, root));
    simd.store(kept, keep);
    simd.store(simd.sub(simd.splat(0.0), mixed), mix);

    let u = simd.add(u_before, simd.scan(simd.mul(y, old)));
    let residual = simd.sub(simd.splat(reward), simd.shift(u, u_before));
    simd.store(simd.fma(mixed, residual, simd.mul(kept, old)), z);
    (simd.last(s), simd.last(u))
}

/// Updates `R` rows, as long as `u`, which is `U` before and after them.
#[inline(always)]
fn rotate<S: Simd, const R: usize>(
    simd: S,
    rows: &mut [Chunk],
    [y, keep, mix]: &Coefficients,
    u: &mut [Chunk],
) {
    let length = u.len();
    // Cells, since an array of R mutable slices cannot be made without closures, which are not
    // always inlined into the level's entry point.
    let mut rest = Cell::from_mut(rows).as_slice_of_cells();
    let mut rows = [rest; R];
    for row in &mut rows {
        (*row, rest) = rest.split_at(length);
    }
    for c in 0..length {
        let mut sum = simd.load(&u[c]);
        for r in 0..R {
            let old = simd.load(&rows[r][c].get());
            let kept = simd.mul(simd.splat(keep.0[r]), old);
            let mut new = Chunk::ZERO;
            simd.store(simd.fma(simd.splat(mix.0[r]), sum, kept), &mut new);
            rows[r][c].set(new);
            sum = simd.fma(simd.splat(y.0[r]), old, sum);
        }
        simd.store(sum, &mut u[c]);
    }
}
