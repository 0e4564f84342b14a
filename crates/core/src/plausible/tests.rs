use proptest::prelude::*;

use super::*;
use crate::{Keys, NodeId, Stream};

fn stream(seed: u64) -> Stream {
    Keys::from_seed(seed).policy(NodeId(0), 0)
}

fn stated(dim: usize, norm: f64, reward: f64) -> Plausible {
    Plausible::of(&Setting::linear(1, dim, 2).within(norm, (-reward, reward))).unwrap()
}

fn unstated(dim: usize) -> Plausible {
    Plausible::of(&Setting::linear(1, dim, 2)).unwrap()
}

/// Statistics of these observations, and the bounds that they keep to.
fn of(dim: usize, observations: impl IntoIterator<Item = (Vec<f64>, f64)>) -> (LinearStats, Plausible) {
    let mut stats = LinearStats::empty_with_contexts(dim);
    let (mut norm, mut reward) = (0.0f64, 0.0f64);
    for (x, r) in observations {
        norm = norm.max(x.iter().map(|v| v * v).sum::<f64>().sqrt());
        reward = reward.max(r.abs());
        stats.observe(&x, r);
    }
    // A norm whose square vanishes would allow nothing.
    (stats, stated(dim, norm.max(1e-150), reward.max(1e-30)))
}

#[track_caller]
fn believed((stats, bounds): &(LinearStats, Plausible)) {
    bounds.check(stats).unwrap();
    unstated(stats.dim()).check(stats).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever the scales of features and rewards, however they depend on each other.
    #[test]
    fn honest_data_are_believed(
        dim in 1usize..12, n in 1usize..200, seed: u64, low in -160i32..30, wide in 0i32..60, rank in 1usize..6,
    ) {
        let mut rng = stream(seed);
        let high = (low + wide).min(29);
        let scales: Vec<f64> =
            (0..dim).map(|_| libm::pow(10.0, f64::from(low) + rng.uniform() * f64::from(high - low))).collect();
        let pool: Vec<Vec<f64>> =
            (0..rank).map(|_| scales.iter().map(|scale| scale * (2.0 * rng.uniform() - 1.0)).collect()).collect();
        let theta: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        let observations: Vec<(Vec<f64>, f64)> = (0..n).map(|_| {
            let x = pool[rng.below(rank as u64) as usize].clone();
            // Rewards that the contexts explain to the last bit are the hardest.
            let r: f64 = x.iter().zip(&theta).map(|(x, t)| x * t).sum();
            (x, if seed % 3 == 0 { rng.normal() * 1e20 } else { r.clamp(-1e29, 1e29) })
        }).collect();
        believed(&of(dim, observations));
    }

    /// Nothing that is more than rounding away from honest data is: of one feature too many.
    #[test]
    fn a_moment_outside_the_range_of_its_gram_is_not(dim in 2usize..10, n in 1usize..50, seed: u64) {
        let mut rng = stream(seed);
        let (mut stats, bounds) = of(dim, (0..n).map(|_| {
            let mut x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
            x[dim - 1] = x[0];
            (x, 1.0)
        }));
        stats.moment[dim - 1] += 0.01 * (n as f64).sqrt();
        prop_assert!(matches!(bounds.check(&stats), Err(Misbehaviour::Implausible(_))));
    }
}

#[test]
fn the_extremes_of_honest_data_are_believed() {
    let zero = || vec![0.0; 3];
    believed(&of(3, [(zero(), 0.0)]));
    believed(&of(3, (0..100).map(|_| (zero(), 1.0))));
    // Squares that vanish, roots that do not.
    believed(&of(2, [(vec![1e-170, 1.0], 1e20), (vec![1e-310, 1e-200], -1e25)]));
    // At the bounds: unit vectors, and rewards of the largest size, all of one sign and in turn.
    let unit = |i: usize| (0..3).map(|j| f64::from(u8::from(i % 3 == j))).collect::<Vec<f64>>();
    believed(&of(3, (0..999).map(|i| (unit(i), 1.0))));
    believed(&of(3, (0..999).map(|i| (unit(i), if i % 2 == 0 { 1.0 } else { -1.0 }))));
    // Scales that change in mid-run, as in a deployment that nobody scaled.
    let scales = [1.0, 1e8, 1.7e9, 1.0, 1e15, 6e29, 0.1];
    believed(&of(2, scales.iter().flat_map(|s| (0..60).map(move |i| (vec![*s, 0.3 * s], f64::from(i))))));
    let (nothing, bounds) = of(4, []);
    believed(&(nothing, bounds));
}

