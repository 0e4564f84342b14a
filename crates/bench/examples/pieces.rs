//! Where the time goes.
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
    // frequency: dependent adds
    let f = least(
        || {
            let mut x = black_box(1u64);
            for _ in 0..1000 {
                x = black_box(x).wrapping_mul(3);
            }
            black_box(x);
        },
        10,
    );
    println!("chain {f}");
    for (d, k) in [(10, 10), (25, 25), (100, 100), (25, 1000)] {
        let p = Problem::new(d, k, 1);
        let mut tiles = Tiles::default();
        tiles.fill(d, p.rows(0));
        let n = (300_000 / (d * d * k)).max(2);
        for level in Level::available() {
            if level == Level::Scalar {
                continue;
            }
            let mut s = Scores::default();
            let mut fa = Factor::ridge(d, 1.0);
            let mut gram = vec![0.0; d * (d + 1) / 2];
            for x in p.rows(0).chain(p.rows(0)) {
                fa.learn_with(level, x, 0.3);
                for i in 0..d {
                    for j in 0..=i {
                        gram[i * (i + 1) / 2 + j] += x[i] * x[j];
                    }
                }
            }
            let b = vec![0.5; d];
            let score = least(|| fa.score_with(level, black_box(&tiles), &mut s), n);
            let pick = least(
                || {
                    black_box(s.optimistic_with(level, black_box(1.0)));
                },
                n,
            );
            let x = p.rows(0).next().unwrap();
            let mut f2 = fa.clone();
            let learn = least(
                || {
                    f2.learn_with(level, black_box(x), 0.3);
                },
                n,
            );
            let mut f3 = fa.clone();
            let rebuild = least(|| f3.rebuild_with(level, black_box(&gram), &b, 1.0).unwrap(), n / 2 + 1);
            let mut t2 = Tiles::default();
            let pack = least(|| t2.fill(d, p.rows(0)), n);
            let one = least(
                || {
                    black_box(fa.mean_and_width2(x));
                },
                n,
            );
            println!(
                "{d:4} {k:5} {level:?}: score {score:.0} pick {pick:.0} learn {learn:.0} rebuild {rebuild:.0} pack {pack:.0} one {one:.0}"
            );
        }
    }
}
