//! The state of a linear learner: `W`, `z` and the log-determinant.

use serde::{Deserialize, Serialize};

use crate::ops::apply::{Apply, ApplyTransposed};
use crate::ops::learn::{self, Learn};
use crate::ops::rebuild::{Eliminate, scratch_len};
use crate::ops::score::{Score, ScoreOne};
use crate::ops::{chunks, row_start};
use crate::packed::{LogProduct, check_len};
use crate::simd::{Chunk, LANES, dispatch, flat, flat_mut};
use crate::wire::Wire;
use crate::{Level, NotPositiveDefinite, Scores, Tiles, workspace};

/// `W = L^-1` with `L L' = V + ridge I`, `z = W b`, and `log det(V + ridge I)`.
///
/// `V` and `b` themselves are not kept. Serialises exactly: the triangle of `W`, `z`, the
/// log-determinant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Wire", try_from = "Wire")]
pub struct Factor {
    dim: usize,
    /// The rows of `W` (see `ops`), then `z`; padding is zero.
    state: Vec<Chunk>,
    log_det: f64,
}

impl Factor {
    /// No data yet: `V = 0`, `b = 0`.
    ///
    /// # Panics
    /// If `ridge` is not positive and finite.
    pub fn ridge(dim: usize, ridge: f64) -> Factor {
        assert!(ridge > 0.0 && ridge.is_finite(), "a ridge must be positive, not {ridge}");
        let mut factor = Factor::zero(dim);
        let mut product = LogProduct::ONE;
        for i in 0..dim {
            flat_mut(&mut factor.state)[row_start(i) * LANES + i] = 1.0 / ridge.sqrt();
            product.times(ridge);
        }
        factor.log_det = product.ln();
        factor
    }

    /// From `V` (`gram`: packed lower triangle, row major, without the ridge) and `b` (`moment`).
    ///
    /// # Panics
    /// If `gram.len() != dim (dim + 1) / 2` with `dim = moment.len()`.
    pub fn of(gram: &[f64], moment: &[f64], ridge: f64) -> Result<Factor, NotPositiveDefinite> {
        let mut factor = Factor::zero(moment.len());
        factor.rebuild(gram, moment, ridge)?;
        Ok(factor)
    }

    /// [`Factor::of`] in place, without allocation once the thread has done one as large. An `Err`
    /// leaves `self` unchanged.
    ///
    /// # Panics
    /// If `moment.len() != self.dim()`, or as [`Factor::of`].
    pub fn rebuild(&mut self, gram: &[f64], moment: &[f64], ridge: f64) -> Result<(), NotPositiveDefinite> {
        self.rebuild_with(Level::best(), gram, moment, ridge)
    }

    /// [`Factor::rebuild`] at a given level.
    ///
    /// # Panics
    /// As [`Factor::rebuild`], or if this host lacks the level.
    pub fn rebuild_with(
        &mut self,
        level: Level,
        gram: &[f64],
        moment: &[f64],
        ridge: f64,
    ) -> Result<(), NotPositiveDefinite> {
        let dim = self.dim;
        assert_eq!(moment.len(), dim, "a moment of the wrong dimension");
        check_len(gram, dim);
        let length = chunks(dim);
        workspace::with(length + scratch_len(dim), |scratch| {
            let (padded, scratch) = scratch.split_at_mut(length);
            let (w, z) = self.state.split_at_mut(row_start(dim));
            let eliminate = Eliminate { dim, gram, ridge, scratch, w: Some(w) };
            self.log_det = dispatch(level, eliminate)?;
            dispatch(level, Apply { dim, w, x: moment, scratch: padded, out: z });
            Ok(())
        })
    }

    /// Coordinates of an arm.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// `log det(V + ridge I)`.
    pub fn log_det(&self) -> f64 {
        self.log_det
    }

    /// `V += x x'`, `b += reward x`; returns the gain in log-determinant, `ln(1 + |W x|^2)`.
    ///
    /// Rounding adds up in proportion to `1 / ridge`: with a ridge of 2^-30 and all arms in a subspace,
    /// rows of `W` are off by less than 1e-9 after a million updates in 25 dimensions;
    /// [`Factor::rebuild`] starts afresh.
    ///
    /// # Panics
    /// If `x.len() != self.dim()`.
    pub fn learn(&mut self, x: &[f64], reward: f64) -> f64 {
        self.learn_with(Level::best(), x, reward)
    }

    /// [`Factor::learn`] at a given level.
    ///
    /// # Panics
    /// As [`Factor::learn`], or if this host lacks the level.
    pub fn learn_with(&mut self, level: Level, x: &[f64], reward: f64) -> f64 {
        assert_eq!(x.len(), self.dim, "an arm of the wrong dimension");
        let dim = self.dim;
        let (w, z) = self.state.split_at_mut(row_start(dim));
        let width2 = workspace::with(learn::SCRATCH * chunks(dim), |scratch| {
            dispatch(level, Learn { dim, w, z, x, reward, scratch })
        });
        let gain = libm::log1p(width2);
        self.log_det += gain;
        gain
    }

