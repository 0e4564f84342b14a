use cahoots_sim::draw::{Draw, Purpose};

use super::*;

/// A matrix of 60 rows and 30 columns, most of it zeros.
fn matrix() -> Sparse {
    let mut draw = Draw::keyed(3, Purpose::World, 0, 0);
    let mut entry = |column| (column, if draw.uniform() < 0.3 { draw.uniform() } else { 0.0 });
    let row = |_| (0..30).map(&mut entry).filter(|(_, value)| *value > 0.0).collect();
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

mod kept {
    use std::fs;

    use cahoots_sim::files::Here;

    use super::super::*;
    use crate::datasets::{Folder, Kind, load, synthetic};

    #[test]
    fn what_was_computed_is_found_again_and_what_is_damaged_is_made_anew() {
        let data = tempfile::tempdir().unwrap();
        synthetic::write(Kind::Lastfm, data.path()).unwrap();
        let set = load(&Folder::new(&Here, data.path().to_str().unwrap()), None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(&folder.path().join("new"));
        let computed = Features::compute(&set, Variant::Gob, 5, &mut |_, _| ());
        assert_eq!(computed, Features::compute(&set, Variant::Gob, 5, &mut |_, _| ()), "to the bit");
        assert_eq!(cache.state(&set, Variant::Gob, 5), Kept::Absent);
        assert!(cache.put(&set, Variant::Gob, &computed));
        assert_eq!(cache.get(&set, Variant::Gob, 5), Some(computed.clone()));
        for (variant, dim) in [(Variant::Svd, 5), (Variant::Gob, 6)] {
            assert_eq!(cache.state(&set, variant, dim), Kept::Absent);
        }
        let path = cache.path(&set, Variant::Gob, 5);
        let whole = fs::read(&path).unwrap();
        for at in [0, 20, whole.len() / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            assert_eq!(cache.state(&set, Variant::Gob, 5), Kept::Damaged, "byte {at}");
        }
        fs::write(&path, &whole[..whole.len() - 8]).unwrap();
        assert_eq!(cache.get(&set, Variant::Gob, 5), None, "cut short");
        assert!(cache.put(&set, Variant::Gob, &computed));
        assert_eq!(fs::read(&path).unwrap(), whole);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing unfinished is left");
        // A folder that cannot be made is no failure.
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(!Cache::at(&folder.path().join("file")).put(&set, Variant::Gob, &computed));
    }
}
