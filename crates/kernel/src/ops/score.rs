//! Scoring: `y = W x` for every arm, then `y . direction` and `|y|^2`.
//!
//! Arms lie in lanes and entries of `W` are broadcast, so each arm's sums run over the coordinates in
//! ascending order, whatever its place and however many tiles or rows are taken at once.

use super::{chunks, row_start};
use crate::simd::{Chunk, Kernel, LANES, Lanes, Simd, flat};

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
        let (mean, width2) = pass::<_, 1, 8>(simd.one(), flat(self.w), self.direction, [self.x]);
        let (mut m, mut w) = (0.0, 0.0);
        simd.one().store(mean[0], &mut m);
        simd.one().store(width2[0], &mut w);
        (m, w)
    }
}

impl Kernel for Score<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Score { dim, w, direction, tiles, mean, width2 } = self;
        let (w, arms) = (flat(w), mean.len());
        let direction = &direction[..dim];
        assert!(width2.len() == arms && tiles.len() == arms.div_ceil(LANES) * dim);
        // A last tile at most half full is scored on its first four lanes.
        let half = (1..=LANES / 2).contains(&(arms % LANES));
        let full = arms.div_ceil(LANES) - usize::from(half);
        let mut tile = 0;
        macro_rules! passes {
            ($t:literal, $r:literal) => {
                while tile + $t <= full {
                    let mut at = [&tiles[tile * dim..][..dim]; $t];
                    for t in 1..$t {
                        at[t] = &tiles[(tile + t) * dim..][..dim];
                    }
                    let (m, w2) = pass::<S, $t, $r>(simd, w, direction, at);
                    for t in 0..$t {
                        let first = (tile + t) * LANES;
                        put(simd, m[t], &mut mean[first..]);
                        put(simd, w2[t], &mut width2[first..]);
                    }
                    tile += $t;
                }
            };
        }
        if S::TILES >= 4 {
            passes!(4, 4);
            passes!(3, 4);
            passes!(2, 4);
            passes!(1, 8);
        } else {
            passes!(1, 4);
        }
        if half {
            let at = [&tiles[full * dim..][..dim]];
            let (m, w2) = pass::<S::Half, 1, 8>(simd.half(), w, direction, at);
            put(simd.half(), m[0], &mut mean[full * LANES..]);
            put(simd.half(), w2[0], &mut width2[full * LANES..]);
        }
    }
}

/// Stores as many lanes as there is room for.
#[inline(always)]
fn put<L: Lanes<Chunk = Chunk>>(lanes: L, v: L::V, to: &mut [f64]) {
    let mut chunk = Chunk::ZERO;
    lanes.store(v, &mut chunk);
    match to.first_chunk_mut::<LANES>() {
        Some(to) => *to = chunk.0,
        None => to.copy_from_slice(&chunk.0[..to.len()]),
    }
}

/// One pass over `W`, `R` rows at a time, for `T` vectors of arms: their means and squared widths.
#[inline(always)]
fn pass<L: Lanes, const T: usize, const R: usize>(
    lanes: L,
    w: &[f64],
    direction: &[f64],
    arms: [&[L::Chunk]; T],
) -> ([L::V; T], [L::V; T]) {
    let zero = lanes.splat(0.0);
    let mut sums = ([zero; T], [zero; T]);
    let dim = direction.len();
    let mut i = 0;
    while i + R <= dim {
        rows::<L, T, R>(lanes, w, i, direction, &arms, &mut sums);
        i += R;
    }
    if R > 4 && dim - i >= 4 {
        rows::<L, T, 4>(lanes, w, i, direction, &arms, &mut sums);
        i += 4;
    }
    // Constant row counts: a variable one would keep the sums in memory.
    match dim - i {
        1 => rows::<L, T, 1>(lanes, w, i, direction, &arms, &mut sums),
        2 => rows::<L, T, 2>(lanes, w, i, direction, &arms, &mut sums),
        3 => rows::<L, T, 3>(lanes, w, i, direction, &arms, &mut sums),
        _ => {}
    }
    sums
}

/// Rows `i..i + R`: the columns they share, then the small triangle at the diagonal.
#[inline(always)]
fn rows<L: Lanes, const T: usize, const R: usize>(
    lanes: L,
    w: &[f64],
    i: usize,
    direction: &[f64],
    arms: &[&[L::Chunk]; T],
    (mean, width2): &mut ([L::V; T], [L::V; T]),
) {
    let zero = lanes.splat(0.0);
    let mut y = [[zero; T]; R];
    let mut x = [zero; T];
    // All R rows lie in one block of eight, so they are equally far apart.
    let stride = chunks(i + 1) * LANES;
    let mut rest = &w[row_start(i) * LANES..];
    let mut shared = [rest; R];
    let mut corner = [rest; R];
    for r in 0..R {
        let (row, next) = rest.split_at(stride);
        (shared[r], corner[r]) = row.split_at(i);
        rest = next;
    }
    let mut before = [&arms[0][..0]; T];
    let mut here = [&arms[0][..0]; T];
    for t in 0..T {
        (before[t], here[t]) = arms[t].split_at(i);
        here[t] = &here[t][..R];
    }
    for j in 0..i {
        for t in 0..T {
            x[t] = lanes.load(&before[t][j]);
        }
        for r in 0..R {
            let entry = lanes.splat(shared[r][j]);
            for t in 0..T {
                y[r][t] = lanes.fma(entry, x[t], y[r][t]);
            }
        }
    }
    for j in 0..R {
        for t in 0..T {
            x[t] = lanes.load(&here[t][j]);
        }
        for r in j..R {
            let entry = lanes.splat(corner[r][j]);
            for t in 0..T {
                y[r][t] = lanes.fma(entry, x[t], y[r][t]);
            }
        }
    }
    let direction = &direction[i..i + R];
    for r in 0..R {
        let toward = lanes.splat(direction[r]);
        for t in 0..T {
            mean[t] = lanes.fma(y[r][t], toward, mean[t]);
            width2[t] = lanes.fma(y[r][t], y[r][t], width2[t]);
        }
    }
}
