//! Serialisation, arms in tiles, and how arms are picked.

mod common;

use cahoots_kernel::{Factor, Level, Picked, Rows, Scores, Tiles};
use common::{Uniform, tiles};
use serde::Serialize;

fn some_factor(dim: usize) -> Factor {
    let mut random = Uniform(dim as u64);
    let mut factor = Factor::ridge(dim, 0.1);
    for _ in 0..20 {
        factor.learn(&random.vector(dim), random.next());
    }
    factor
}

#[test]
fn a_factor_round_trips_bit_for_bit() {
    for dim in [0, 1, 2, 7, 8, 9, 25, 64, 100] {
        let factor = some_factor(dim);
        let bytes = postcard::to_stdvec(&factor).unwrap();
        let mut back: Factor = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(back, factor);
        assert_eq!(postcard::to_stdvec(&back).unwrap(), bytes);
        // And lives on alike.
        let (mut factor, x) = (factor, Uniform(9).vector(dim));
        assert_eq!(factor.learn(&x, 0.4).to_bits(), back.learn(&x, 0.4).to_bits());
        assert_eq!(postcard::to_stdvec(&factor).unwrap(), postcard::to_stdvec(&back).unwrap());
        // The triangle, z and log det, and two lengths: no padding.
        assert!(bytes.len() <= 8 * (dim * (dim + 1) / 2 + dim + 1) + 8);
    }
}

#[test]
fn a_factor_whose_lengths_disagree_is_refused() {
    #[derive(Serialize)]
    struct Forged {
        w: Vec<f64>,
        z: Vec<f64>,
        log_det: f64,
    }
    let decode = |w: usize, z: usize| {
        let forged = Forged { w: vec![1.0; w], z: vec![0.0; z], log_det: 0.0 };
        postcard::from_bytes::<Factor>(&postcard::to_stdvec(&forged).unwrap())
    };
    assert!(decode(6, 3).is_ok());
    for (w, z) in [(0, 1), (1, 0), (5, 3), (7, 3), (9, 3), (3, 3)] {
        assert!(decode(w, z).is_err(), "{w} entries of W for {z} of z");
    }
}

#[test]
fn tiles_hold_their_rows() {
    for dim in [0, 1, 3, 7, 8, 9, 15, 16, 25, 100] {
        let mut filled = Tiles::default();
        for count in [40, 0, 1, 7, 8, 9, 17, 3] {
            let rows = Uniform((dim + count) as u64).vectors(count, dim);
            // Again and again into the same buffer.
            filled.fill(dim, rows.iter().map(Vec::as_slice));
            let mut pushed = Tiles::new(dim);
            rows.iter().for_each(|row| pushed.push(row));
            for tiles in [&filled, &pushed] {
                assert_eq!((tiles.dim(), tiles.len(), tiles.is_empty()), (dim, count, count == 0));
                for (k, row) in rows.iter().enumerate() {
                    let mut out = vec![f64::NAN; dim];
                    tiles.row_into(k, &mut out);
                    assert_eq!(&out, row);
                }
            }
        }
        filled.reset(2);
        assert_eq!((filled.dim(), filled.len()), (2, 0));
    }
}

