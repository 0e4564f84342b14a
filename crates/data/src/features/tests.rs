use cahoots_sim::draw::{Draw, Purpose};

use super::*;

/// A matrix of 60 rows and 30 columns, most of it zeros.
fn matrix() -> Sparse {
    let mut draw = Draw::keyed(3, Purpose::World, 0, 0);
    let row = |_| (0..30).filter_map(|column| (draw.uniform() < 0.3).then(|| (column, draw.uniform()))).collect();
    Sparse::new(30, (0..60).map(row))
}

/// The first right singular vectors by faer's full decomposition.
fn by_faer(matrix: &Sparse, means: Option<&[f64]>) -> (Vec<f64>, faer::Mat<f64>) {
    let dense = faer::Mat::from_fn(matrix.rows(), matrix.columns, |i, j| {
        let entry = matrix.row(i).iter().find(|(column, _)| *column as usize == j);
        entry.map_or(0.0, |(_, value)| *value) - means.map_or(0.0, |means| means[j])
    });
    let svd = dense.svd().unwrap();
    let values = (0..matrix.columns).map(|k| svd.S()[k] * svd.S()[k]).collect();
    (values, svd.V().to_owned())
}

#[test]
fn directions_are_those_of_a_full_decomposition() {
    let matrix = matrix();
    let means = matrix.means();
    for means in [None, Some(means.as_slice())] {
        for count in [1, 5, 12] {
            let found = leading(&matrix, means, count, &mut |_, _| ());
            assert!(found.residual <= RESIDUAL, "{}", found.residual);
            let (values, vectors) = by_faer(&matrix, means);
            for k in 0..count {
                assert!((found.values[k] - values[k]).abs() < 1e-9 * values[0], "value {k}");
                let product: f64 = (0..30).map(|i| found.vectors[i * count + k] * vectors[(i, k)]).sum();
                assert!((product.abs() - 1.0).abs() < 1e-9, "vector {k} of {count}: {product}");
                let column = (0..30).map(|i| found.vectors[i * count + k]);
                let largest = column.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap();
                assert!(largest > 0.0, "the sign of vector {k}");
            }
        }
    }
}

#[test]
fn more_directions_than_there_are_leave_the_rest_zero() {
    let matrix = Sparse::new(3, (0..5).map(|i| vec![(0, f64::from(i)), (1, 2.0 * f64::from(i))]));
    let found = leading(&matrix, None, 3, &mut |_, _| ());
    assert_eq!(found.count, 1);
    assert!((found.values[0] - 5.0 * 30.0).abs() < 1e-9);
}
