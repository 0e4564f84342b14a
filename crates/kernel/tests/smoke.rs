use cahoots_kernel::*;
#[test]
fn smoke() {
    let mut seed = 1u64;
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    for d in [1usize, 2, 3, 7, 8, 9, 10, 16, 17, 25, 31, 33, 40] {
        for k in [1usize, 3, 4, 5, 8, 9, 12, 25, 40, 70] {
            let rows: Vec<Vec<f64>> = (0..k).map(|_| (0..d).map(|_| next()).collect()).collect();
            let mut t = Tiles::new(d);
            t.fill(d, rows.iter().map(|r| &r[..]));
            let mut out = vec![0.0; d];
            for i in 0..k {
                t.row_into(i, &mut out);
                assert_eq!(out, rows[i]);
            }
            let mut fs: Vec<(Level, Factor, Scores)> = Level::available()
                .into_iter()
                .map(|l| (l, Factor::ridge(d, 0.1), Scores::default()))
                .collect();
            let mut gram = vec![0.0; d * (d + 1) / 2];
            let mut b = vec![0.0; d];
            for s in 0..20 {
                let x = &rows[s % k];
                let r = next();
                for i in 0..d {
                    for j in 0..=i {
                        gram[i * (i + 1) / 2 + j] += x[i] * x[j];
                    }
                    b[i] += r * x[i];
                }
                for (l, f, sc) in &mut fs {
                    f.learn_with(*l, x, r);
                    f.score_with(*l, &t, sc);
                }
            }
            let f2 = Factor::of(&gram, &b, 0.1).unwrap();
            for (l, f, sc) in &fs {
                assert!(
                    (f.log_det() - f2.log_det()).abs() < 1e-10,
                    "{l:?} {d} {} {}",
                    f.log_det(),
                    f2.log_det()
                );
                let (a, c) = (f.theta(), f2.theta());
                for i in 0..d {
                    assert!((a[i] - c[i]).abs() < 1e-9, "{l:?} {d} {i}");
                }
                if *l != Level::Plain {
                    assert_eq!(f, &fs[1].1, "{l:?}");
                    assert_eq!(sc.mean, fs[1].2.mean);
                    assert_eq!(sc.width2, fs[1].2.width2);
                    for i in 0..k {
                        let (m, w) = f.mean_and_width2(&rows[i]);
                        assert!(m == sc.mean[i] && w == sc.width2[i]);
                    }
                    let mut g = f.clone();
                    g.rebuild_with(*l, &gram, &b, 0.1).unwrap();
                    assert_eq!(g, f2);
                }
            }
        }
    }
}
