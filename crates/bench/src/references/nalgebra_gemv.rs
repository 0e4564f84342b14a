//! nalgebra: a matrix-vector product for each arm, then Sherman-Morrison.

use cahoots_kernel::Scores;
use nalgebra::{DMatrix, DVector};

use crate::problem::{ALPHA, Contestant, Problem, RIDGE};

/// A learner on `inverse = (V + ridge I)^-1` and `theta`.
pub struct NalgebraGemv<'a> {
    problem: &'a Problem,
    /// Arms as columns.
    sets: Vec<DMatrix<f64>>,
    inverse: DMatrix<f64>,
    theta: DVector<f64>,
    log_det: f64,
    /// `inverse x`, of the arm at hand or of the chosen one.
    product: DVector<f64>,
    scores: Scores,
}

impl<'a> NalgebraGemv<'a> {
    /// Ready for its first step.
    pub fn new(problem: &'a Problem) -> NalgebraGemv<'a> {
        let (dim, arms) = (problem.dim, problem.arms);
        let mut nalgebra = NalgebraGemv {
            problem,
            sets: problem.sets.iter().map(|set| DMatrix::from_column_slice(dim, arms, set)).collect(),
            inverse: DMatrix::zeros(dim, dim),
            theta: DVector::zeros(dim),
            log_det: 0.0,
            product: DVector::zeros(dim),
            scores: Scores { mean: vec![0.0; arms], width2: vec![0.0; arms] },
        };
        nalgebra.reset();
        nalgebra
    }
}

impl Contestant for NalgebraGemv<'_> {
    fn reset(&mut self) {
        let dim = self.problem.dim;
        self.inverse = DMatrix::from_diagonal_element(dim, dim, 1.0 / RIDGE);
        self.theta.fill(0.0);
        self.log_det = dim as f64 * libm::log(RIDGE);
    }

    fn step(&mut self, set: usize) -> usize {
        let arms = &self.sets[set];
        for (k, x) in arms.column_iter().enumerate() {
            self.product.gemv(1.0, &self.inverse, &x, 0.0);
            self.scores.width2[k] = self.product.dot(&x);
            self.scores.mean[k] = self.theta.dot(&x);
        }
        let k = self.scores.highest_bound(ALPHA, None).arm;
        let (mean, width2) = (self.scores.mean[k], self.scores.width2[k]);
        let scale = 1.0 / (1.0 + width2);
        self.product.gemv(1.0, &self.inverse, &arms.column(k), 0.0);
        self.inverse.ger(-scale, &self.product, &self.product, 1.0);
        let gain = (self.problem.rewards[set][k] - mean) * scale;
        self.theta.axpy(gain, &self.product, 1.0);
        self.log_det += libm::log1p(width2);
        k
    }

    fn sets(&self) -> usize {
        self.sets.len()
    }

    fn log_det(&self) -> f64 {
        self.log_det
    }
}
