//! Scoring: `y = W x` for every arm, then `y . direction` and `|y|^2`.
//!
//! Arms lie in lanes and entries of `W` are broadcast, so each arm's sums run over the coordinates in
//! ascending order, whatever its place and however many tiles and rows are taken at once.

use super::chunks;
use crate::simd::{Chunk, Kernel, LANES, Lanes, Registers, Simd, flat};

/// Scores all tiles.
pub(crate) struct Score<'a> {
    pub dim: usize,
    /// Rows of `W`.
    pub w: &'a [Chunk],
    pub direction: &'a [f64],
    /// `dim` chunks for every eight arms.
    pub tiles: &'a [Chunk],
    /// As long as there are arms.
    pub mean: &'a mut [f64],
    pub width2: &'a mut [f64],
}

/// Scores one arm, with the bits that [`Score`] would give it.
pub(crate) struct ScoreOne<'a> {
    pub w: &'a [Chunk],
    pub direction: &'a [f64],
    pub x: &'a [f64],
}

impl Kernel for ScoreOne<'_> {
    type Output = (f64, f64);
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> (f64, f64) {
        let lanes = (simd.one(), simd.half());
        let mut sums = Sums::<S::One, S::Half, 1, 0>::zero(lanes);
        sums.pass::<8>(lanes, flat(self.w), self.direction, [self.x], []);
        let (mut mean, mut width2) = (0.0, 0.0);
        lanes.0.store(sums.full[0].0, &mut mean);
        lanes.0.store(sums.full[0].1, &mut width2);
        (mean, width2)
    }
}

impl Kernel for Score<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let arms = self.mean.len();
        let tiles = arms.div_ceil(LANES);
        assert!(self.width2.len() == arms && self.tiles.len() == tiles * self.dim);
        assert!(self.direction.len() == self.dim);
        // A last tile at most half full is scored on its first four lanes.
        let half = (1..=LANES / 2).contains(&(arms % LANES));
        let full = tiles - usize::from(half);
        let mut tile = 0;
        // As many sums at a time as the registers hold: `T` tiles (and `H` halves) times `R` rows.
        match S::REGISTERS {
            Registers::Many => {
                while tile + 4 <= full {
                    self.pass::<S, 4, 0, 4>(simd, tile);
                    tile += 4;
                }
                match (full - tile, half) {
                    (3, true) => self.pass::<S, 3, 1, 4>(simd, tile),
                    (3, false) => self.pass::<S, 3, 0, 4>(simd, tile),
                    (2, true) => self.pass::<S, 2, 1, 4>(simd, tile),
                    (2, false) => self.pass::<S, 2, 0, 4>(simd, tile),
                    (1, true) => self.pass::<S, 1, 1, 3>(simd, tile),
                    (1, false) => self.pass::<S, 1, 0, 8>(simd, tile),
                    (_, true) => self.pass::<S, 0, 1, 8>(simd, tile),
                    (_, false) => {}
                }
            }
            Registers::Some => {
                while tile + usize::from(half) < full {
                    self.pass::<S, 1, 0, 4>(simd, tile);
                    tile += 1;
                }
                match (full - tile, half) {
                    (1, true) => self.pass::<S, 1, 1, 3>(simd, tile),
                    (_, true) => self.pass::<S, 0, 1, 8>(simd, tile),
                    (_, false) => {}
                }
            }
            Registers::Few => {
                while tile < full {
                    self.pass::<S, 1, 0, 2>(simd, tile);
                    tile += 1;
                }
                if half {
                    self.pass::<S, 0, 1, 4>(simd, tile);
                }
            }
        }
    }
}

impl<'a> Score<'a> {
    /// Scores `T` tiles from `first` on and `H` half tiles after them, `R` rows at a time.
    #[inline(always)]
    fn pass<S: Simd, const T: usize, const H: usize, const R: usize>(&mut self, simd: S, first: usize) {
        let lanes = (simd, simd.half());
        let mut full = [self.tile(first); T];
        for t in 0..T {
            full[t] = self.tile(first + t);
        }
        let mut half = [self.tile(first); H];
        for t in 0..H {
            half[t] = self.tile(first + T + t);
        }
        let mut sums = Sums::<S, S::Half, T, H>::zero(lanes);
        sums.pass::<R>(lanes, flat(self.w), self.direction, full, half);
        for t in 0..T {
            put(simd, sums.full[t], self.mean, self.width2, (first + t) * LANES);
        }
        for t in 0..H {
            put(lanes.1, sums.half[t], self.mean, self.width2, (first + T + t) * LANES);
        }
    }

    #[inline(always)]
    fn tile(&self, t: usize) -> &'a [Chunk] {
        &self.tiles[t * self.dim..][..self.dim]
    }
}

/// Stores as many lanes as there are arms from `first` on.
#[inline(always)]
fn put<L: Lanes<Chunk = Chunk>>(
    lanes: L,
    sums: (L::V, L::V),
    mean: &mut [f64],
    width2: &mut [f64],
    first: usize,
) {
    for (sum, to) in [(sums.0, mean), (sums.1, width2)] {
        let mut chunk = Chunk::ZERO;
        lanes.store(sum, &mut chunk);
        let to = &mut to[first..];
        match to.first_chunk_mut::<LANES>() {
            Some(to) => *to = chunk.0,
            None => to.copy_from_slice(&chunk.0[..to.len()]),
        }
    }
}

