//! The law against tables, the statistic against its definition, the shortcuts
//! against the long way.

use proptest::prelude::*;

use super::chi_square::{cumulative, noncentrality_at, sankaran, survival, upper_quantile};
use super::{HomogeneityTest, Noncentrality, Sample};
use crate::linalg::{PseudoInverse, dot};
use crate::{Keys, LinearStats, NodeId, Stream};

fn relative(found: f64, expected: f64) -> f64 {
    (found / expected - 1.0).abs()
}

/// Both tails, from 1e-13 to 1e-260, against the Poisson mixture in 60 digits.
#[test]
fn both_tails_are_right_to_1e_10() {
    let table = include_str!("../../testdata/noncentral_chi_square.csv");
    for line in table.lines() {
        let row: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        let [x, df, noncentrality, upper, lower] = row[..] else { panic!("{line}") };
        for (found, expected) in
            [(survival(x, df, noncentrality), upper), (cumulative(x, df, noncentrality), lower)]
        {
            // Below the smallest normal number there are no ten digits to have.
            assert!(
                expected < 1e-300 && found < 1e-300 || relative(found, expected) < 1e-10,
                "{line}: {found:e}, not {expected:e}"
            );
        }
    }
}

/// P. B. Patnaik, The non-central chi-square and F distributions, Biometrika 1949.
#[test]
fn published_values_are_met() {
    for (df, noncentrality, x, p) in [
        (4.0, 4.0, 1.765, 0.05),
        (4.0, 4.0, 10.0, 0.7118),
        (4.0, 4.0, 24.0, 0.9925),
        (4.0, 10.0, 10.0, 0.3148),
        (7.0, 1.0, 4.0, 0.1628),
        (7.0, 16.0, 38.97, 0.95),
        (12.0, 6.0, 24.0, 0.8174),
        (16.0, 8.0, 40.0, 0.9632),
        (16.0, 32.0, 60.0, 0.8316),
        (24.0, 24.0, 72.0, 0.9667),
    ] {
        assert!((cumulative(x, df, noncentrality) - p).abs() < 5.1e-5, "{df} {noncentrality} {x}");
    }
}

#[test]
fn edges_and_huge_noncentralities_are_taken() {
    assert_eq!((survival(0.0, 3.0, 1.0), cumulative(0.0, 3.0, 1.0)), (1.0, 0.0));
    assert_eq!((survival(f64::INFINITY, 3.0, 1.0), cumulative(f64::INFINITY, 3.0, 0.0)), (0.0, 1.0));
    assert!(survival(f64::NAN, 3.0, 1.0).is_nan());
    // Where the sum gives way to the approximation, both say the same.
    for z in [-3.0, 0.0, 4.0] {
        let noncentrality: f64 = 0.99e8;
        let x = noncentrality + z * (4.0 * noncentrality).sqrt();
        let approximate = 0.5 * libm::erfc(sankaran(x, 5.0, noncentrality) / std::f64::consts::SQRT_2);
        let gap = relative(survival(x, 5.0, noncentrality), approximate);
        assert!(gap < 1e-6, "{z}: {gap:e}");
    }
}

#[test]
fn quantiles_and_noncentralities_invert_the_law() {
    for df in [1.0, 25.0] {
        for noncentrality in [0.0, 0.11, 30.0] {
            for tail in [0.5, 0.01, 1.1e-4] {
                let x = upper_quantile(tail, df, noncentrality);
                assert!(relative(survival(x, df, noncentrality), tail) < 1e-9);
            }
        }
        let found = noncentrality_at(1e-5, 60.0, df);
        assert!(relative(cumulative(60.0, df, found), 1e-5) < 1e-9);
    }
    assert!(noncentrality_at(0.9, 1.0, 25.0) < 1e-9, "lower from the start");
}

fn data(rng: &mut Stream, theta: &[f64], n: usize, noise: f64) -> (LinearStats, f64) {
    let mut stats = LinearStats::empty(theta.len());
    let mut squares = 0.0;
    for _ in 0..n {
        let x: Vec<f64> = theta.iter().map(|_| rng.normal()).collect();
        let y = dot(&x, theta) + noise * rng.normal();
        stats.observe(&x, y);
        squares += y * y;
    }
    (stats, squares)
}

fn residual_squares(stats: &LinearStats, squares: f64) -> f64 {
    squares - dot(&stats.moment, &PseudoInverse::of(&stats.gram).solve(&stats.moment))
}

