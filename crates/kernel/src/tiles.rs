//! Arms in SIMD lanes.

use crate::Level;
use crate::ops::pack::Pack;
use crate::simd::{Chunk, LANES, dispatch};

/// The largest feature or reward that can be learned from. Products of two, summed up 2^50 times and
/// squared, are still finite numbers: nothing overflows on the way.
pub const LARGEST: f64 = (1_u128 << 100) as f64;

/// Stands for arms that a last tile lacks.
static ZEROS: [f64; 256] = [0.0; 256];

/// Arms in SIMD lanes: `data[tile][coordinate][8 lanes]`; absent lanes are zero.
#[derive(Clone, Debug, Default)]
pub struct Tiles {
    dim: usize,
    len: usize,
    data: Vec<Chunk>,
    /// All coordinates are known to be usable, and need not be looked at.
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
                // Chunks left from an earlier fill are overwritten, not cleared first.
                if self.data.len() < first + dim {
                    self.data.resize(first + dim, Chunk::ZERO);
                }
                let tile = &mut self.data[first..][..dim];
                dispatch(level, Pack { rows: &group, tile });
            }
        }
        let rest = self.len % LANES;
        self.len -= rest;
        let first = self.len / LANES * dim;
        self.data.truncate(first);
        if rest > 0 && dim <= ZEROS.len() {
            self.data.resize(first + dim, Chunk::ZERO);
            group[rest..].fill(&ZEROS[..dim]);
            dispatch(level, Pack { rows: &group, tile: &mut self.data[first..] });
            self.len += rest;
        } else {
            for row in &group[..rest] {
                self.push(row);
            }
        }
    }

    /// [`Tiles::fill`] with rows that were seen to be usable, such as those of a pool that was checked
    /// once; [`Tiles::is_usable`] then takes no time.
    ///
    /// # Panics
    /// As [`Tiles::fill`]; in a build with debug assertions also if a coordinate is not usable.
    #[inline]
    pub fn fill_usable<'a>(&mut self, dim: usize, rows: impl Iterator<Item = &'a [f64]>) {
        self.fill(dim, rows);
        debug_assert!(self.is_usable(), "rows that are said to be usable and are not");
        self.usable = true;
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
        assert!(k < self.len, "no arm {k} among {}", self.len);
        assert_eq!(out.len(), self.dim, "an arm of the wrong dimension");
        let tile = &self.data[k / LANES * self.dim..];
        for (value, chunk) in out.iter_mut().zip(tile) {
            *value = chunk.0[k % LANES];
        }
    }

    /// All tiles, `dim` chunks each.
    pub(crate) fn data(&self) -> &[Chunk] {
        &self.data
    }
}
