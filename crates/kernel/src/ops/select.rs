//! Picking the best arm: what [`Best`] picks, found without looking at one arm after the other.
//!
//! With `t(v) = v + tolerance max(1, |v|)`, a value replaces the running maximum `v` if it exceeds
//! `t(v)`. Let `m` be the exact maximum and `k` the first arm near it, that is, with a value of at least
//! `m - 2 tolerance max(1, |m|)`. All before `k` have `t(v) < m`; so if the value of `k` is `m` itself, it
//! replaces whatever came before, and nothing can replace it. Otherwise several arms are close, their
//! order counts, and they are compared one by one.

use crate::best::{Best, TOLERANCE};
use crate::simd::{Chunk, Kernel, LANES, Simd, flat};

/// The index that [`Best`] finds in `mean + radius sqrt(width2)`, rounded twice.
pub(crate) struct Highest<'a> {
    pub mean: &'a [f64],
    /// Squared widths, as many, and their factor; without them, means alone count.
    pub widths: Option<(&'a [f64], f64)>,
    /// As many; arms that are not on offer never win.
    pub offered: Option<&'a [bool]>,
    /// A chunk for every eight arms, of any content.
    pub scratch: &'a mut [Chunk],
}

impl Kernel for Highest<'_> {
    type Output = usize;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> usize {
        let Highest { mean, widths, offered, scratch } = self;
        let most = values(simd, mean, widths, offered, scratch);
        let near = most - 2.0 * TOLERANCE * most.abs().max(1.0);
        if most.is_finite() {
            let near = simd.splat(near);
            for (c, chunk) in scratch.iter().enumerate() {
                let mask = simd.at_least(simd.load(chunk), near);
                if mask != 0 {
                    let lane = mask.trailing_zeros() as usize;
                    if chunk.0[lane] == most {
                        return c * LANES + lane;
                    }
                    break;
                }
            }
        }
        one_by_one(&flat(scratch)[..mean.len()], offered)
    }
}

/// Writes the value of every arm, NaN where there is none or it is not on offer; returns the largest.
#[inline(always)]
fn values<S: Simd>(
    simd: S,
    mean: &[f64],
    widths: Option<(&[f64], f64)>,
    offered: Option<&[bool]>,
    to: &mut [Chunk],
) -> f64 {
    let (means, last) = mean.as_chunks::<LANES>();
    let (width2, radius) = widths.unwrap_or((&[], 0.0));
    let (width2, last_width2) = width2.as_chunks::<LANES>();
    let (absent, radius) = (simd.splat(f64::NAN), simd.splat(radius));
    let mut most = simd.splat(f64::NEG_INFINITY);
    for (c, to) in to.iter_mut().enumerate() {
        let whole = c < means.len();
        let mut value = if whole { simd.load_any(&means[c]) } else { simd.load_some(last, absent) };
        if widths.is_some() {
            let square = if whole { simd.load_any(&width2[c]) } else { simd.load_some(last_width2, absent) };
            value = simd.add(value, simd.mul(radius, simd.sqrt(square)));
        }
        simd.store(value, to);
        if let Some(offered) = offered {
            for (value, offered) in to.0.iter_mut().zip(&offered[c * LANES..]) {
                if !offered {
                    *value = f64::NAN;
                }
            }
            value = simd.load(to);
        }
        most = simd.select_greater(value, most, value, most);
    }
    let mut lanes = Chunk::ZERO;
    simd.store(most, &mut lanes);
    let [a, b, c, d, e, f, g, h] = lanes.0;
    larger(larger(larger(a, b), larger(c, d)), larger(larger(e, f), larger(g, h)))
}

/// Of two numbers that are not NaN.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[cold]
#[inline(never)]
fn one_by_one(values: &[f64], offered: Option<&[bool]>) -> usize {
    let first = offered.and_then(|offered| offered.iter().position(|offered| *offered));
    let mut best = Best::or(first.unwrap_or(0));
    for (arm, &value) in values.iter().enumerate() {
        best.offer(arm, value);
    }
    best.arm()
}
