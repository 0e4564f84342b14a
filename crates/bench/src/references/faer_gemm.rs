//! faer: one matrix product for all arms, then Sherman-Morrison; made as fast as we could, with the
//! sums over the product in registers and all loops compiled for the host's instructions.

use cahoots_kernel::Scores;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use crate::problem::{ALPHA, Contestant, Problem, RIDGE};

/// Arms whose means and widths are summed at a time, in registers.
const BLOCK: usize = 16;

/// A learner on `inverse = (V + ridge I)^-1` and `theta`.
pub struct FaerGemm<'a> {
    problem: &'a Problem,
    simd: pulp::Arch,
    /// Arms as rows, stored by column: everything but the matrix product runs along the arms.
    sets: Vec<Mat<f64>>,
    inverse: Mat<f64>,
    theta: Vec<f64>,
    log_det: f64,
    /// `arms * inverse`.
    product: Mat<f64>,
    /// The chosen row of `product`.
    chosen: Vec<f64>,
    scores: Scores,
}

impl<'a> FaerGemm<'a> {
    /// Ready for its first step.
    pub fn new(problem: &'a Problem) -> FaerGemm<'a> {
        let (dim, arms) = (problem.dim, problem.arms);
        let padded = arms.next_multiple_of(BLOCK);
        let mut faer = FaerGemm {
            problem,
            simd: pulp::Arch::new(),
            sets: problem
                .sets
                .iter()
                .map(|set| Mat::from_fn(padded, dim, |k, j| if k < arms { set[k * dim + j] } else { 0.0 }))
                .collect(),
            inverse: Mat::zeros(dim, dim),
            theta: vec![0.0; dim],
            log_det: 0.0,
            product: Mat::zeros(padded, dim),
            chosen: vec![0.0; dim],
            scores: Scores { mean: vec![0.0; arms], width2: vec![0.0; arms] },
        };
        faer.reset();
        faer
    }

    #[inline(always)]
    fn score(&mut self, set: usize) {
        let arms = &self.sets[set];
        let count = self.problem.arms;
        for first in (0..count).step_by(BLOCK) {
            let (mut mean, mut width2) = ([0.0_f64; BLOCK], [0.0_f64; BLOCK]);
            for (j, &theta) in self.theta.iter().enumerate() {
                let x = part(arms, first, j);
                let p = part(&self.product, first, j);
                for k in 0..BLOCK {
                    mean[k] = x[k].mul_add(theta, mean[k]);
                    width2[k] = x[k].mul_add(p[k], width2[k]);
                }
            }
            let end = count.min(first + BLOCK);
            self.scores.mean[first..end].copy_from_slice(&mean[..end - first]);
            self.scores.width2[first..end].copy_from_slice(&width2[..end - first]);
        }
    }

    #[inline(always)]
    fn learn(&mut self, set: usize, k: usize) {
        let reward = self.problem.rewards[set][k];
        let width2 = self.scores.width2[k];
        let scale = 1.0 / (1.0 + width2);
        let gain = (reward - self.scores.mean[k]) * scale;
        let chosen = &mut self.chosen[..];
        for (j, chosen) in chosen.iter_mut().enumerate() {
            *chosen = self.product[(k, j)];
        }
        for j in 0..chosen.len() {
            let column = self.inverse.col_mut(j).try_as_col_major_mut().unwrap().as_slice_mut();
            let factor = -scale * chosen[j];
            for (entry, v) in column.iter_mut().zip(&*chosen) {
                *entry = v.mul_add(factor, *entry);
            }
            self.theta[j] = chosen[j].mul_add(gain, self.theta[j]);
        }
        self.log_det += libm::log1p(width2);
    }
}

// Not closures: those are not always inlined into the function compiled with the host's instructions.
struct Score<'a, 'b>(&'b mut FaerGemm<'a>, usize);
struct Learn<'a, 'b>(&'b mut FaerGemm<'a>, usize, usize);

impl pulp::NullaryFnOnce for Score<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        self.0.score(self.1);
    }
}

impl pulp::NullaryFnOnce for Learn<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        self.0.learn(self.1, self.2);
    }
}

/// `BLOCK` arms' coordinate `j`.
#[inline(always)]
fn part(matrix: &Mat<f64>, first: usize, j: usize) -> &[f64; BLOCK] {
    let column = matrix.col(j).try_as_col_major().unwrap().as_slice();
    column[first..first + BLOCK].try_into().unwrap()
}

impl Contestant for FaerGemm<'_> {
    fn reset(&mut self) {
        let dim = self.problem.dim;
        self.inverse = Mat::from_fn(dim, dim, |i, j| if i == j { 1.0 / RIDGE } else { 0.0 });
        self.theta.fill(0.0);
        self.log_det = dim as f64 * libm::log(RIDGE);
    }

    fn step(&mut self, set: usize) -> usize {
        let simd = self.simd;
        let count = self.problem.arms;
        let arms = self.sets[set].subrows(0, count);
        let product = self.product.subrows_mut(0, count);
        matmul(product, Accum::Replace, arms, &self.inverse, 1.0, Par::Seq);
        simd.dispatch(Score(self, set));
        let k = self.scores.highest_bound(ALPHA, None).arm;
        simd.dispatch(Learn(self, set, k));
        k
    }

    fn sets(&self) -> usize {
        self.sets.len()
    }

    fn log_det(&self) -> f64 {
        self.log_det
    }
}
