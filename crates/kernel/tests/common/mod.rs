//! Slow references, written from the definitions, and random problems for them.
#![allow(dead_code)]

pub(crate) mod double;

use cahoots_kernel::Tiles;

/// Half of the distance from one to the next number.
pub(crate) const EPS: f64 = f64::EPSILON / 2.0;

/// The ridges every test goes through.
pub(crate) const RIDGES: [f64; 4] = [0.01, 0.1, 1.0, 7.3];

/// Uniform numbers on [-1, 1) from a linear congruential generator.
pub(crate) struct Uniform(pub u64);

impl Uniform {
    pub(crate) fn next(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    pub(crate) fn vector(&mut self, dim: usize) -> Vec<f64> {
        (0..dim).map(|_| self.next()).collect()
    }

    pub(crate) fn vectors(&mut self, count: usize, dim: usize) -> Vec<Vec<f64>> {
        (0..count).map(|_| self.vector(dim)).collect()
    }
}

pub(crate) fn tiles(dim: usize, rows: &[Vec<f64>]) -> Tiles {
    let mut tiles = Tiles::default();
    tiles.fill(dim, rows.iter().map(Vec::as_slice));
    tiles
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `V` (packed) and `b` of a sequence of arms and rewards.
#[derive(Clone)]
pub(crate) struct Statistics {
    pub dim: usize,
    pub gram: Vec<f64>,
    pub moment: Vec<f64>,
    pub count: usize,
}

impl Statistics {
    pub(crate) fn new(dim: usize) -> Statistics {
        Statistics { dim, gram: vec![0.0; dim * (dim + 1) / 2], moment: vec![0.0; dim], count: 0 }
    }

    pub(crate) fn add(&mut self, x: &[f64], reward: f64) {
        let mut at = 0;
        for i in 0..self.dim {
            for j in 0..=i {
                self.gram[at] += x[i] * x[j];
                at += 1;
            }
            self.moment[i] += reward * x[i];
        }
        self.count += 1;
    }

    pub(crate) fn trace(&self) -> f64 {
        (0..self.dim).map(|i| self.gram[i * (i + 1) / 2 + i]).sum()
    }

    /// The relative error that `(V + ridge I)^-1` may have after elimination or as many rank-one
    /// updates as there were: backward stable steps perturb the matrix by some `dim * eps` of its norm
    /// each, and inversion multiplies that by the condition number. (Sums of `dim` terms err by at
    /// most `dim * eps`; 8 covers the handful of them in a step, in the reference as well.)
    pub(crate) fn tolerance(&self, ridge: f64) -> f64 {
        let condition = (ridge + self.trace()) / ridge;
        8.0 * self.dim as f64 * EPS * condition * (1 + self.count) as f64
    }

    /// The full matrix `V + ridge I`.
    pub(crate) fn dense(&self, ridge: f64) -> Vec<Vec<f64>> {
        let entry = |i: usize, j: usize| {
            let (i, j) = (i.max(j), i.min(j));
            self.gram[i * (i + 1) / 2 + j] + if i == j { ridge } else { 0.0 }
        };
        (0..self.dim).map(|i| (0..self.dim).map(|j| entry(i, j)).collect()).collect()
    }
}

/// The inverse by Gauss-Jordan elimination with row pivoting, and the log of the determinant.
pub(crate) fn inverse(matrix: &[Vec<f64>]) -> (Vec<Vec<f64>>, f64) {
    let dim = matrix.len();
    let mut rows: Vec<Vec<f64>> = matrix.to_vec();
    for (i, row) in rows.iter_mut().enumerate() {
        row.extend((0..dim).map(|j| if i == j { 1.0 } else { 0.0 }));
    }
    let mut log_det = 0.0;
    for i in 0..dim {
        let larger = |a: &usize, b: &usize| rows[*a][i].abs().total_cmp(&rows[*b][i].abs());
        let pivot = (i..dim).max_by(larger).unwrap();
        rows.swap(i, pivot);
        let scale = rows[i][i];
        log_det += libm::log(scale.abs());
        rows[i].iter_mut().for_each(|v| *v /= scale);
        let row = rows[i].clone();
        for (k, other) in rows.iter_mut().enumerate() {
            if k != i {
                let factor = other[i];
                other.iter_mut().zip(&row).for_each(|(v, r)| *v -= factor * r);
            }
        }
    }
    (rows.into_iter().map(|row| row[dim..].to_vec()).collect(), log_det)
}

pub(crate) fn times(matrix: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| dot(row, x)).collect()
}

pub(crate) fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}
