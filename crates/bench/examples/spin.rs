//! Runs one operation for profiling.
use std::hint::black_box;

use cahoots_bench::problem::Problem;
use cahoots_kernel::*;

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (d, k): (usize, usize) = (a[2].parse().unwrap(), a[3].parse().unwrap());
    let level = if a[4] == "2" { Level::Avx2 } else { Level::Avx512 };
    let p = Problem::new(d, k, 1);
    let mut tiles = Tiles::default();
    tiles.fill(d, p.rows(0));
    let mut fa = Factor::ridge(d, 1.0);
    let mut s = Scores::default();
    let n = 5_000_000;
    let gram = vec![0.0; d * (d + 1) / 2];
    let x = p.rows(0).next().unwrap();
    let t = std::time::Instant::now();
    for _ in 0..n {
        match &a[1][..] {
            "score" => fa.score_with(level, black_box(&tiles), &mut s),
            "pack" => tiles.fill(d, p.rows(0)),
            "learn" => {
                fa.learn_with(level, black_box(x), 0.3);
            }
            "rebuild" => fa.rebuild_with(level, &gram, x, 1.0).unwrap(),
            _ => {}
        }
    }
    println!("{}", t.elapsed().as_nanos() as f64 / n as f64);
}
