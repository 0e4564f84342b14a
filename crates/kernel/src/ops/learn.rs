//! Learning: the rank-one update of `W` and `z` for an arm `x` with reward `r`.
//!
//! With `y = W x`, `s_j = sum_(i<=j) y_i^2`, `t_j = 1 + s_j`, `t_(-1) = 1`, `w_j = 1 / sqrt(t_j t_(j-1))`,
//! `U_j = sum_(i<j) y_i W_i` and `u_j = sum_(i<j) y_i z_i` (old `W`, old `z`):
//!
//! ```text
//! W_j <- t_(j-1) w_j W_j - y_j w_j U_j
//! z_j <- t_(j-1) w_j z_j + y_j w_j (r - u_j)
//! log det += ln(1 + |y|^2)
//! ```
//!
//! Eight rows at a time; the update runs along the rows, so only `y` and the prefix sums cross lanes.

use super::apply::{dots, with_rows};
use super::{chunks, row_start};
use crate::simd::{Chunk, Kernel, LANES, Simd};

/// Updates `w` and `z`; returns `|y|^2`.
pub(crate) struct Learn<'a> {
    pub dim: usize,
    pub w: &'a mut [Chunk],
    pub z: &'a mut [Chunk],
    /// The arm, padded with zeros.
    pub x: &'a [Chunk],
    pub reward: f64,
    /// `chunks(dim)` zeros: becomes `U`.
    pub u: &'a mut [Chunk],
}

impl Kernel for Learn<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f64 {
        let Learn { dim, w, z, x, reward, u } = self;
        let zero = simd.splat(0.0);
        let mut carry = Carry { s: zero, u: zero };
        for block in 0..chunks(dim) {
            let count = (dim - block * LANES).min(LANES);
            let rows = &mut w[row_start(block * LANES)..][..count * (block + 1)];
            with_rows!(count, R => {
                eight::<S, R>(simd, block, rows, &mut z[block], x, reward, u, &mut carry)
            });
        }
        let mut s = Chunk::ZERO;
        simd.store(carry.s, &mut s);
        s.0[0]
    }
}

/// The prefix sums so far, in every lane.
struct Carry<V> {
    s: V,
    u: V,
}

/// The `R` rows of one block of eight.
#[inline(always)]
fn eight<S: Simd, const R: usize>(
    simd: S,
    block: usize,
    w: &mut [Chunk],
    z: &mut Chunk,
    x: &[Chunk],
    reward: f64,
    u: &mut [Chunk],
    carry: &mut Carry<S::V>,
) {
    let length = block + 1;
    let y = dots::<S, R>(simd, w, length, x);
    let one = simd.splat(1.0);
    let s = simd.add(carry.s, simd.scan(simd.mul(y, y)));
    let before = simd.add(one, simd.shift(s, carry.s));
    let after = simd.add(one, s);
    carry.s = simd.last(s);
    let weight = simd.div(one, simd.sqrt(simd.mul(before, after)));
    let (keep, mix) = (simd.mul(before, weight), simd.mul(y, weight));

    let old = simd.load(z);
    let sum = simd.add(carry.u, simd.scan(simd.mul(y, old)));
    let residual = simd.sub(simd.splat(reward), simd.shift(sum, carry.u));
    carry.u = simd.last(sum);
    simd.store(simd.fma(mix, residual, simd.mul(keep, old)), z);

    let [mut ys, mut keeps, mut mixes] = [Chunk::ZERO; 3];
    simd.store(y, &mut ys);
    simd.store(keep, &mut keeps);
    simd.store(simd.sub(simd.splat(0.0), mix), &mut mixes);
    let rows = &mut w[..R * length];
    for (c, u) in u[..length].iter_mut().enumerate() {
        let mut sum = simd.load(u);
        for r in 0..R {
            let entry = &mut rows[r * length + c];
            let old = simd.load(entry);
            let kept = simd.mul(simd.splat(keeps.0[r]), old);
            simd.store(simd.fma(simd.splat(mixes.0[r]), sum, kept), entry);
            sum = simd.fma(simd.splat(ys.0[r]), old, sum);
        }
        simd.store(sum, u);
    }
}