/// Any columns of any rows, in any order and repeated, over whatever the buffer held.
#[test]
fn gathered_rows_are_those_of_the_pool() {
    let mut gathered = Tiles::default();
    for width in [1, 3, 8, 10, 25, 300] {
        let size = 50;
        let rows = Uniform(width as u64).vectors(size, width);
        let pool = Rows::new(width, &rows.concat()).unwrap();
        assert!(pool.iter().eq(&rows) && pool.row(7) == rows[7]);
        for columns in [0..width, 0..width / 2, width / 3..width, width - 1..width] {
            for count in [40, 0, 1, 2, 3, 7, 8, 9, 10, 11, 17] {
                let picked: Vec<u32> = (0..count).map(|k| (k * 37 + 11) % size as u32).collect();
                let expected = picked.iter().map(|&row| &rows[row as usize][columns.clone()]);
                let mut filled = Tiles::default();
                filled.fill(columns.len(), expected);
                gathered.gather(&pool, columns.clone(), &picked);
                assert!(gathered.is_usable());
                let same = |tiles: &Tiles| format!("{tiles:?}").replace("usable: true", "usable: false");
                assert_eq!(same(&gathered), same(&filled), "{count} rows of {width}, columns {columns:?}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "no column")]
fn columns_that_a_pool_lacks_are_refused() {
    Tiles::default().gather(&Rows::new(2, &[1.0, 2.0]).unwrap(), 1..3, &[0]);
}

#[test]
fn absent_lanes_of_a_reused_buffer_are_zero() {
    // A NaN left in a lane that is absent now would show up nowhere but in the wrong sums.
    let mut tiles = Tiles::default();
    let bad = vec![vec![f64::NAN; 5]; 16];
    tiles.fill(5, bad.iter().map(Vec::as_slice));
    let good = Uniform(1).vectors(9, 5);
    tiles.fill(5, good.iter().map(Vec::as_slice));
    let mut scores = Scores::default();
    some_factor(5).score(&tiles, &mut scores);
    assert_eq!(scores.mean.len(), 9);
    assert!(scores.mean.iter().chain(&scores.width2).all(|v| v.is_finite()));
    assert!(format!("{tiles:?}").find("NaN").is_none());
}

#[test]
#[should_panic(expected = "wrong dimension")]
fn an_arm_of_the_wrong_dimension_is_refused() {
    Tiles::new(3).push(&[1.0, 2.0]);
}

#[test]
#[should_panic(expected = "wrong dimension")]
fn arms_of_the_wrong_dimension_are_refused() {
    some_factor(3).score(&tiles(2, &[vec![1.0, 2.0]]), &mut Scores::default());
}

/// What comes from a pool counts as finite until something else is written.
#[test]
fn tiles_know_whether_they_are_finite() {
    let (good, bad) = (vec![1.0, 2.0, 3.0], vec![1.0, f64::NAN, 3.0]);
    let pool = Rows::new(3, &good).unwrap();
    assert!(Rows::new(3, &bad).is_none());
    for count in [1, 8, 9] {
        let picked = vec![0; count];
        let mut tiles = Tiles::default();
        tiles.gather(&pool, 0..3, &picked);
        assert!(tiles.is_usable());
        tiles.push(&bad);
        assert!(!tiles.is_usable());
        tiles.gather(&pool, 0..3, &picked);
        tiles.fill(3, (0..count).map(|k| if k + 1 == count { &bad[..] } else { &good[..] }));
        assert!(!tiles.is_usable());
        tiles.gather(&pool, 0..3, &picked);
        tiles.reset(3);
        tiles.push(&bad);
        assert!(!tiles.is_usable());
    }
}

#[test]
fn the_first_of_the_best_arms_is_picked() {
    for level in Level::available() {
        for count in [1, 2, 7, 8, 9, 23, 24, 40] {
            for best in 0..count {
                let mut scores = Scores { mean: vec![-3.0; count], width2: vec![4.0; count] };
                assert_eq!(scores.highest_bound_with(level, 2.0, None).arm, 0);
                scores.mean[best] = -2.5;
                scores.mean[count - 1] = -2.5;
                assert_eq!(scores.highest_bound_with(level, 2.0, None).arm, best);
                // A width counts as much.
                scores.mean[best] = -3.0;
                scores.width2[best] = 9.0;
                let picked = scores.highest_bound_with(level, 2.0, None);
                assert_eq!(picked, Picked { arm: best, mean: -3.0, width: 3.0 });
                // NaN never wins.
                scores.width2[best] = f64::NAN;
                let expected = if best == count - 1 { 0 } else { count - 1 };
                assert_eq!(scores.highest_bound_with(level, 2.0, None).arm, expected);
            }
        }
    }
}
