//! Eight numbers that start on a cache line, so that no load of a whole chunk straddles two.
#![allow(unsafe_code)]

/// Lanes of a chunk.
pub(crate) const LANES: usize = 8;

/// Eight lanes in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Chunk(pub [f64; LANES]);

// `flat` relies on chunks lying end to end.
const _: () = assert!(size_of::<Chunk>() == LANES * size_of::<f64>());

impl Chunk {
    /// All lanes zero.
    pub(crate) const ZERO: Chunk = Chunk([0.0; LANES]);
}

/// Chunks as one run of numbers.
#[inline(always)]
pub(crate) fn flat(chunks: &[Chunk]) -> &[f64] {
    // SAFETY: a `Chunk` is `LANES` numbers without padding (asserted above), its alignment exceeds
    // theirs, and the result borrows the same memory for the same time.
    unsafe { std::slice::from_raw_parts(chunks.as_ptr().cast(), chunks.len() * LANES) }
}

/// Chunks as one mutable run of numbers.
#[inline(always)]
pub(crate) fn flat_mut(chunks: &mut [Chunk]) -> &mut [f64] {
    // SAFETY: as in `flat`; the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(chunks.as_mut_ptr().cast(), chunks.len() * LANES) }
}
