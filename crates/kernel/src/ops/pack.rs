//! Packing arms into lanes.

use std::array::from_fn;

use crate::simd::{Chunk, Kernel, LANES, Simd};

/// Packs up to eight rows into one tile by transposing blocks of 8 by 8.
pub(crate) struct Pack<'a> {
    pub rows: &'a [&'a [f64]],
    /// As many chunks as a row has coordinates; overwritten.
    pub tile: &'a mut [Chunk],
}

impl Kernel for Pack<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let dim = self.tile.len();
        let absent = [0.0; LANES];
        let part = |r: usize, j: usize| match self.rows.get(r) {
            Some(row) => row[j..].first_chunk::<LANES>().unwrap_or(&absent),
            None => &absent,
        };
        let (whole, rest) = self.tile.as_chunks_mut::<LANES>();
        for (block, to) in whole.iter_mut().enumerate() {
            let rows = from_fn(|r| simd.load(&Chunk(*part(r, block * LANES))));
            let columns = simd.transpose(rows);
            for j in 0..LANES {
                simd.store(columns[j], &mut to[j]);
            }
        }
        for (j, to) in (dim - rest.len()..dim).zip(rest) {
            *to = Chunk(from_fn(|r| self.rows.get(r).map_or(0.0, |row| row[j])));
        }
    }
}
