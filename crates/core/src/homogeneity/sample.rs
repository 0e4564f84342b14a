//! What one client has observed, ready to be compared.

use cahoots_kernel::Factor;
use serde::{Deserialize, Serialize};

use crate::linalg::PseudoInverse;
use crate::stats::LinearStats;

/// Elimination without pivoting settles the rank where every pivot is above this
/// part of the largest diagonal entry; otherwise pivoting decides.
const CLEARLY_POSITIVE: f64 = 1e-6;

/// A client's own statistics with their rank and their least-squares estimate.
/// No ridge: the estimate is unbiased in every direction that has been observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    stats: LinearStats,
    rank: usize,
    theta: Vec<f64>,
    /// Inverse factor, once every direction has been observed.
    factor: Option<Factor>,
}

impl Sample {
    /// From statistics.
    pub fn of(stats: LinearStats) -> Sample {
        let mut sample = Sample { rank: 0, theta: vec![0.0; stats.dim()], factor: None, stats };
        sample.solve();
        sample
    }

    /// Adds one observation.
    pub fn observe(&mut self, x: &[f64], reward: f64) {
        self.stats.observe(x, reward);
        match &mut self.factor {
            Some(factor) => {
                factor.learn(x, reward);
                self.theta = factor.theta();
            }
            None => self.solve(),
        }
    }

    fn solve(&mut self) {
        let dim = self.stats.dim();
        if self.stats.count >= dim as u64
            && let Ok(factor) = Factor::of(self.stats.gram.packed(), &self.stats.moment, 0.0)
            && is_clear(&factor, self.largest_entry())
        {
            self.rank = dim;
        } else {
            let inverse = PseudoInverse::of(&self.stats.gram);
            self.rank = inverse.rank();
            self.theta = inverse.solve(&self.stats.moment);
        }
        if self.rank == dim {
            self.factor = Factor::of(self.stats.gram.packed(), &self.stats.moment, 0.0).ok();
        }
        if let Some(factor) = &self.factor {
            self.theta = factor.theta();
        }
    }

    fn largest_entry(&self) -> f64 {
        let gram = &self.stats.gram;
        (0..gram.dim()).map(|i| gram.get(i, i)).fold(0.0, f64::max)
    }

    /// What was observed.
    pub fn stats(&self) -> &LinearStats {
        &self.stats
    }

    /// Directions that have been observed.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Has every direction been observed?
    pub fn is_full(&self) -> bool {
        self.factor.is_some()
    }

    /// The least-squares estimate (of least norm, where there are several).
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Estimate for `x` and its variance in units of the noise; `None` before
    /// every direction has been observed.
    pub fn predict(&self, x: &[f64]) -> Option<(f64, f64)> {
        self.factor.as_ref().map(|factor| factor.mean_and_width2(x))
    }

    /// c' V^-1 c, once every direction has been observed.
    pub(super) fn inverse_form(&self, c: &[f64]) -> Option<f64> {
        self.factor.as_ref().map(|factor| factor.mean_and_width2(c).1)
    }

    /// Sum of the diagonal: no eigenvalue is larger.
    pub(super) fn trace(&self) -> f64 {
        let gram = &self.stats.gram;
        (0..gram.dim()).map(|i| gram.get(i, i)).sum()
    }
}

/// Pivots are the squared inverses of `W`'s diagonal.
fn is_clear(factor: &Factor, largest: f64) -> bool {
    (0..factor.dim()).all(|i| {
        let inverse = factor.row(i)[i];
        inverse * inverse * CLEARLY_POSITIVE * largest < 1.0
    })
}
