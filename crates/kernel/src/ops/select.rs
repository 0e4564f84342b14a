//! Picking the arm of the largest upper confidence bound.

use crate::simd::{Chunk, Kernel, LANES, Simd};

/// The first index at which `mean + alpha sqrt(width2)` is largest; `None` if none exceeds minus
/// infinity, as NaN never does.
pub(crate) struct Optimistic<'a> {
    pub mean: &'a [f64],
    pub width2: &'a [f64],
    pub alpha: f64,
}

impl Kernel for Optimistic<'_> {
    type Output = Option<usize>;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Option<usize> {
        let (means, last_mean) = self.mean.as_chunks::<LANES>();
        let (widths, last_width2) = self.width2.as_chunks::<LANES>();
        let alpha = simd.splat(self.alpha);
        // The largest bound of every lane, and the first chunk in which it occurred.
        let mut most = simd.splat(f64::NEG_INFINITY);
        let mut found = simd.splat(-1.0);
        for (k, (mean, width2)) in means.iter().zip(widths).enumerate() {
            let width = simd.sqrt(simd.load_any(width2));
            let bound = simd.fma(alpha, width, simd.load_any(mean));
            found = simd.select_greater(bound, most, simd.splat(k as f64), found);
            most = simd.select_greater(bound, most, bound, most);
        }
        if !last_mean.is_empty() {
            // Absent arms are NaN.
            let absent = simd.splat(f64::NAN);
            let width = simd.sqrt(simd.load_some(last_width2, absent));
            let bound = simd.fma(alpha, width, simd.load_some(last_mean, absent));
            found = simd.select_greater(bound, most, simd.splat(means.len() as f64), found);
            most = simd.select_greater(bound, most, bound, most);
        }
        let [mut bounds, mut chunks] = [Chunk::ZERO; 2];
        simd.store(most, &mut bounds);
        simd.store(found, &mut chunks);
        let mut best = (f64::NEG_INFINITY, usize::MAX);
        for lane in 0..LANES {
            let bound = bounds.0[lane];
            let arm = (chunks.0[lane] as usize).wrapping_mul(LANES) + lane;
            if bound > best.0 || (bound == best.0 && arm < best.1) {
                best = (bound, arm);
            }
        }
        (best.0 > f64::NEG_INFINITY).then_some(best.1)
    }
}