fn equality(dim: usize) -> HomogeneityTest {
    equality_at(0.01, dim)
}

fn equality_at(cut: f64, dim: usize) -> HomogeneityTest {
    HomogeneityTest::new(0.01, cut, Noncentrality::Fixed(0.0), dim)
}

/// A symmetric matrix, all of it.
fn square(matrix: &crate::Symmetric) -> Vec<Vec<f64>> {
    (0..matrix.dim()).map(|i| (0..matrix.dim()).map(|j| matrix.get(i, j)).collect()).collect()
}

/// V2 (V1 + V2)^- V1, column by column.
fn parallel_sum(a: &Sample, b: &Sample) -> Vec<Vec<f64>> {
    let mut sum = a.stats().gram.clone();
    sum.add(&b.stats().gram);
    let (inverse, first, second) = (PseudoInverse::of(&sum), &a.stats().gram, square(&b.stats().gram));
    let column = |j: usize| {
        let solved = inverse.solve(&square(first)[j]);
        second.iter().map(|row| dot(row, &solved)).collect()
    };
    (0..first.dim()).map(column).collect()
}

/// All eigenvalues at once, by Jacobi's rotations; the largest of them.
fn jacobi(mut m: Vec<Vec<f64>>) -> f64 {
    let dim = m.len();
    for _ in 0..60 {
        for p in 0..dim {
            for q in p + 1..dim {
                let angle = 0.5 * libm::atan2(2.0 * m[p][q], m[q][q] - m[p][p]);
                let (sin, cos) = (libm::sin(angle), libm::cos(angle));
                for row in &mut m {
                    (row[p], row[q]) = (cos * row[p] - sin * row[q], sin * row[p] + cos * row[q]);
                }
                for k in 0..dim {
                    (m[p][k], m[q][k]) = (cos * m[p][k] - sin * m[q][k], sin * m[p][k] + cos * m[q][k]);
                }
            }
        }
    }
    (0..dim).map(|i| m[i][i]).fold(0.0, f64::max)
}

/// The law's decision without a shortcut, a bound or a power iteration. `None` where it hangs on the
/// last half percent of an eigenvalue: without a gap between the two largest, a thousand turns of a
/// power iteration are promised to come no closer than ln(d / cos^2) / 2000.
fn long_way(test: &HomogeneityTest, noncentrality: Noncentrality, a: &Sample, b: &Sample) -> Option<bool> {
    let pair = test.difference(a, b);
    let similar = |value| pair.df == 0 || survival(pair.statistic, pair.df as f64, value) >= 0.02;
    let (least, most) = match noncentrality {
        Noncentrality::Fixed(value) => (value, value),
        Noncentrality::Spectral { scale, .. } => {
            let exact = scale * jacobi(parallel_sum(a, b));
            (0.995 * exact, exact)
        }
        Noncentrality::Relative { scale } => {
            let own = jacobi(square(&a.stats().gram)).max(jacobi(square(&b.stats().gram)));
            let exact = if own > 0.0 { scale * jacobi(parallel_sum(a, b)) / own } else { 0.0 };
            (0.995 * exact, exact / 0.995)
        }
    };
    (similar(least) == similar(most)).then(|| similar(most))
}

const LAWS: [Noncentrality; 5] = [
    Noncentrality::Fixed(0.0),
    Noncentrality::Fixed(7.0),
    Noncentrality::Spectral { scale: 0.2, ceiling: 1.0 },
    Noncentrality::Spectral { scale: 0.2, ceiling: 100.0 },
    Noncentrality::Relative { scale: 6.0 },
];

/// Two clients whose parameters lie `apart`.
fn two_clients(seed: u64, dim: usize, counts: (usize, usize), apart: f64) -> (Sample, Sample) {
    let mut rng = Keys::from_seed(seed).policy(NodeId(0), 0);
    let theta: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
    let mut other = theta.clone();
    other[0] += apart;
    let a = Sample::of(data(&mut rng, &theta, counts.0, 0.1).0);
    let b = Sample::of(data(&mut rng, &other, counts.1, 0.1).0);
    (a, b)
}

