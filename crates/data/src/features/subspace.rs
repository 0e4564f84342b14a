//! The leading right singular vectors of a sparse matrix, centred or not, by subspace iteration from a fixed start.
//!
//! A block V of orthonormal columns is replaced by an orthonormal basis of (A'A)^2 V, over and over; the leading
//! eigenvectors of V'(A'A)V turn the block towards those of A'A (Rayleigh and Ritz). It ends when every one that was asked
//! for, v with its value l, has |A'A v - l v| at most [`RESIDUAL`] times the largest value. All of it is plain loops in a
//! fixed order: every machine computes the same bits.

use cahoots_sim::draw::{Draw, Purpose};

use super::symmetric::eigen;
use super::tfidf::Sparse;

/// How far from an eigenvector is near enough, beside the largest eigenvalue.
pub const RESIDUAL: f64 = 1e-11;

/// Rounds, at most: a spectrum without any gap is left where it is then.
const ROUNDS: usize = 2000;

/// Directions of the largest variance (or of the largest squares, where not centred).
#[derive(Clone, Debug, PartialEq)]
pub struct Leading {
    /// How many were found: as many as asked for, or as the matrix has.
    pub count: usize,
    /// Column by column beside each other: `vectors[word * count + k]`; the largest coordinate of each is positive.
    pub vectors: Vec<f64>,
    /// Their eigenvalues, descending.
    pub values: Vec<f64>,
    /// The largest residual, beside the largest eigenvalue.
    pub residual: f64,
    /// Rounds that it took.
    pub rounds: usize,
}

/// The first `count` directions. `progress` sees round and residual.
pub fn leading(
    matrix: &Sparse,
    means: Option<&[f64]>,
    count: usize,
    progress: &mut dyn FnMut(usize, f64),
) -> Leading {
    let n = matrix.columns;
    // Twice as many as asked for: what decides how fast it goes is the gap behind the block.
    let mut width = (count + count.max(20)).min(n);
    let mut block = vec![0.0; n * width];
    Draw::keyed(0, Purpose::World, 0, 0).normals(&mut block);
    width = orthonormal(&mut block, n, width);
    let mut best = Leading { count: 0, vectors: Vec::new(), values: Vec::new(), residual: 0.0, rounds: 0 };
    let rounds = if width == 0 { 0 } else { ROUNDS };
    for round in 1..=rounds {
        let image = apply(matrix, means, &block, width);
        let (values, rotation) = eigen(&gram(&block, &image, n, width), width);
        let wanted = count.min(width);
        let vectors = turn(&block, n, width, &rotation, wanted);
        let mut image = turn(&image, n, width, &rotation, width);
        let largest = values.first().copied().unwrap_or_default().max(f64::MIN_POSITIVE);
        let off = |k: usize| off(&vectors, wanted, &image, width, k, values[k]);
        let residual = (0..wanted).map(off).fold(0.0, f64::max) / largest;
        progress(round, residual);
        if residual <= RESIDUAL || round == ROUNDS {
            let keep = values[..wanted].iter().take_while(|value| **value > 1e-12 * largest).count();
            best = Leading {
                count: keep,
                vectors: vectors.chunks_exact(wanted.max(1)).flat_map(|row| row[..keep].to_vec()).collect(),
                values: values[..keep].to_vec(),
                residual,
                rounds: round,
            };
            break;
        }
        // Once more before the next basis: columns of about unit length do not drown each other.
        for row in image.chunks_exact_mut(width) {
            for (entry, value) in row.iter_mut().zip(&values).filter(|(_, value)| **value > 0.0) {
                *entry /= value;
            }
        }
        block = apply(matrix, means, &image, width);
        width = orthonormal(&mut block, n, width);
        if width == 0 {
            break;
        }
    }
    best.fix_signs(n);
    best
}

impl Leading {
    /// An eigenvector is one of two; the one whose largest coordinate is positive is taken.
    fn fix_signs(&mut self, n: usize) {
        for k in 0..self.count {
            let (mut most, mut sign) = (0.0, 1.0);
            for i in 0..n {
                let value: f64 = self.vectors[i * self.count + k];
                if value.abs() > most {
                    (most, sign) = (value.abs(), value.signum());
                }
            }
            (0..n).for_each(|i| self.vectors[i * self.count + k] *= sign);
        }
    }

