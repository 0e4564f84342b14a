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
        let alpha = simd.splat(self.alpha);
        let bounds = |mean: &[f64; LANES], width2: &[f64; LANES]| {
            let width = simd.sqrt(simd.load(&Chunk(*width2)));
            let mut bound = Chunk::ZERO;
            simd.store(simd.fma(alpha, width, simd.load(&Chunk(*mean))), &mut bound);
            bound.0
        };
        let mut best = None;
        let mut most = f64::NEG_INFINITY;
        let mut keep = |first: usize, bounds: &[f64]| {
            for (k, &bound) in bounds.iter().enumerate() {
                if bound > most || (best.is_none() && bound == most) {
                    (best, most) = (Some(first + k), bound);
                }
            }
        };
        let (means, last_mean) = self.mean.as_chunks::<LANES>();
        let (widths, last_width2) = self.width2.as_chunks::<LANES>();
        for (k, (mean, width2)) in means.iter().zip(widths).enumerate() {
            keep(k * LANES, &bounds(mean, width2));
        }
        let [mut mean, mut width2] = [[0.0; LANES]; 2];
        mean[..last_mean.len()].copy_from_slice(last_mean);
        width2[..last_width2.len()].copy_from_slice(last_width2);
        let tail = bounds(&mean, &width2);
        keep(means.len() * LANES, &tail[..last_mean.len()]);
        best
    }
}
