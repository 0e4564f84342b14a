//! Eigenvectors of small symmetric matrices, the largest values first.

use cahoots_core::linalg::{Eigen, Symmetric};

/// Eigenvalues, descending, and for each its eigenvector as a column: `vectors[i * n + k]` is coordinate i of the k-th.
pub(super) fn eigen(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut lower = Symmetric::zero(n);
    let places = (0..n).flat_map(|row| (0..=row).map(move |column| row * n + column));
    for (entry, place) in lower.packed_mut().iter_mut().zip(places) {
        *entry = matrix[place];
    }
    let found = Eigen::of(&lower);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| found.values[j].total_cmp(&found.values[i]));
    let mut vectors = vec![0.0; n * n];
    for (k, &from) in order.iter().enumerate() {
        for (i, coordinate) in found.vector(from).iter().enumerate() {
            vectors[i * n + k] = *coordinate;
        }
    }
    (order.iter().map(|&k| found.values[k]).collect(), vectors)
}

#[cfg(test)]
mod tests {
    use cahoots_sim::draw::{Draw, Purpose};

    use super::*;

    #[test]
    fn agrees_with_faer() {
        for n in [1, 2, 7, 40] {
            let mut draw = Draw::keyed(n as u64, Purpose::World, 0, 0);
            let mut matrix = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..=i {
                    let value = draw.normal();
                    (matrix[i * n + j], matrix[j * n + i]) = (value, value);
                }
            }
            let (values, vectors) = eigen(&matrix, n);
            let whole = faer::Mat::from_fn(n, n, |i, j| matrix[i * n + j]);
            let mut expected = whole.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
            expected.reverse();
            for (value, expected) in values.iter().zip(&expected) {
                assert!((value - expected).abs() < 1e-12 * n as f64, "{value}, not {expected}");
            }
            for k in 0..n {
                for i in 0..n {
                    let product: f64 = (0..n).map(|j| matrix[i * n + j] * vectors[j * n + k]).sum();
                    assert!((product - values[k] * vectors[i * n + k]).abs() < 1e-12 * n as f64);
                }
            }
        }
    }
}