#[test]
fn one_observation_a_million_times_is_believed() {
    for (x, reward) in [([0.1, 0.7, 0.3], 0.9), ([1.0 / 3.0, 1e8, 1e-8], 1.0 / 3.0), ([1.0, 1.0, 1.0], -1.0)]
    {
        believed(&of(3, std::iter::repeat_n((x.to_vec(), reward), 1_000_000)));
    }
}

#[test]
fn rounding_in_fifty_dimensions_after_a_hundred_thousand_observations_is_believed() {
    let mut rng = stream(5);
    // All in a subspace of ten, so that forty pivots are rounding and nothing else.
    let basis: Vec<Vec<f64>> = (0..10).map(|_| (0..50).map(|_| rng.normal()).collect()).collect();
    let theta: Vec<f64> = (0..50).map(|_| rng.normal()).collect();
    let observations = (0..100_000).map(|_| {
        let weights: Vec<f64> = (0..10).map(|_| rng.normal()).collect();
        let mut x: Vec<f64> =
            (0..50).map(|j| basis.iter().zip(&weights).map(|(row, w)| row[j] * w).sum()).collect();
        let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        x.iter_mut().for_each(|v| *v /= norm);
        let reward = x.iter().zip(&theta).map(|(x, t)| x * t).sum::<f64>().signum();
        (x, reward)
    });
    believed(&of(50, observations));
}

/// What a refusal says.
fn said(bounds: &Plausible, change: impl FnOnce(&mut LinearStats)) -> String {
    let mut stats = LinearStats::empty_with_contexts(2);
    for (x, r) in [([0.6, 0.8], 1.0), ([1.0, 0.0], -1.0), ([0.0, 0.5], 0.5)] {
        stats.observe(&x, r);
    }
    bounds.check(&stats).unwrap();
    change(&mut stats);
    bounds.check(&stats).unwrap_err().to_string()
}

#[test]
fn what_no_data_give_is_refused_even_where_no_bounds_are_stated() {
    for bounds in [unstated(2), stated(2, 1.0, 1.0)] {
        let said = |change: fn(&mut LinearStats)| said(&bounds, change);
        assert!(said(|s| s.count = u64::MAX).contains("18446744073709551615 observations"));
        assert!(said(|s| s.count = MOST_OBSERVATIONS + 1).contains("more than 1099511627776"));
        assert!(said(|s| s.count = 0).contains("no observations"));
        assert!(said(|s| s.gram.packed_mut()[0] = 1e308).contains("a trace of 1e308"));
        assert!(said(|s| s.gram.packed_mut()[2] = -1e-9).contains("a sum of squares of -0.000000001"));
        assert!(said(|s| s.gram.packed_mut()[1] = 2.0).contains("no contexts have this Gram"));
        assert!(said(|s| s.gram.packed_mut()[1] = 1e308).contains("no contexts have this Gram"));
        assert!(said(|s| s.gram.packed_mut().fill(0.0)).contains("a moment"), "without a Gram");
        assert!(said(|s| s.moment[1] = 1e300).contains("a moment"));
        assert!(said(|s| s.contexts[0] = 2.5).contains("a sum of contexts"));
    }
}

#[test]
fn stated_bounds_are_sharp() {
    let bounds = stated(2, 1.0, 1.0);
    // Three contexts of norm 1, rewarded as well as can be.
    let stats = |gram: f64, moment: f64| {
        let mut stats = LinearStats::empty(2);
        stats.gram.packed_mut()[0] = gram;
        (stats.moment[0], stats.count) = (moment, 3);
        stats
    };
    bounds.check(&stats(3.0, 3.0)).unwrap();
    bounds.check(&stats(3.0, -3.0)).unwrap();
    assert!(bounds.check(&stats(3.001, 0.0)).unwrap_err().to_string().contains("a trace"));
    assert!(bounds.check(&stats(3.0, 3.001)).unwrap_err().to_string().contains("a moment"));
    // Cauchy and Schwarz: one context of norm 1 among three cannot carry a moment of 2, though 3 of them could.
    bounds.check(&stats(1.0, 3f64.sqrt())).unwrap();
    bounds.check(&stats(1.0, 2.0 * 3f64.sqrt())).unwrap_err();
    // In a direction that no axis has: [1 1] twice, and a moment across it.
    let mut across = LinearStats::empty(2);
    across.observe(&[0.7, 0.7], 1.0);
    across.observe(&[0.7, 0.7], 0.0);
    bounds.check(&across).unwrap();
    across.moment = [0.1, -0.1].into();
    bounds.check(&across).unwrap_err();
}

