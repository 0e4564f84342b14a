//! The best arm is picked by one rule, whatever the level: the kernel against the rule written out.

mod common;

use cahoots_kernel::{Best, Level, Scores};
use proptest::prelude::*;

/// A running maximum that is replaced by what exceeds it by more than rounding.
fn transcribed(values: &[f64], offered: &[bool]) -> usize {
    let mut winner = None;
    for arm in 0..values.len() {
        let value = values[arm];
        if !offered[arm] || value.is_nan() || value == f64::NEG_INFINITY {
            continue;
        }
        let replaced = match winner {
            None => true,
            Some((_, best)) => {
                let size = if f64::abs(best) > 1.0 { f64::abs(best) } else { 1.0 };
                let step: f64 = 1e-12 * size;
                value > best + step
            }
        };
        if replaced {
            winner = Some((arm, value));
        }
    }
    winner.map_or_else(|| offered.iter().position(|on| *on).unwrap(), |(arm, _)| arm)
}

fn check(scores: &Scores, radius: f64, offered: &[bool]) {
    let all = vec![true; offered.len()];
    let bounds: Vec<f64> = (0..offered.len())
        .map(|k| {
            let width = radius * scores.width2[k].sqrt();
            scores.mean[k] + width
        })
        .collect();
    for level in Level::available() {
        let expected = transcribed(&bounds, offered);
        let picked = scores.highest_bound_with(level, radius, Some(offered));
        assert_eq!(picked.arm, expected, "{level:?}: {bounds:?} {offered:?}");
        assert_eq!(picked.mean.to_bits(), scores.mean[expected].to_bits());
        assert_eq!(picked.width.to_bits(), scores.width2[expected].sqrt().to_bits());
        let unmasked = transcribed(&bounds, &all);
        assert_eq!(scores.highest_bound_with(level, radius, None).arm, unmasked, "{level:?}: {bounds:?}");
        let expected = transcribed(&scores.mean, offered);
        assert_eq!(scores.highest_mean_with(level, Some(offered)).arm, expected, "{level:?}: {scores:?}");
        let expected = transcribed(&scores.mean, &all);
        assert_eq!(scores.highest_mean_with(level, None).arm, expected, "{level:?}: {scores:?}");
    }
    let mut best = Best::default();
    bounds.iter().enumerate().for_each(|(arm, value)| best.offer(arm, *value));
    assert_eq!(best.arm(), transcribed(&bounds, &all));
}

/// Values that lie some tolerances, parts of one, or roundings beside a common centre.
fn around(centre: f64) -> impl Strategy<Value = f64> {
    let tolerance = 1e-12 * f64::max(1.0, centre.abs());
    prop_oneof![
        6 => (-8i32..=8).prop_map(move |n| centre + 0.5 * f64::from(n) * tolerance),
        3 => (-3i32..=3).prop_map(move |n| {
            // At the very edge of the tolerance.
            let edge = centre + tolerance;
            f64::from_bits((edge.to_bits() as i64 + i64::from(n)) as u64)
        }),
        2 => Just(centre),
        1 => -2.0..2.0f64,
    ]
}

fn special() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
        f64::MAX * (1.0 - 1e-12),
        0.0,
        -0.0,
        5e-324,
        -1.0,
    ])
}

fn values() -> impl Strategy<Value = Vec<f64>> {
    prop::sample::select(vec![0.0, 0.3, 1.0, -1.0, -0.999, -37.5, 1e6, -1e6, 1e300]).prop_flat_map(|centre| {
        prop::collection::vec(prop_oneof![12 => around(centre), 1 => special()], 1..70)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn near_ties_and_numbers_that_are_none(mean in values(), seed: u64, radius in 0usize..5) {
        let mut random = common::Uniform(seed | 1);
        let n = mean.len();
        let width2 = match radius {
            0 | 1 => vec![1.0; n],
            _ => (0..n).map(|_| random.next().abs()).collect(),
        };
        let radius = [0.0, 1e-12, 0.7, 3.0, f64::INFINITY][radius];
        let mut offered: Vec<bool> = (0..n).map(|_| random.next() > -0.5).collect();
        offered[seed as usize % n] = true;
        check(&Scores { mean, width2 }, radius, &offered);
    }

    #[test]
    fn scores_as_they_come(n in 1usize..300, seed: u64, radius in 0.0..3.0f64) {
        let mut random = common::Uniform(seed | 1);
        let mean: Vec<f64> = (0..n).map(|_| random.next()).collect();
        let width2 = (0..n).map(|_| random.next().abs()).collect();
        let mut offered: Vec<bool> = (0..n).map(|_| random.next() > 0.8).collect();
        offered[seed as usize % n] = true;
        check(&Scores { mean, width2 }, radius, &offered);
    }
}

/// A later value must exceed the best so far, not the largest of those that tie with it.
#[test]
fn small_steps_do_not_add_up() {
    let mean: Vec<f64> = (0..20).map(|k| f64::from(k) * 0.4e-12).collect();
    let width2 = vec![0.0; 20];
    // 0, then the first above 1e-12, and so on: every third.
    for level in Level::available() {
        let scores = Scores { mean: mean.clone(), width2: width2.clone() };
        assert_eq!(scores.highest_mean_with(level, None).arm, 18, "{level:?}");
    }
}

#[test]
fn if_none_wins_it_is_the_first_on_offer() {
    for none in [f64::NAN, f64::NEG_INFINITY] {
        let scores = Scores { mean: vec![none; 11], width2: vec![1.0; 11] };
        for level in Level::available() {
            assert_eq!(scores.highest_bound_with(level, 1.0, None).arm, 0);
            let offered: Vec<bool> = (0..11).map(|k| k > 8).collect();
            assert_eq!(scores.highest_bound_with(level, 1.0, Some(&offered)).arm, 9);
        }
    }
}

#[test]
#[should_panic(expected = "no arm is on offer")]
fn an_offer_of_nothing_is_refused() {
    Scores { mean: vec![1.0], width2: vec![1.0] }.highest_mean(Some(&[false]));
}

/// A bound beside the tolerance of an arm that is worth nothing, by a rounding or so: fused, other arms win.
#[test]
fn product_and_sum_are_rounded_one_after_the_other() {
    let (mut random, mut telling) = (common::Uniform(7), 0);
    for _ in 0..2000 {
        let (radius, width2) = (1.0 + random.next().abs(), random.next().abs());
        let width = radius * width2.sqrt();
        let mean = 1e-12 - width;
        let fused = radius.mul_add(width2.sqrt(), mean);
        telling += u32::from((fused > 1e-12) != (mean + width > 1e-12));
        check(&Scores { mean: vec![0.0, mean], width2: vec![0.0, width2] }, radius, &[true, true]);
    }
    assert!(telling > 100, "{telling} of 2000 would tell");
}
