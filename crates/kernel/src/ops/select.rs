//! Picking the arm of the largest upper confidence bound.

use crate::simd::{Chunk, Kernel, LANES, Simd};

/// The first index at which `mean + alpha sqrt(width2)` is largest; a NaN never is.
pub(crate) struct Optimistic<'a> {
    pub mean: &'a [f64],
    pub width2: &'a [f64],
    pub alpha: f64,
}

impl Kernel for Optimistic<'_> {
    type Output = Option<usize>;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Option<usize> {
        let mut best = Best { arm: None, bound: f64::NEG_INFINITY };
        let (means, last_mean) = self.mean.as_chunks::<LANES>();
        let (widths, last_width2) = self.width2.as_chunks::<LANES>();
        for (k, (mean, width2)) in means.iter().zip(widths).enumerate() {
            let bounds = bounds(simd, mean, width2, self.alpha);
            best.update(k * LANES, &bounds.0);
        }
        let [mut mean, mut width2] = [[0.0; LANES]; 2];
        mean[..last_mean.len()].copy_from_slice(last_mean);
        width2[..last_width2.len()].copy_from_slice(last_width2);
        let bounds = bounds(simd, &mean, &width2, self.alpha);
        best.update(means.len() * LANES, &bounds.0[..last_mean.len()]);
        best.arm
    }
}

#[inline(always)]
fn bounds<S: Simd>(simd: S, mean: &[f64; LANES], width2: &[f64; LANES], alpha: f64) -> Chunk {
    let width = simd.sqrt(simd.load_any(width2));
    let mut bounds = Chunk::ZERO;
    simd.store(simd.fma(simd.splat(alpha), width, simd.load_any(mean)), &mut bounds);
    bounds
}

/// The best arm so far.
struct Best {
    arm: Option<usize>,
    bound: f64,
}

impl Best {
    #[inline(always)]
    fn update(&mut self, first: usize, bounds: &[f64]) {
        for (k, &bound) in bounds.iter().enumerate() {
            if bound > self.bound || (self.arm.is_none() && bound == self.bound) {
                *self = Best { arm: Some(first + k), bound };
            }
        }
    }
}
