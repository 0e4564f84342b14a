//! Adding up observations: `V += x x'` on a packed triangle.

use crate::simd::{Kernel, Simd};

/// Adds `x x'` to a packed lower triangle, row by row.
pub(crate) struct AddOuter<'a> {
    /// `dim (dim + 1) / 2` numbers.
    pub packed: &'a mut [f64],
    pub x: &'a [f64],
}

impl Kernel for AddOuter<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let AddOuter { packed, x } = self;
        let mut rest = packed;
        for i in 0..x.len() {
            let (row, below) = rest.split_at_mut(i + 1);
            rest = below;
            simd.add_scaled(row, x[i], &x[..=i]);
        }
    }
}
