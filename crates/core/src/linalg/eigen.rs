//! Eigenvalues and eigenvectors of small symmetric matrices, by Jacobi's rotations: accurate to the last places, the
//! same bits on every host, and of order `10 d^3`.

use super::Symmetric;

/// `A = sum of value_i vector_i vector_i'`.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigen {
    /// In no particular order.
    pub values: Vec<f64>,
    /// Orthonormal, one after the other.
    vectors: Vec<f64>,
}

/// Sweeps over all pairs; convergence is quadratic, so some ten are enough for any matrix of doubles.
const MOST_SWEEPS: usize = 60;

impl Eigen {
    /// Of a matrix of finite numbers.
    pub fn of(matrix: &Symmetric) -> Eigen {
        let d = matrix.dim();
        let mut a: Vec<f64> = (0..d * d).map(|at| matrix.get(at / d, at % d)).collect();
        let mut vectors: Vec<f64> = (0..d * d).map(|at| f64::from(u8::from(at / d == at % d))).collect();
        let size: f64 = a.iter().map(|v| v * v).sum();
        for _ in 0..MOST_SWEEPS {
            let pairs = (0..d).flat_map(|p| (0..p).map(move |q| (p, q)));
            let off: f64 = pairs.clone().map(|(p, q)| a[p * d + q] * a[p * d + q]).sum();
            if off <= size * f64::EPSILON * f64::EPSILON {
                break;
            }
            pairs.for_each(|(p, q)| rotate(&mut a, &mut vectors, d, p, q));
        }
        Eigen { values: (0..d).map(|i| a[i * d + i]).collect(), vectors }
    }

    /// The vector of the `index`-th value.
    pub fn vector(&self, index: usize) -> &[f64] {
        let d = self.values.len();
        &self.vectors[index * d..(index + 1) * d]
    }

    /// The matrix with other values in the place of its own.
    pub fn with(&self, values: impl Fn(f64) -> f64) -> Symmetric {
        let d = self.values.len();
        let mut sum = Symmetric::zero(d);
        for (index, &value) in self.values.iter().enumerate() {
            let (weight, vector) = (values(value), self.vector(index));
            let places = (0..d).flat_map(|row| (0..=row).map(move |column| (row, column)));
            for (entry, (row, column)) in sum.packed_mut().iter_mut().zip(places) {
                *entry += weight * vector[row] * vector[column];
            }
        }
        sum
    }

    /// The same, times a vector.
    pub fn apply(&self, values: impl Fn(f64) -> f64, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; x.len()];
        for (index, &value) in self.values.iter().enumerate() {
            let vector = self.vector(index);
            let weight = values(value) * super::dot(vector, x);
            out.iter_mut().zip(vector).for_each(|(to, v)| *to += weight * v);
        }
        out
    }
}

/// Makes entry (p, q) zero (Golub and Van Loan, 8.5.2), in the matrix and in the vectors, which are rows.
fn rotate(a: &mut [f64], vectors: &mut [f64], d: usize, p: usize, q: usize) {
    let (app, aqq, apq) = (a[p * d + p], a[q * d + q], a[p * d + q]);
    if apq == 0.0 {
        return;
    }
    let tau = (aqq - app) / (2.0 * apq);
    let t = 1.0f64.copysign(tau) / (tau.abs() + (1.0 + tau * tau).sqrt());
    let c = 1.0 / (1.0 + t * t).sqrt();
    let s = t * c;
    for k in 0..d {
        let (kp, kq) = (a[k * d + p], a[k * d + q]);
        a[k * d + p] = c * kp - s * kq;
        a[k * d + q] = s * kp + c * kq;
    }
    for matrix in [a, vectors] {
        for k in 0..d {
            let (pk, qk) = (matrix[p * d + k], matrix[q * d + k]);
            matrix[p * d + k] = c * pk - s * qk;
            matrix[q * d + k] = s * pk + c * qk;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Keys, NodeId};

    #[test]
    fn values_and_vectors_put_the_matrix_together_again() {
        let mut rng = Keys::from_seed(3).policy(NodeId(0), 0);
        for dim in [1, 2, 5, 25] {
            let packed = (0..Symmetric::packed_len(dim)).map(|_| rng.normal()).collect();
            let matrix = Symmetric::from_packed(dim, packed).unwrap();
            let eigen = Eigen::of(&matrix);
            let again = eigen.with(|value| value);
            for (a, b) in matrix.packed().iter().zip(again.packed()) {
                assert!((a - b).abs() < 1e-12 * dim as f64, "{a} {b}");
            }
            for i in 0..dim {
                for j in 0..=i {
                    let inner = super::super::dot(eigen.vector(i), eigen.vector(j));
                    assert!((inner - f64::from(u8::from(i == j))).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn known_values_are_found_and_functions_of_them_applied() {
        let matrix = Symmetric::from_packed(2, vec![2.0, 1.0, 2.0]).unwrap();
        let eigen = Eigen::of(&matrix);
        let mut values = eigen.values.clone();
        values.sort_by(f64::total_cmp);
        assert!((values[0] - 1.0).abs() < 1e-15 && (values[1] - 3.0).abs() < 1e-15);
        // The inverse: [2, -1; -1, 2] / 3.
        let x = eigen.apply(|value| 1.0 / value, &[3.0, 0.0]);
        assert!((x[0] - 2.0).abs() < 1e-14 && (x[1] + 1.0).abs() < 1e-14);
    }
}
