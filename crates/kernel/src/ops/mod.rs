//! The operations on `W`, each written once over [`Simd`](crate::simd::Simd).
//!
//! Storage of a lower triangle: row `i` holds columns `0..=i` padded with zeros to whole chunks, so
//! eight rows in a row have equal length. [`row_start`] says where a row begins.

pub(crate) mod apply;
pub(crate) mod learn;
pub(crate) mod outer;
pub(crate) mod pack;
pub(crate) mod rebuild;
pub(crate) mod score;
pub(crate) mod select;

use crate::simd::LANES;

/// Chunks that hold `dim` numbers.
#[inline(always)]
pub(crate) fn chunks(dim: usize) -> usize {
    dim.div_ceil(LANES)
}

/// The chunk at which row `i` of a lower triangle starts; with `i = dim`, the chunks of all rows.
#[inline(always)]
pub(crate) fn row_start(i: usize) -> usize {
    let block = i / LANES;
    // Blocks before hold 8 rows of 1, 2, .. chunks: 4 b (b + 1).
    4 * block * (block + 1) + (i % LANES) * (block + 1)
}