    /// The coordinates of every row of a matrix along the directions, row by row.
    pub fn project(&self, matrix: &Sparse, means: Option<&[f64]>) -> Vec<f64> {
        let shift = means.map_or(vec![0.0; self.count], |means| across(means, &self.vectors, self.count));
        let mut out = Vec::with_capacity(matrix.rows() * self.count);
        let mut row = vec![0.0; self.count];
        for number in 0..matrix.rows() {
            gather(matrix.row(number), &self.vectors, &mut row);
            out.extend(row.iter().zip(&shift).map(|(value, shift)| value - shift));
        }
        out
    }
}

/// A'A V, or the same for the centred matrix: (A - 1 m')'(A - 1 m') V = A'A V - n m (m'V).
fn apply(matrix: &Sparse, means: Option<&[f64]>, block: &[f64], width: usize) -> Vec<f64> {
    let mut image = vec![0.0; block.len()];
    let mut along = vec![0.0; width];
    for number in 0..matrix.rows() {
        let row = matrix.row(number);
        gather(row, block, &mut along);
        for (column, value) in row {
            let target = &mut image[*column as usize * width..][..width];
            for (target, along) in target.iter_mut().zip(&along) {
                *target += value * along;
            }
        }
    }
    if let Some(means) = means {
        let (shift, rows) = (across(means, block, width), matrix.rows() as f64);
        for (mean, target) in means.iter().zip(image.chunks_exact_mut(width)) {
            let weight = rows * mean;
            for (target, shift) in target.iter_mut().zip(&shift) {
                *target -= weight * shift;
            }
        }
    }
    image
}

/// A sparse row times a block.
fn gather(row: &[(u32, f64)], block: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (column, value) in row {
        let from = &block[*column as usize * out.len()..][..out.len()];
        for (out, from) in out.iter_mut().zip(from) {
            *out += value * from;
        }
    }
}

/// A row of numbers times a block.
fn across(row: &[f64], block: &[f64], width: usize) -> Vec<f64> {
    let mut out = vec![0.0; width];
    for (value, from) in row.iter().zip(block.chunks_exact(width.max(1))) {
        for (out, from) in out.iter_mut().zip(from) {
            *out += value * from;
        }
    }
    out
}

/// X'Y, made symmetric.
fn gram(x: &[f64], y: &[f64], n: usize, width: usize) -> Vec<f64> {
    let mut out = vec![0.0; width * width];
    for at in 0..n {
        let (x, y) = (&x[at * width..][..width], &y[at * width..][..width]);
        for (x, out) in x.iter().zip(out.chunks_exact_mut(width)) {
            for (out, y) in out.iter_mut().zip(y) {
                *out += x * y;
            }
        }
    }
    for i in 0..width {
        for j in 0..i {
            let middle = 0.5 * (out[i * width + j] + out[j * width + i]);
            (out[i * width + j], out[j * width + i]) = (middle, middle);
        }
    }
    out
}

/// X times the first `keep` columns of a square matrix.
fn turn(x: &[f64], n: usize, width: usize, rotation: &[f64], keep: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * keep];
    for at in 0..n {
        let out = &mut out[at * keep..][..keep];
        for (x, row) in x[at * width..][..width].iter().zip(rotation.chunks_exact(width)) {
            for (out, value) in out.iter_mut().zip(row) {
                *out += x * value;
            }
        }
    }
    out
}

/// An orthonormal basis of the columns, in place; gives its width, less where columns depend on each other.
fn orthonormal(block: &mut Vec<f64>, n: usize, mut width: usize) -> usize {
    // The second time removes what rounding left of the first.
    for _ in 0..2 {
        if width == 0 {
            return 0;
        }
        let (squares, mut rotation) = eigen(&gram(block, block, n, width), width);
        let least = squares.first().copied().unwrap_or_default() * 1e-14;
        let keep = squares.iter().take_while(|square| **square > least && **square > 0.0).count();
        for row in rotation.chunks_exact_mut(width) {
            for (value, square) in row.iter_mut().zip(&squares).take(keep) {
                *value /= square.sqrt();
            }
        }
        *block = turn(block, n, width, &rotation, keep);
        width = keep;
    }
    width
}

/// The length of A'A v - l v, for the k-th column of each.
fn off(vectors: &[f64], count: usize, image: &[f64], width: usize, k: usize, value: f64) -> f64 {
    let square = |(v, image): (&[f64], &[f64])| {
        let difference = image[k] - value * v[k];
        difference * difference
    };
    vectors.chunks_exact(count).zip(image.chunks_exact(width)).map(square).sum::<f64>().sqrt()
}
