//! Arms in SIMD lanes.

use std::ops::Range;

use crate::ops::chunks;
use crate::ops::pack::{Gather, Pack, pad_rows, scatter};
use crate::simd::{Chunk, LANES, dispatch};
use crate::{Level, Rows};

/// The largest feature or reward that can be learned from. Products of two, summed up 2^50 times and
/// squared, are still finite numbers: nothing overflows on the way.
pub const LARGEST: f64 = (1_u128 << 100) as f64;

/// Arms in SIMD lanes: `data[tile][coordinate][8 lanes]`; absent lanes are zero.
#[derive(Clone, Debug, Default)]
pub struct Tiles {
    dim: usize,
    len: usize,
    data: Vec<Chunk>,
    /// All coordinates come from a pool, whose numbers are usable: they need not be looked at.
    usable: bool,
}

impl Tiles {
    /// No arms yet, each to have `dim` coordinates.
    pub fn new(dim: usize) -> Tiles {
        Tiles { dim, ..Tiles::default() }
    }

    /// Removes all arms and sets the dimension; keeps the capacity.
    pub fn reset(&mut self, dim: usize) {
        self.dim = dim;
        self.len = 0;
        self.data.clear();
        self.usable = false;
    }

    /// Coordinates of an arm.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Arms held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no arms.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an arm.
    ///
    /// # Panics
    /// If `row.len() != self.dim()`.
    pub fn push(&mut self, row: &[f64]) {
        assert_eq!(row.len(), self.dim, "an arm of the wrong dimension");
        let (tile, lane) = (self.len / LANES, self.len % LANES);
        if lane == 0 {
            self.data.resize(self.data.len() + self.dim, Chunk::ZERO);
        }
        for (chunk, &value) in self.data[tile * self.dim..].iter_mut().zip(row) {
            chunk.0[lane] = value;
        }
        self.len += 1;
        self.usable = false;
    }

    /// [`Tiles::reset`], then all rows at once: much faster than pushing them.
    ///
    /// # Panics
    /// If a row's length is not `dim`.
    #[inline]
    pub fn fill<'a>(&mut self, dim: usize, rows: impl Iterator<Item = &'a [f64]>) {
        self.usable = false;
        let level = Level::best();
        self.dim = dim;
        self.len = 0;
        let mut group: [&[f64]; LANES] = [&[]; LANES];
        for row in rows {
            assert_eq!(row.len(), dim, "an arm of the wrong dimension");
            group[self.len % LANES] = row;
            self.len += 1;
            if self.len.is_multiple_of(LANES) {
                let first = (self.len / LANES - 1) * dim;
                self.extend(first + dim);
                dispatch(level, Pack { rows: &group, tile: &mut self.data[first..][..dim] });
            }
        }
        let (first, rest) = (self.len / LANES * dim, self.len % LANES);
        self.data.truncate(first);
        if rest > 0 {
            self.extend(first + dim);
            let tile = &mut self.data[first..];
            match pad_rows(&group[..rest], dim) {
                Some(rows) => dispatch(level, Pack { rows: &rows, tile }),
                None => scatter(&group[..rest], tile),
            }
        }
    }

    /// [`Tiles::reset`], then some rows of a pool, in the order in which they were picked: the
    /// coordinates of an arm are the given columns. Faster than [`Tiles::fill`], and [`Tiles::is_usable`]
    /// then takes no time.
    ///
    /// # Panics
    /// If the pool has no such row or column.
    pub fn gather(&mut self, pool: &Rows, columns: Range<usize>, picked: &[u32]) {
        assert!(columns.end <= pool.width(), "no column {} in a pool", columns.end);
        self.dim = columns.len();
        self.len = picked.len();
        let length = self.len.div_ceil(LANES) * self.dim;
        self.data.truncate(length);
        self.extend(length);
        let gather = Gather {
            table: pool.padded(),
            stride: chunks(pool.width()) * LANES,
            picked,
            first: columns.start,
            dim: self.dim,
            tiles: &mut self.data,
        };
        dispatch(Level::best(), gather);
        self.usable = true;
    }

    /// At least so many chunks. Those left from before are overwritten later, not cleared first.
    fn extend(&mut self, length: usize) {
        if self.data.len() < length {
            self.data.resize(length, Chunk::ZERO);
        }
    }

    /// Whether every coordinate of every arm is a number that can be learned from: not beyond [`LARGEST`].
    pub fn is_usable(&self) -> bool {
        if self.usable {
            return true;
        }
        // Without a branch per coordinate it vectorises; NaN compares with nothing.
        let mut usable = [true; LANES];
        for chunk in &self.data {
            for (usable, x) in usable.iter_mut().zip(&chunk.0) {
                *usable &= x.abs() <= LARGEST;
            }
        }
        usable == [true; LANES]
    }

    /// Copies arm `k` out.
    ///
    /// # Panics
    /// If there is no such arm or `out.len() != self.dim()`.
    pub fn row_into(&self, k: usize, out: &mut [f64]) {
        assert_eq!(out.len(), self.dim, "an arm of the wrong dimension");
        for (to, value) in out.iter_mut().zip(self.row(k)) {
            *to = value;
        }
    }

    /// The coordinates of arm `k`.
    ///
    /// # Panics
    /// If there is no such arm.
    #[inline]
    pub fn row(&self, k: usize) -> impl ExactSizeIterator<Item = f64> {
        assert!(k < self.len, "no arm {k} among {}", self.len);
        let tile = &self.data[k / LANES * self.dim..][..self.dim];
        tile.iter().map(move |chunk| chunk.0[k % LANES])
    }

    /// All tiles, `dim` chunks each.
    pub(crate) fn data(&self) -> &[Chunk] {
        &self.data
    }
}
