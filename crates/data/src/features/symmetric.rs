//! Eigenvectors of small symmetric matrices by Jacobi's rotations: plain loops in a fixed order, so that every machine
//! computes the same bits.

/// Eigenvalues, descending, and for each its eigenvector as a column: `vectors[i * n + k]` is coordinate i of the k-th.
pub(super) fn eigen(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    let mut v = vec![0.0; n * n];
    (0..n).for_each(|i| v[i * n + i] = 1.0);
    // Quadratic convergence: a matrix of a few hundred rows takes about ten sweeps.
    for _ in 0..60 {
        let (mut off, mut all) = (0.0, 0.0);
        for i in 0..n {
            for j in 0..n {
                let square = a[i * n + j] * a[i * n + j];
                all += square;
                off += if i == j { 0.0 } else { square };
            }
        }
        if off <= all * 1e-30 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut v, n, p, q);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[j * n + j].total_cmp(&a[i * n + i]));
    let values = order.iter().map(|&k| a[k * n + k]).collect();
    let mut vectors = vec![0.0; n * n];
    for i in 0..n {
        for (k, &from) in order.iter().enumerate() {
            vectors[i * n + k] = v[i * n + from];
        }
    }
    (values, vectors)
}

/// Makes the entry at (p, q) zero (Golub and Van Loan, 8.5.2).
fn rotate(a: &mut [f64], v: &mut [f64], n: usize, p: usize, q: usize) {
    let apq = a[p * n + q];
    if apq == 0.0 {
        return;
    }
    let tau = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
    let root = (1.0 + tau * tau).sqrt();
    let t = if tau >= 0.0 { 1.0 / (tau + root) } else { 1.0 / (tau - root) };
    let c = 1.0 / (1.0 + t * t).sqrt();
    let s = t * c;
    for k in 0..n {
        let (akp, akq) = (a[k * n + p], a[k * n + q]);
        a[k * n + p] = c * akp - s * akq;
        a[k * n + q] = s * akp + c * akq;
    }
    for k in 0..n {
        let (apk, aqk) = (a[p * n + k], a[q * n + k]);
        a[p * n + k] = c * apk - s * aqk;
        a[q * n + k] = s * apk + c * aqk;
    }
    for k in 0..n {
        let (vkp, vkq) = (v[k * n + p], v[k * n + q]);
        v[k * n + p] = c * vkp - s * vkq;
        v[k * n + q] = s * vkp + c * vkq;
    }
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