/// Every law decides both ways, also against the law of equal clients, and always as the long way does.
#[test]
fn every_law_is_decided_by_its_own_noncentrality() {
    for law in LAWS {
        let (mut similar, mut wider, mut too_close) = (0, 0, 0);
        let runs = 300;
        for seed in 0..runs {
            let dim = 1 + seed as usize % 7;
            let counts = (1 + seed as usize * 7 % 61, 1 + seed as usize * 11 % 59);
            let (a, b) = two_clients(seed, dim, counts, 0.3 * (seed % 5) as f64 / 4.0);
            let test = HomogeneityTest::new(0.01, 0.02, law, dim);
            let Some(expected) = long_way(&test, law, &a, &b) else {
                too_close += 1;
                continue;
            };
            assert_eq!(test.similar(&a, &b), expected, "{law:?}, seed {seed}");
            similar += u64::from(expected);
            wider += u64::from(expected && !equality_at(0.02, dim).similar(&a, &b));
        }
        assert!(similar > 50 && similar < runs - 50, "{law:?} hardly decides: {similar} of {runs}");
        assert!(too_close <= 3, "{law:?}: {too_close} were too close to call");
        assert_eq!(wider > 5, law != Noncentrality::Fixed(0.0), "{law:?}: {wider}");
    }
}

proptest! {
    /// Eq. (1): what a joint estimate explains less than two of their own.
    #[test]
    fn eq1_statistic_is_the_loss_of_a_joint_estimate(
        dim in 1usize..8, first in 0usize..14, second in 0usize..14, apart: bool, seed: u64,
    ) {
        let mut rng = Keys::from_seed(seed).policy(NodeId(0), 0);
        let theta: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        let mut other = theta.clone();
        other[0] += f64::from(u8::from(apart));
        let (a, yy_a) = data(&mut rng, &theta, first, 0.1);
        let (b, yy_b) = data(&mut rng, &other, second, 0.1);
        let mut both = a.clone();
        both.merge(&b);
        let own = residual_squares(&a, yy_a) + residual_squares(&b, yy_b);
        let loss = residual_squares(&both, yy_a + yy_b) - own;
        let found = equality(dim).difference(&Sample::of(a), &Sample::of(b));
        prop_assert!((found.statistic * 0.01 - loss).abs() < 1e-7 * (1.0 + yy_a + yy_b), "{found:?} {loss}");
        // Generic data: the ranks are the counts, as far as there are directions.
        let expected = first.min(dim) + second.min(dim) - (first + second).min(dim);
        prop_assert_eq!(found.df, expected);
    }

    /// Whatever the shortcut says, the long way says too.
    #[test]
    fn shortcuts_never_change_a_decision(
        dim in 1usize..8, first in 0usize..60, second in 0usize..60, apart in 0.0f64..0.6, law in 0..LAWS.len(), seed: u64,
    ) {
        let (a, b) = two_clients(seed, dim, (first, second), apart);
        let test = HomogeneityTest::new(0.01, 0.02, LAWS[law], dim);
        let pair = test.difference(&a, &b);
        if let Some(slow) = long_way(&test, LAWS[law], &a, &b) {
            prop_assert_eq!(test.similar(&a, &b), slow, "{:?}", pair);
        }
        prop_assert_eq!(test.similar(&a, &b), test.similar(&b, &a));
        if pair.df > 0 && survival(pair.statistic, pair.df as f64, 0.0) >= 0.02 {
            prop_assert!(test.similar(&a, &b));
        }
    }

    /// One observation after the other ends where all at once do.
    #[test]
    fn a_sample_may_grow(dim in 1usize..6, n in 0usize..20, seed: u64) {
        let mut rng = Keys::from_seed(seed).policy(NodeId(0), 0);
        let mut grown = Sample::of(LinearStats::empty(dim));
        for _ in 0..n {
            let x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
            grown.observe(&x, rng.normal());
        }
        let whole = Sample::of(grown.stats().clone());
        prop_assert_eq!((grown.rank(), grown.is_full()), (whole.rank(), whole.is_full()));
        let scale = 1.0 + whole.theta().iter().map(|x| x.abs()).fold(0.0, f64::max);
        for (x, y) in grown.theta().iter().zip(whole.theta()) {
            prop_assert!((x - y).abs() < 1e-6 * scale * scale, "{x} {y}");
        }
    }
}

