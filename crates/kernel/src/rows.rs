//! Arms row by row.

use crate::LARGEST;
use crate::ops::chunks;
use crate::simd::{Chunk, LANES, flat, flat_mut};

/// A pool of arms, from which some at a time are gathered into [`Tiles`](crate::Tiles). All its numbers
/// can be learned from, which is looked at once, and its rows start on cache lines.
///
/// ```
/// use cahoots_kernel::{Rows, Tiles};
/// let pool = Rows::new(2, &[1.0, 0.0, 0.6, 0.8, 0.0, 1.0]).unwrap();
/// let mut tiles = Tiles::default();
/// tiles.gather(&pool, 0..2, &[0, 2]);
/// let mut arm = [0.0; 2];
/// tiles.row_into(1, &mut arm);
/// assert_eq!(arm, [0.0, 1.0]);
/// assert!(Rows::new(1, &[f64::NAN]).is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Rows {
    width: usize,
    /// Rows padded with zeros to whole chunks.
    data: Vec<Chunk>,
}

impl Rows {
    /// Rows of `width` numbers each, one after the other; `None` if one cannot be learned from.
    ///
    /// # Panics
    /// If `width` is zero or the last row is not whole.
    pub fn new(width: usize, values: &[f64]) -> Option<Rows> {
        assert!(width > 0 && values.len().is_multiple_of(width), "rows of {width} numbers each");
        if !values.iter().all(|value| value.abs() <= LARGEST) {
            return None;
        }
        let mut data = vec![Chunk::ZERO; values.len() / width * chunks(width)];
        let padded = flat_mut(&mut data).chunks_exact_mut(chunks(width) * LANES);
        for (to, row) in padded.zip(values.chunks_exact(width)) {
            to[..width].copy_from_slice(row);
        }
        Some(Rows { width, data })
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// One row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, index: usize) -> &[f64] {
        &flat(&self.data[index * chunks(self.width)..])[..self.width]
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.data.chunks_exact(chunks(self.width)).map(|row| &flat(row)[..self.width])
    }

    /// All rows, with their padding.
    pub(crate) fn padded(&self) -> &[f64] {
        flat(&self.data)
    }
}
