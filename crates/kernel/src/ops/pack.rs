//! Packing arms into lanes.

use crate::simd::{Chunk, Kernel, LANES, Simd};

/// Up to so many rows or columns are copied faster one number at a time than by transposing a block.
const FEW: usize = 2;

/// Stands for arms that a last tile lacks.
static ZEROS: [f64; 256] = [0.0; 256];

/// Packs eight rows into one tile by transposing blocks of 8 by 8.
pub(crate) struct Pack<'a> {
    /// Each as long as the tile.
    pub rows: &'a [&'a [f64]; LANES],
    /// A chunk for every coordinate; overwritten.
    pub tile: &'a mut [Chunk],
}

/// Packs some rows of a table into as many tiles as they need; absent lanes become zero.
pub(crate) struct Gather<'a> {
    /// Rows of the table, one every `stride` numbers.
    pub table: &'a [f64],
    pub stride: usize,
    pub picked: &'a [u32],
    /// The columns that are packed: `dim` from `first` on.
    pub first: usize,
    pub dim: usize,
    /// `dim` chunks for every eight rows; overwritten.
    pub tiles: &'a mut [Chunk],
}

impl Kernel for Pack<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        transpose(simd, self.rows, self.tile);
    }
}

impl Kernel for Gather<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Gather { table, stride, picked, first, dim, mut tiles } = self;
        let (groups, last) = picked.as_chunks::<LANES>();
        let mut rows = [&[][..]; LANES];
        for group in groups {
            for r in 0..LANES {
                rows[r] = &table[group[r] as usize * stride + first..][..dim];
            }
            let (tile, rest) = tiles.split_at_mut(dim);
            transpose(simd, &rows, tile);
            tiles = rest;
        }
        for r in 0..last.len() {
            rows[r] = &table[last[r] as usize * stride + first..][..dim];
        }
        if !last.is_empty() {
            match pad_rows(&rows[..last.len()], dim) {
                Some(rows) => transpose(simd, &rows, tiles),
                None => scatter(&rows[..last.len()], tiles),
            }
        }
    }
}

/// Eight rows of which the last are zero; `None` if these had better be scattered.
#[inline(always)]
pub(crate) fn pad_rows<'a>(present: &[&'a [f64]], dim: usize) -> Option<[&'a [f64]; LANES]> {
    let mut rows = [ZEROS.get(..dim)?; LANES];
    rows[..present.len()].copy_from_slice(present);
    (present.len() > FEW).then_some(rows)
}

/// Packs rows into a tile number by number; absent lanes become zero.
#[inline(never)]
pub(crate) fn scatter(rows: &[&[f64]], tile: &mut [Chunk]) {
    tile.fill(Chunk::ZERO);
    for (lane, row) in rows.iter().enumerate() {
        for (to, &value) in tile.iter_mut().zip(*row) {
            to.0[lane] = value;
        }
    }
}

#[inline(always)]
fn transpose<S: Simd>(simd: S, rows: &[&[f64]; LANES], tile: &mut [Chunk]) {
    let dim = tile.len();
    let mut rows = *rows;
    for row in &mut rows {
        *row = &row[..dim];
    }
    let mut j = 0;
    while j + LANES <= dim {
        block(simd, &rows, j, tile);
        j += LANES;
    }
    if j + FEW < dim && dim >= LANES {
        // The last block again covers some columns of the one before.
        block(simd, &rows, dim - LANES, tile);
    } else {
        for (j, to) in tile.iter_mut().enumerate().skip(j) {
            for r in 0..LANES {
                to.0[r] = rows[r][j];
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