#[test]
fn values_lie_in_their_interval() {
    check_values("a mean", &[0.0, 1.0, 0.5], (0.0, 1.0)).unwrap();
    check_values("a mean", &[1.0 + 1e-9], (0.0, 1.0)).unwrap();
    for bad in [1.01, -0.01, 1e300, f64::INFINITY, f64::NAN] {
        let refused = check_values("a mean", &[0.5, bad], (0.0, 1.0)).unwrap_err();
        assert!(refused.to_string().contains("where all are between 0 and 1"), "{refused}");
    }
}

#[test]
fn bounds_that_cannot_be_meant_are_refused_and_the_key_is_named() {
    let linear = Setting::linear(1, 2, 2);
    for norm in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Plausible::of(&linear.clone().within(norm, (0.0, 1.0))).unwrap_err().key, "context_norm");
    }
    for range in [(1.0, 0.0), (0.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        assert_eq!(Plausible::of(&linear.clone().within(1.0, range)).unwrap_err().key, "reward_range");
    }
}

/// Noise as large as it gets is believed, and no more.
#[test]
fn noise_of_a_public_scale_is_believed_and_twice_its_reach_is_not() {
    let noise = Noised { deviation: 10.0, shift: 0.0, step: 0.0 };
    let mut rng = stream(9);
    let mut exact = LinearStats::empty(4);
    (0..50).for_each(|i| exact.observe(&[0.5, 0.5, 0.5, 0.5], f64::from(i % 2)));
    for _ in 0..2000 {
        let mut noised = exact.clone();
        for i in 0..4 {
            for j in 0..=i {
                let wide = if i == j { std::f64::consts::SQRT_2 } else { 1.0 };
                noised.gram.packed_mut()[i * (i + 1) / 2 + j] += 10.0 * wide * rng.normal();
            }
            noised.moment[i] += 10.0 * rng.normal();
        }
        Plausible::CLIPPED.check_noised(&noised, &noise).unwrap();
    }
    let refused = |change: fn(&mut LinearStats)| {
        let mut stats = exact.clone();
        change(&mut stats);
        Plausible::CLIPPED.check_noised(&stats, &noise).unwrap_err().to_string()
    };
    assert!(refused(|s| s.count = u64::MAX).contains("observations"));
    assert!(refused(|s| s.gram.packed_mut()[0] = 1e308).contains("sum of squares"));
    assert!(refused(|s| s.gram.packed_mut()[0] = -300.0).contains("sum of squares"));
    assert!(refused(|s| s.gram.packed_mut()[1] = 1e4).contains("no contexts have this Gram"));
    assert!(
        refused(|s| (0..4).for_each(|i| s.gram.packed_mut()[i * (i + 3) / 2] += 100.0)).contains("trace")
    );
    assert!(refused(|s| s.moment[2] = -300.0).contains("a noised moment of"));
    assert!(refused(|s| s.moment.fill(130.0)).contains("a noised moment that"));
}

#[test]
fn sums_of_laplace_draws_stay_within_their_reach() {
    // 1e-12 is beyond any sample; the same formula at the sample's own probability is not.
    let mut rng = stream(10);
    let mut draw = || {
        let u = rng.uniform() - 0.5;
        -u.signum() * libm::log(1.0 - 2.0 * u.abs())
    };
    for terms in [1u64, 3, 10] {
        let n = 20_000;
        let largest = (0..n).map(|_| (0..terms).map(|_| draw()).sum::<f64>().abs()).fold(0.0, f64::max);
        let usual = laplace_reach(1.0, terms, f64::from(n) * FALSE_REFUSAL * 100.0);
        assert!(largest < usual && largest > 0.2 * usual, "{terms}: {largest} {usual}");
        assert!(laplace_reach(1.0, terms, 1.0) > usual);
    }
}
