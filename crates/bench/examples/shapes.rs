//! Score times against the FMA bound.
use std::hint::black_box;
use std::time::Instant;

use cahoots_bench::problem::Problem;
use cahoots_kernel::*;

fn least(mut f: impl FnMut(), n: usize) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..300 {
        let t = Instant::now();
        for _ in 0..n {
            f();
        }
        best = best.min(t.elapsed().as_nanos() as f64 / n as f64);
    }
    best
}

fn main() {
    for d in [10, 24, 25, 26, 27, 28, 32] {
        for k in [4, 8, 10, 16, 24, 25, 32, 64] {
            let p = Problem::new(d, k, 1);
            let mut tiles = Tiles::default();
            tiles.fill(d, p.rows(0));
            let fa = Factor::ridge(d, 1.0);
            let mut s = Scores::default();
            let halves = (k as f64 / 4.0).ceil();
            let bound = 0.139 * halves * (d * (d + 1) / 2 + 2 * d) as f64;
            print!("{d} {k} bound {bound:.0}");
            for level in [Level::Avx2, Level::Avx512] {
                let score = least(|| fa.score_with(level, black_box(&tiles), &mut s), 50);
                print!("  {level:?} {score:.0} ({:.2})", score / bound);
            }
            println!();
        }
    }
}
