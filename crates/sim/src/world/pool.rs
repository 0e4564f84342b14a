//! Where arms come from: fresh from the unit ball or a cube, or a few rows of a finite
//! pool that was drawn once.

use std::ops::Range;

use cahoots_core::{Rows, Tiles};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WorldPart;
use super::vectors::{anisotropic, dot, in_ball, in_cube, on_sphere};
use crate::draw::Draw;

/// The law of the arms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolKind {
    /// Fresh arms for each decision, uniform in the unit ball.
    #[default]
    Ball,
    /// Fresh arms for each decision, uniform in the cube [-1, 1]^d / sqrt(d), as in the published code of FedLinUCB.
    Cube,
    /// A finite pool of N(0, I) rows, scaled to unit norm.
    Gaussian,
    /// A finite pool of unit norm whose later coordinates are smaller: coordinate i of d has
    /// standard deviation sqrt((d - i) / d) before scaling.
    Authors,
}

impl PoolKind {
    /// The law of a row of the pool.
    pub(crate) fn law(self) -> fn(&mut Draw, &mut [f64]) {
        match self {
            PoolKind::Ball | PoolKind::Cube | PoolKind::Gaussian => on_sphere,
            PoolKind::Authors => anisotropic,
        }
    }

    /// The law of the rows of one offer, where arms are drawn afresh.
    pub(crate) fn fresh(self) -> Option<Fresh> {
        match self {
            PoolKind::Ball => Some(in_ball),
            PoolKind::Cube => Some(in_cube),
            PoolKind::Gaussian | PoolKind::Authors => None,
        }
    }
}

/// Fills rows of a length.
pub(crate) type Fresh = fn(&mut Draw, usize, &mut [f64]);

/// A finite pool, and the rows on offer.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    rows: Rows,
    /// 0, 1, 2, ... between two offers.
    order: Vec<u32>,
    swaps: Vec<u32>,
    /// In the order of drawing.
    drawn: Vec<u32>,
    /// In the pool's order.
    picked: Vec<u32>,
}

/// Up to so many rows are sorted by counting, without a branch.
const FEW: usize = 64;

impl Pool {
    /// A pool of `size` rows that offers `arms` of them at a time.
    pub(crate) fn new(seed: u64, kind: PoolKind, size: usize, dim: usize, arms: usize) -> Pool {
        let (mut draw, law) = (WorldPart::Pool.draw(seed, 0), kind.law());
        let mut rows = vec![0.0; size * dim];
        rows.chunks_exact_mut(dim).for_each(|row| law(&mut draw, row));
        let rows = Rows::new(dim, &rows).expect("laws of arms draw numbers");
        let order = (0..size as u32).collect();
        Pool { rows, order, swaps: vec![0; arms], drawn: vec![0; arms], picked: vec![0; arms] }
    }

    /// Picks distinct rows, uniformly; they are offered in the pool's order. That
    /// order matters: arms of unit norm all tie on a client's first pull, and ties
    /// go to the lowest index.
    pub(crate) fn pick(&mut self, draw: &mut Draw) {
        let size = self.order.len();
        for (i, (swap, drawn)) in self.swaps.iter_mut().zip(&mut self.drawn).enumerate() {
            let j = i + draw.below((size - i) as u64) as usize;
            *drawn = self.order[j];
            self.order[j] = self.order[i];
            *swap = j as u32;
        }
        // Undone, so that the next offer does not depend on this one. Only places `j` were written.
        for &j in &self.swaps {
            self.order[j as usize] = j;
        }
        if self.drawn.len() <= FEW && size < i16::MAX as usize {
            sort(&self.drawn, &mut self.picked);
        } else {
            self.picked.copy_from_slice(&self.drawn);
            self.picked.sort_unstable();
        }
    }

    /// Offers these columns of the rows picked last.
    pub(crate) fn offer(&self, columns: Range<usize>, arms: &mut Tiles) {
        arms.gather(&self.rows, columns, &self.picked);
    }

    /// Positions of the rows picked last.
    pub(crate) fn picked(&self) -> &[u32] {
        &self.picked
    }

    /// One row.
    pub(crate) fn row(&self, index: u32) -> &[f64] {
        self.rows.row(index as usize)
    }

    /// Inner product of every row's beginning with `theta`.
    pub(crate) fn products<'a>(&'a self, theta: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.rows.iter().map(|row| dot(theta, &row[..theta.len()]))
    }
}

/// Puts a few different numbers, each below the largest `i16`, in ascending order: a number's place is how many
/// are smaller.
fn sort(from: &[u32], to: &mut [u32]) {
    // Eight are compared at once; those that fill up the last eight are smaller than none.
    let mut short = [i16::MAX; FEW];
    for (short, number) in short.iter_mut().zip(from) {
        *short = *number as i16;
    }
    let (eights, _) = short[..from.len().next_multiple_of(8)].as_chunks::<8>();
    for number in from {
        let mut smaller = [0i16; 8];
        for eight in eights {
            for k in 0..8 {
                smaller[k] += i16::from(eight[k] < *number as i16);
            }
        }
        to[smaller.iter().sum::<i16>() as usize] = *number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Purpose;

    #[test]
    fn rows_are_picked_evenly_and_without_repetition() {
        let (size, arms, offers) = (10, 4, 5_000);
        let mut pool = Pool::new(3, PoolKind::Gaussian, size, 2, arms);
        let mut seen = vec![0u32; size];
        for tick in 0..offers {
            pool.pick(&mut Draw::keyed(3, Purpose::Arms, tick, 0));
            pool.picked().iter().for_each(|row| seen[*row as usize] += 1);
            assert!(pool.picked().is_sorted_by(|a, b| a < b));
        }
        // Each row: binomial with chance 4/10.
        let error = (offers as f64 * 0.4 * 0.6).sqrt();
        for row in &seen {
            assert!((f64::from(*row) - offers as f64 * 0.4).abs() < 5.0 * error, "{seen:?}");
        }
    }

    /// Fisher and Yates as it is usually written, and the library's sort.
    #[test]
    fn picks_are_those_of_a_partial_shuffle() {
        for (size, arms) in [(10, 4), (1000, 25), (64, 64), (300, 100), (33_000, 30)] {
            let mut pool = Pool::new(3, PoolKind::Gaussian, size, 2, arms);
            for tick in 0..200 {
                let mut draw = Draw::keyed(3, Purpose::Arms, tick, 0);
                let mut rows: Vec<u32> = (0..size as u32).collect();
                for i in 0..arms {
                    rows.swap(i, i + draw.below((size - i) as u64) as usize);
                }
                rows.truncate(arms);
                rows.sort_unstable();
                pool.pick(&mut Draw::keyed(3, Purpose::Arms, tick, 0));
                assert_eq!(pool.picked(), rows);
            }
        }
    }

    #[test]
    fn a_whole_pool_can_be_offered() {
        let mut pool = Pool::new(3, PoolKind::Authors, 5, 2, 5);
        pool.pick(&mut Draw::keyed(3, Purpose::Arms, 1, 0));
        assert_eq!(pool.picked(), [0, 1, 2, 3, 4]);
        assert_eq!(pool.order, [0, 1, 2, 3, 4]);
    }
}
