//! Packing arms into lanes.

use crate::simd::{Chunk, Kernel, LANES, Simd};

/// Packs eight rows into one tile by transposing blocks of 8 by 8.
pub(crate) struct Pack<'a> {
    /// Each as long as the tile.
    pub rows: &'a [&'a [f64]; LANES],
    /// A chunk for every coordinate; overwritten.
    pub tile: &'a mut [Chunk],
}

impl Kernel for Pack<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let dim = self.tile.len();
        let mut rows = *self.rows;
        for row in &mut rows {
            *row = &row[..dim];
        }
        let mut j = 0;
        while j + LANES <= dim {
            block(simd, &rows, j, self.tile);
            j += LANES;
        }
        if j < dim && dim >= LANES {
            // The last block again covers some columns of the one before.
            block(simd, &rows, dim - LANES, self.tile);
        } else {
            for (j, to) in self.tile.iter_mut().enumerate().skip(j) {
                for r in 0..LANES {
                    to.0[r] = rows[r][j];
                }
            }
        }
    }
}

/// Coordinates `j..j + 8`.
#[inline(always)]
fn block<S: Simd>(simd: S, rows: &[&[f64]; LANES], j: usize, tile: &mut [Chunk]) {
    let mut lanes = [simd.splat(0.0); LANES];
    for r in 0..LANES {
        let part: &[f64; LANES] = rows[r][j..j + LANES].try_into().expect("eight numbers");
        lanes[r] = simd.load_any(part);
    }
    let columns = simd.transpose(lanes);
    let to = &mut tile[j..j + LANES];
    for c in 0..LANES {
        simd.store(columns[c], &mut to[c]);
    }
}
