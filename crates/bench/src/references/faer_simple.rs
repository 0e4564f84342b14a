//! faer as one would first write it: its product and rank-one update, plain loops for the rest, and
//! nothing compiled for the host's instructions beyond what faer does itself.

use cahoots_kernel::Scores;
use faer::linalg::matmul::matmul;
use faer::{Accum, Col, Mat, Par};

use crate::problem::{ALPHA, Contestant, Problem, RIDGE};

/// A learner on `inverse = (V + ridge I)^-1` and `theta`.
pub struct FaerSimple<'a> {
    problem: &'a Problem,
    /// Arms as columns.
    sets: Vec<Mat<f64>>,
    inverse: Mat<f64>,
    theta: Col<f64>,
    log_det: f64,
    /// `inverse * arms`.
    product: Mat<f64>,
    scores: Scores,
}

impl<'a> FaerSimple<'a> {
    /// Ready for its first step.
    pub fn new(problem: &'a Problem) -> FaerSimple<'a> {
        let (dim, arms) = (problem.dim, problem.arms);
        let matrix = |set: &Vec<f64>| Mat::from_fn(dim, arms, |j, k| set[k * dim + j]);
        let mut faer = FaerSimple {
            problem,
            sets: problem.sets.iter().map(matrix).collect(),
            inverse: Mat::zeros(dim, dim),
            theta: Col::zeros(dim),
            log_det: 0.0,
            product: Mat::zeros(dim, arms),
            scores: Scores { mean: vec![0.0; arms], width2: vec![0.0; arms] },
        };
        faer.reset();
        faer
    }
}

impl Contestant for FaerSimple<'_> {
    fn reset(&mut self) {
        let dim = self.problem.dim;
        self.inverse = Mat::from_fn(dim, dim, |i, j| if i == j { 1.0 / RIDGE } else { 0.0 });
        self.theta = Col::zeros(dim);
        self.log_det = dim as f64 * libm::log(RIDGE);
    }

    fn step(&mut self, set: usize) -> usize {
        let arms = &self.sets[set];
        matmul(self.product.as_mut(), Accum::Replace, &self.inverse, arms, 1.0, Par::Seq);
        for k in 0..self.problem.arms {
            let x = arms.col(k).try_as_col_major().unwrap().as_slice();
            let p = self.product.col(k).try_as_col_major().unwrap().as_slice();
            let theta = self.theta.try_as_col_major().unwrap().as_slice();
            self.scores.mean[k] = x.iter().zip(theta).map(|(x, t)| x * t).sum();
            self.scores.width2[k] = x.iter().zip(p).map(|(x, p)| x * p).sum();
        }
        let k = self.scores.highest_bound(ALPHA, None).arm;
        let (mean, width2) = (self.scores.mean[k], self.scores.width2[k]);
        let scale = 1.0 / (1.0 + width2);
        let v = self.product.col(k);
        let gain = (self.problem.rewards[set][k] - mean) * scale;
        for j in 0..self.problem.dim {
            self.theta[j] += gain * v[j];
        }
        let (column, row) = (v.as_mat(), v.transpose().as_mat());
        matmul(self.inverse.as_mut(), Accum::Add, column, row, -scale, Par::Seq);
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