    /// `mean_k = (W x_k) . z = theta . x_k` and `width2_k = |W x_k|^2` of every arm.
    ///
    /// # Panics
    /// If `arms.dim() != self.dim()`.
    pub fn score(&self, arms: &Tiles, scores: &mut Scores) {
        self.score_toward_with(Level::best(), arms, self.z(), scores);
    }

    /// [`Factor::score`] at a given level.
    ///
    /// # Panics
    /// As [`Factor::score`], or if this host lacks the level.
    pub fn score_with(&self, level: Level, arms: &Tiles, scores: &mut Scores) {
        self.score_toward_with(level, arms, self.z(), scores);
    }

    /// `mean_k = (W x_k) . direction`, and `width2_k` as in [`Factor::score`]. Thompson sampling passes
    /// `z + v g` with `g` standard normal.
    ///
    /// # Panics
    /// If `arms.dim()` or `direction.len()` is not `self.dim()`.
    pub fn score_toward(&self, arms: &Tiles, direction: &[f64], scores: &mut Scores) {
        self.score_toward_with(Level::best(), arms, direction, scores);
    }

    /// [`Factor::score_toward`] at a given level.
    ///
    /// # Panics
    /// As [`Factor::score_toward`], or if this host lacks the level.
    pub fn score_toward_with(&self, level: Level, arms: &Tiles, direction: &[f64], scores: &mut Scores) {
        assert_eq!(arms.dim(), self.dim, "arms of the wrong dimension");
        assert_eq!(direction.len(), self.dim, "a direction of the wrong dimension");
        scores.mean.resize(arms.len(), 0.0);
        scores.width2.resize(arms.len(), 0.0);
        let score = Score {
            dim: self.dim,
            w: self.w(),
            direction,
            tiles: arms.data(),
            mean: &mut scores.mean,
            width2: &mut scores.width2,
        };
        dispatch(level, score);
    }

    /// Mean and squared width of one arm, with the bits that [`Factor::score`] gives it.
    ///
    /// # Panics
    /// If `x.len() != self.dim()`.
    pub fn mean_and_width2(&self, x: &[f64]) -> (f64, f64) {
        assert_eq!(x.len(), self.dim, "an arm of the wrong dimension");
        dispatch(Level::best(), ScoreOne { w: self.w(), direction: self.z(), x })
    }

    /// `z = W b`.
    pub fn z(&self) -> &[f64] {
        &flat(&self.state[row_start(self.dim)..])[..self.dim]
    }

    /// The ridge estimate `theta = W' z`.
    pub fn theta(&self) -> Vec<f64> {
        self.theta_toward(self.z())
    }

    /// `W' direction`.
    ///
    /// # Panics
    /// If `direction.len() != self.dim()`.
    pub fn theta_toward(&self, direction: &[f64]) -> Vec<f64> {
        assert_eq!(direction.len(), self.dim, "a direction of the wrong dimension");
        let mut out = vec![Chunk::ZERO; chunks(self.dim)];
        let (dim, w) = (self.dim, self.w());
        dispatch(Level::best(), ApplyTransposed { dim, w, y: direction, out: &mut out });
        flat(&out)[..self.dim].to_vec()
    }

    /// `(V + ridge I)^-1 b = W' (W b)`.
    ///
    /// # Panics
    /// If `b.len() != self.dim()`.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        assert_eq!(b.len(), self.dim, "a vector of the wrong dimension");
        let mut out = vec![Chunk::ZERO; chunks(self.dim)];
        let mut scratch = out.clone();
        let (dim, w) = (self.dim, self.w());
        dispatch(Level::best(), Apply { dim, w, x: b, scratch: &mut scratch, out: &mut out });
        self.theta_toward(&flat(&out)[..self.dim])
    }

    /// Row `i` of `W`, columns `0..=i`.
    ///
    /// # Panics
    /// If `i >= self.dim()`.
    pub fn row(&self, i: usize) -> &[f64] {
        assert!(i < self.dim, "no row {i} in dimension {}", self.dim);
        &flat(&self.state[row_start(i)..])[..=i]
    }

    fn w(&self) -> &[Chunk] {
        &self.state[..row_start(self.dim)]
    }

    /// All zero: not a state, but the room for one.
    fn zero(dim: usize) -> Factor {
        let state = vec![Chunk::ZERO; row_start(dim) + chunks(dim)];
        Factor { dim, state, log_det: 0.0 }
    }

    /// From the packed rows of `W`, whose length must fit that of `z`.
    pub(crate) fn from_parts(w: &[f64], z: &[f64], log_det: f64) -> Factor {
        let mut factor = Factor::zero(z.len());
        check_len(w, z.len());
        factor.log_det = log_det;
        let state = flat_mut(&mut factor.state);
        let mut rest = w;
        for i in 0..z.len() {
            let (row, next) = rest.split_at(i + 1);
            state[row_start(i) * LANES..][..=i].copy_from_slice(row);
            rest = next;
        }
        state[row_start(z.len()) * LANES..][..z.len()].copy_from_slice(z);
        factor
    }
}