/// Lemma C.1: for clients that are alike the statistic is chi-square with df degrees of freedom; for
/// others its mean is larger by the non-centrality.
#[test]
fn lemma_c1_the_statistic_follows_its_law() {
    let (dim, runs, test) = (4, 4000, equality(4));
    for gap in [0.0, 0.05] {
        let mut values = Vec::new();
        let mut noncentrality = 0.0;
        for seed in 0..runs {
            let mut rng = Keys::from_seed(seed).policy(NodeId(0), 0);
            let (a, _) = data(&mut rng, &[0.3, -0.2, 0.5, 0.0], 12, 0.1);
            let (b, _) = data(&mut rng, &[0.3 + gap, -0.2, 0.5, 0.0], 17, 0.1);
            let mut sum = a.gram.clone();
            sum.add(&b.gram);
            // delta' V1 (V1 + V2)^-1 V2 delta with delta = gap e1.
            let column = |m: &crate::Symmetric| (0..dim).map(|i| m.get(i, 0)).collect::<Vec<f64>>();
            let solved = PseudoInverse::of(&sum).solve(&column(&b.gram));
            noncentrality += gap * gap * dot(&column(&a.gram), &solved) / 0.01 / runs as f64;
            let pair = test.difference(&Sample::of(a), &Sample::of(b));
            assert_eq!(pair.df, dim);
            values.push(pair.statistic);
        }
        let n = runs as f64;
        let mean = values.iter().sum::<f64>() / n;
        let spread = (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
        let expected = dim as f64 + noncentrality;
        assert!((mean - expected).abs() < 5.0 * spread / n.sqrt(), "{gap}: {mean}, not {expected}");
        if gap == 0.0 {
            let rejected = values.iter().filter(|v| survival(**v, dim as f64, 0.0) < 0.01).count() as f64;
            assert!((rejected - 0.01 * n).abs() < 5.0 * (0.01 * 0.99 * n).sqrt(), "{rejected}");
        }
    }
}

#[test]
fn many_pairs_are_decided_like_one_on_any_number_of_threads() {
    let mut rng = Keys::from_seed(4).policy(NodeId(0), 0);
    let client = |i: usize| Sample::of(data(&mut rng, &[0.5, (i % 3) as f64 * 0.05], 5 + i, 0.1).0);
    let samples: Vec<Sample> = (0..40).map(client).collect();
    let samples: Vec<&Sample> = samples.iter().collect();
    let pairs: Vec<(u32, u32)> = (0..40).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
    let test = equality(2);
    let one = |&(i, j): &(u32, u32)| test.similar(samples[i as usize], samples[j as usize]);
    let expected: Vec<bool> = pairs.iter().map(one).collect();
    assert!(expected.contains(&true) && expected.contains(&false));
    assert_eq!(test.similar_pairs(&samples, &pairs), expected);
    for threads in [0, 1, 2, 7, 1000] {
        assert_eq!(test.similar_pairs_on(threads, &samples, &pairs), expected);
    }
    assert!(test.similar_pairs_on(3, &samples, &[]).is_empty());
}

#[test]
fn without_common_directions_nothing_speaks_against_similarity() {
    let (mut a, mut b) = (LinearStats::empty(3), LinearStats::empty(3));
    a.observe(&[1.0, 0.0, 0.0], 5.0);
    b.observe(&[0.0, 1.0, 0.0], -5.0);
    let (a, b, empty) = (Sample::of(a), Sample::of(b), Sample::of(LinearStats::empty(3)));
    let test = equality(3);
    assert_eq!(test.difference(&a, &b).df, 0);
    assert!(test.similar(&a, &b) && test.similar(&a, &empty) && test.similar(&empty, &empty));
}

/// Algorithm 4: a wider law accepts what a narrower one rejects.
#[test]
fn alg4_noncentrality_widens_the_test() {
    let mut rng = Keys::from_seed(3).policy(NodeId(0), 0);
    let (a, _) = data(&mut rng, &[0.5, 0.5], 40, 0.1);
    let (b, _) = data(&mut rng, &[0.62, 0.5], 40, 0.1);
    let (a, b) = (Sample::of(a), Sample::of(b));
    let similar = |noncentrality| HomogeneityTest::new(0.01, 0.01, noncentrality, 2).similar(&a, &b);
    assert!(!similar(Noncentrality::Fixed(0.0)) && similar(Noncentrality::Fixed(60.0)));
    for scale in [0.0, 1e-6] {
        assert!(!similar(Noncentrality::Spectral { scale, ceiling: 1.0 }));
        assert!(!similar(Noncentrality::Relative { scale }));
    }
    assert!(similar(Noncentrality::Spectral { scale: 10.0, ceiling: 1.0 }));
    // Never more than `scale`, whatever the data.
    assert!(similar(Noncentrality::Relative { scale: 300.0 }));
}