/// Means and squared widths of `T` vectors of arms, and of `H` narrower ones.
struct Sums<L: Lanes, N: Lanes, const T: usize, const H: usize> {
    full: [(L::V, L::V); T],
    half: [(N::V, N::V); H],
}

impl<L: Lanes, N: Lanes, const T: usize, const H: usize> Sums<L, N, T, H> {
    #[inline(always)]
    fn zero(lanes: (L, N)) -> Self {
        let (full, half) = (lanes.0.splat(0.0), lanes.1.splat(0.0));
        Sums { full: [(full, full); T], half: [(half, half); H] }
    }

    /// One pass over `W`, `R` rows at a time.
    #[inline(always)]
    fn pass<const R: usize>(
        &mut self,
        lanes: (L, N),
        w: &[f64],
        direction: &[f64],
        full: [&[L::Chunk]; T],
        half: [&[N::Chunk]; H],
    ) {
        let (mut w, dim) = (w, direction.len());
        // What is left over comes first, where rows are short.
        match dim % R {
            0 => {}
            1 => self.rows::<1>(lanes, &mut w, 0, direction, &full, &half),
            2 => self.rows::<2>(lanes, &mut w, 0, direction, &full, &half),
            3 => self.rows::<3>(lanes, &mut w, 0, direction, &full, &half),
            4 => self.rows::<4>(lanes, &mut w, 0, direction, &full, &half),
            5 => self.rows::<5>(lanes, &mut w, 0, direction, &full, &half),
            6 => self.rows::<6>(lanes, &mut w, 0, direction, &full, &half),
            _ => self.rows::<7>(lanes, &mut w, 0, direction, &full, &half),
        }
        let mut i = dim % R;
        while i < dim {
            self.rows::<R>(lanes, &mut w, i, direction, &full, &half);
            i += R;
        }
    }

    /// Rows `i..i + R`, taken off the front of `w`: the columns they share, then the small triangle
    /// at the diagonal.
    #[inline(always)]
    fn rows<const R: usize>(
        &mut self,
        lanes: (L, N),
        w: &mut &[f64],
        i: usize,
        direction: &[f64],
        full: &[&[L::Chunk]; T],
        half: &[&[N::Chunk]; H],
    ) {
        let (zero, narrow_zero) = (lanes.0.splat(0.0), lanes.1.splat(0.0));
        let mut y = [([zero; T], [narrow_zero; H]); R];
        let mut shared = [&[][..]; R];
        let mut corner = [&[][..]; R];
        for r in 0..R {
            let (row, rest) = w.split_at(chunks(i + r + 1) * LANES);
            (shared[r], corner[r]) = row.split_at(i);
            corner[r] = &corner[r][..=r];
            *w = rest;
        }
        let mut full = (*full, *full);
        for t in 0..T {
            (full.0[t], full.1[t]) = full.0[t].split_at(i);
            full.1[t] = &full.1[t][..R];
        }
        let mut half = (*half, *half);
        for t in 0..H {
            (half.0[t], half.1[t]) = half.0[t].split_at(i);
            half.1[t] = &half.1[t][..R];
        }
        let mut x = ([zero; T], [narrow_zero; H]);
        for j in 0..i {
            for t in 0..T {
                x.0[t] = lanes.0.load(&full.0[t][j]);
            }
            for t in 0..H {
                x.1[t] = lanes.1.load(&half.0[t][j]);
            }
            for r in 0..R {
                accumulate(lanes, shared[r][j], &x, &mut y[r]);
            }
        }
        for j in 0..R {
            for t in 0..T {
                x.0[t] = lanes.0.load(&full.1[t][j]);
            }
            for t in 0..H {
                x.1[t] = lanes.1.load(&half.1[t][j]);
            }
            for r in j..R {
                accumulate(lanes, corner[r][j], &x, &mut y[r]);
            }
        }
        let direction = &direction[i..i + R];
        for r in 0..R {
            for t in 0..T {
                let (y, (mean, width2)) = (y[r].0[t], &mut self.full[t]);
                *mean = lanes.0.fma(y, lanes.0.splat(direction[r]), *mean);
                *width2 = lanes.0.fma(y, y, *width2);
            }
            for t in 0..H {
                let (y, (mean, width2)) = (y[r].1[t], &mut self.half[t]);
                *mean = lanes.1.fma(y, lanes.1.splat(direction[r]), *mean);
                *width2 = lanes.1.fma(y, y, *width2);
            }
        }
    }
}

/// `y += entry x`.
#[inline(always)]
fn accumulate<L: Lanes, N: Lanes, const T: usize, const H: usize>(
    lanes: (L, N),
    entry: f64,
    x: &([L::V; T], [N::V; H]),
    y: &mut ([L::V; T], [N::V; H]),
) {
    for t in 0..T {
        y.0[t] = lanes.0.fma(lanes.0.splat(entry), x.0[t], y.0[t]);
    }
    for t in 0..H {
        y.1[t] = lanes.1.fma(lanes.1.splat(entry), x.1[t], y.1[t]);
    }
}
