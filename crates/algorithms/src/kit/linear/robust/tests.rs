//! What liars can do to a sum, and what they cannot.

use cahoots_core::drive::snapshot;
use cahoots_core::linalg::dot;
use cahoots_core::{Factor, Keys, LinearStats, NodeId, Plausible, Stream};
use proptest::prelude::*;

use super::{Kept, Robust};
use crate::kit::linear::Apart;

const DIM: usize = 4;
/// So little that it does not show in estimates.
const RIDGE: f64 = 1e-6;
const CLIENTS: u32 = 20;
const TRUTH: [f64; DIM] = [0.5, -0.5, 0.5, 0.5];

fn both(share: f64) -> [Robust; 2] {
    [Robust::Trim(share), Robust::GeometricMedian]
}

fn stream(seed: u64) -> Stream {
    Keys::from_seed(seed).policy(NodeId(0), 0)
}

/// Observations of one client, of this parameter.
fn data(rng: &mut Stream, count: usize, theta: &[f64], noise: f64) -> LinearStats {
    let mut stats = LinearStats::empty(theta.len());
    for _ in 0..count {
        let x: Vec<f64> = theta.iter().map(|_| 0.5 * rng.normal()).collect();
        stats.observe(&x, dot(&x, theta) + noise * rng.normal());
    }
    stats
}

fn honest(seed: u64) -> Vec<LinearStats> {
    let mut rng = stream(seed);
    (0..CLIENTS).map(|_| data(&mut rng, 30, &TRUTH, 0.1)).collect()
}

/// What a server believes that was sent these, one after the other.
fn believed(rule: Robust, all: &[LinearStats]) -> (Kept, LinearStats) {
    let nothing = all[0].emptied();
    let (mut kept, mut sum) = (Kept::new(false, Some(rule)), nothing.clone());
    for (client, stats) in (0..).map(NodeId).zip(all) {
        kept.add(client, stats);
        sum = kept.believed(&[client], &nothing).unwrap();
    }
    // Everyone a second time, with nothing new: all have been looked at by then.
    let everyone: Vec<NodeId> = (0..all.len() as u32).map(NodeId).collect();
    sum = kept.believed(&everyone, &nothing).unwrap_or(sum);
    (kept, sum)
}

/// How far the estimate is from the truth.
fn error(sum: &LinearStats) -> f64 {
    let theta = Factor::of(sum.gram.packed(), &sum.moment, RIDGE).unwrap().theta();
    theta.iter().zip(TRUTH).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

fn plain(all: &[LinearStats]) -> LinearStats {
    let mut sum = all[0].emptied();
    all.iter().for_each(|stats| sum.merge(stats));
    sum
}

/// Of one client alone, the mean over all of them.
fn alone(all: &[LinearStats]) -> f64 {
    all.iter().map(error).sum::<f64>() / all.len() as f64
}

/// Lies, as far as anyone's imagination went.
fn lie(kind: usize, number: usize, truth: &LinearStats) -> LinearStats {
    let mut lie = truth.clone();
    let mut rng = stream(900 + number as u64);
    match kind {
        // Opposite rewards.
        0 => lie.moment.iter_mut().for_each(|m| *m = -*m),
        // Exaggerated ones.
        1 => lie.moment.iter_mut().for_each(|m| *m *= 10.0),
        // A clique with an opinion, in all the detail of honest data.
        2 => lie = data(&mut rng, 30, &[-0.5, 0.5, 0.5, -0.5], 0.1),
        // The same from a million observations.
        3 => {
            lie = data(&mut rng, 30, &[-0.5, 0.5, 0.5, -0.5], 0.0);
            lie.gram.packed_mut().iter_mut().for_each(|v| *v *= 1e6);
            lie.moment.iter_mut().for_each(|m| *m *= 1e6);
            lie.count = 30_000_000;
        }
        // One direction, known better than anything, and nothing else.
        4 => {
            lie = LinearStats::empty(DIM);
            lie.observe(&[1e3, 1e3, 0.0, 0.0], -1e6);
        }
        // As large as numbers may be.
        5 => {
            lie = LinearStats::empty(DIM);
            let huge = cahoots_core::LARGEST;
            for x in [[huge, huge, huge, huge], [huge, -huge, huge, huge], [1.0, 2.0, 3.0, 4.0]] {
                lie.observe(&x, -huge);
            }
        }
        // Everyone another one.
        6 => {
            let theta: Vec<f64> = (0..DIM).map(|_| 3.0 * rng.normal()).collect();
            lie = data(&mut rng, 60, &theta, 1.0);
        }
        // Clones.
        _ => lie = data(&mut stream(899), 30, &[0.9, 0.3, -0.2, 0.1], 0.1),
    }
    lie
}

const KINDS: usize = 8;

fn with_liars(kind: usize, liars: usize, seed: u64) -> Vec<LinearStats> {
    let mut all = honest(seed);
    // Spread over the numbers, and in a clump.
    let places: Vec<usize> =
        if seed.is_multiple_of(2) { (0..liars).collect() } else { (0..liars).map(|k| 2 * k).collect() };
    for place in places {
        all[place] = lie(kind, place, &all[place]);
    }
    all
}

/// What one client knows alone is the measure: liars who share in a sum and are believed spoil more than that.
#[test]
fn liars_spoil_a_plain_sum_and_not_a_robust_one() {
    for kind in 0..KINDS {
        for seed in 0..4 {
            let usual = alone(&honest(seed));
            for (liars, share) in [(2, 0.1), (6, 0.3), (9, 0.45)] {
                let all = with_liars(kind, liars, seed);
                for stats in &all {
                    Plausible::CLIPPED.with_reward(f64::MAX.sqrt()).check(&stats.emptied()).unwrap();
                    stats.check(DIM, false).unwrap();
                }
                let spoilt = error(&plain(&all));
                assert!(
                    spoilt > usual || liars == 2,
                    "{kind}: {liars} of {CLIENTS} do no harm: {spoilt} {usual}"
                );
                for rule in both(share) {
                    let (_, sum) = believed(rule, &all);
                    let most = match rule {
                        Robust::Trim(_) => usual,
                        // A median bends toward them: a displacement d of estimates that err by e is held by a pull of
                        // d / sqrt(d^2 + e^2) from each of the honest, against one of sqrt(1 + 1/4) (the scale of votes) from
                        // each liar. To that comes what the honest err together.
                        Robust::GeometricMedian => {
                            let worst = honest(seed).iter().map(error).fold(0.0, f64::max);
                            let pull = 1.25f64.sqrt() * liars as f64 / (20 - liars) as f64;
                            let bend = pull / (1.0 - pull * pull).sqrt() * worst;
                            usual.max(bend + error(&plain(&honest(seed))))
                        }
                    };
                    let left = error(&sum);
                    assert!(
                        left < most,
                        "{rule:?}, lie {kind}, {liars} liars, seed {seed}: {left} (alone {usual})"
                    );
                }
            }
        }
    }
}

#[test]
fn trimming_leaves_out_the_liars_and_nobody_else() {
    for kind in [0, 1, 2, 3, 6] {
        let all = with_liars(kind, 6, 0);
        let (kept, sum) = believed(Robust::Trim(0.3), &all);
        assert_eq!(kept.left_out(), 6, "lie {kind}");
        assert!(
            (360..=420).contains(&sum.count),
            "lie {kind}: caps take little from the others: {}",
            sum.count
        );
    }
}

#[test]
fn where_nobody_lies_next_to_nobody_is_left_out() {
    let (mut left_out, mut lost) = (0, 0.0);
    for seed in 0..50 {
        let all = honest(seed);
        let (kept, sum) = believed(Robust::Trim(0.1), &all);
        left_out += kept.left_out();
        lost += 1.0 - sum.count as f64 / (30.0 * f64::from(CLIENTS));
        assert!(error(&sum) < alone(&all));
    }
    // Of a thousand honest clients, each left out with probability 0.001, 7 or more are left out in 1 of 12,000 such tests.
    assert!(left_out <= 6 && lost / 50.0 < 0.05, "{left_out} {lost}");
}

/// Young clients are not thrown out for knowing little, nor old ones for knowing much.
#[test]
fn who_knows_little_or_much_is_no_liar() {
    let mut rng = stream(5);
    for rule in both(0.3) {
        let counts = [1, 1, 1, 2, 2, 3, 30, 30, 30, 30, 30, 30, 3000, 30, 30, 30];
        let all: Vec<LinearStats> = counts.iter().map(|&count| data(&mut rng, count, &TRUTH, 0.1)).collect();
        let (kept, sum) = believed(rule, &all);
        assert_eq!(kept.left_out(), 0, "{rule:?}");
        assert!(error(&sum) < 0.05, "{rule:?}: {}", error(&sum));
    }
}

/// The attack on confidence widths: liars claim to know a direction that nobody else has tried, so that nobody will.
#[test]
fn who_alone_knows_a_direction_is_not_believed_to_know_it() {
    for rule in both(0.45) {
        let mut rng = stream(8);
        let mut all: Vec<LinearStats> = Vec::new();
        for client in 0..CLIENTS {
            let mut stats = LinearStats::empty(DIM);
            for _ in 0..200 {
                let x = [
                    rng.normal(),
                    rng.normal(),
                    rng.normal(),
                    if client < 9 { rng.normal() } else { 0.01 * rng.normal() },
                ];
                let lied = if client < 9 { -2.0 * x[3] } else { 0.0 };
                stats.observe(&x, dot(&x, &TRUTH) + lied + 0.1 * rng.normal());
            }
            all.push(stats);
        }
        let (_, sum) = believed(rule, &all);
        let honest: f64 = all[9..].iter().map(|stats| stats.gram.get(3, 3)).sum();
        let claimed: f64 = all[..9].iter().map(|stats| stats.gram.get(3, 3)).sum();
        let known = sum.gram.get(3, 3);
        assert!(claimed > 1000.0 * honest, "{claimed} {honest}");
        assert!(known < 3.0 * honest, "{rule:?}: {known} is believed, {honest} is true");
    }
}

/// Sums of what passed the checks are sums of data, whatever was said.
fn is_of_data(sum: &LinearStats) -> bool {
    sum.check_values().is_ok() && Factor::of(sum.gram.packed(), &sum.moment, RIDGE).is_ok()
}

/// Breakdown: whatever a share of the clients says, the estimate stays near; gives for how many drawn cliques it does not.
fn cliques_that_get_far(rule: Robust, cases: u64) -> Vec<u64> {
    let far = |case: &u64| {
        let mut dice = stream(10_000 + case);
        let mut all = honest(dice.below(1000));
        let usual = alone(&all);
        let liars = dice.below(7) as usize;
        let mut power = || f64::exp2(dice.below(90) as f64 - 30.0);
        let (size, rewards) = (power(), power());
        let (count, clones) = (1 + dice.below(39), dice.below(2) == 0);
        for (place, stats) in all.iter_mut().enumerate().take(liars) {
            let mut rng = stream(if clones { *case } else { 1_000_000 * (place as u64 + 1) + case });
            *stats = LinearStats::empty(DIM);
            for _ in 0..count {
                let x: Vec<f64> = (0..DIM).map(|_| rng.normal() * size).collect();
                stats.observe(&x, rng.normal() * rewards);
            }
        }
        let (_, sum) = believed(rule, &all);
        assert!(is_of_data(&sum), "case {case}");
        error(&sum) >= 3.0 * usual
    };
    (0..cases).filter(far).collect()
}

#[test]
fn next_to_no_lie_moves_the_estimate_far() {
    // One that does is known, and stands in the guide.
    for (rule, known) in both(0.3).into_iter().zip([&[][..], &[993]]) {
        assert_eq!(cliques_that_get_far(rule, 2000), known, "{rule:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// What all have said decides, once all are looked at, and not the order in which they said it.
    #[test]
    fn the_order_of_messages_is_forgotten(seed in 0u64..1000, kind in 0..KINDS) {
        let all = with_liars(kind, 5, seed);
        let everyone: Vec<NodeId> = (0..CLIENTS).map(NodeId).collect();
        let mut order = everyone.clone();
        let mut rng = stream(seed);
        for i in (1..order.len()).rev() {
            order.swap(i, rng.below(i as u64 + 1) as usize);
        }
        for rule in both(0.3) {
            let nothing = LinearStats::empty(DIM);
            let sums: Vec<LinearStats> = [&everyone, &order].map(|order| {
                let mut kept = Kept::new(false, Some(rule));
                for client in order.iter() {
                    kept.add(*client, &all[client.index()]);
                    kept.believed(&[*client], &nothing);
                }
                kept.believed(&everyone, &nothing).unwrap()
            }).into();
            prop_assert_eq!(&sums[0], &sums[1]);
        }
    }
}

#[test]
fn a_snapshot_goes_on_bit_for_bit() {
    for rule in both(0.3) {
        let all = with_liars(2, 6, 1);
        let nothing = LinearStats::empty(DIM);
        let (mut kept, mut again) = (Kept::new(false, Some(rule)), Kept::new(false, Some(rule)));
        for round in 0..3 {
            for client in (0..CLIENTS).map(NodeId) {
                for kept in [&mut kept, &mut again] {
                    kept.add(client, &all[(client.index() + round) % all.len()]);
                }
                again = snapshot::restore(&snapshot::save(&again)).unwrap();
                assert_eq!(kept.believed(&[client], &nothing), again.believed(&[client], &nothing));
            }
        }
        assert_eq!(snapshot::save(&kept), snapshot::save(&again));
    }
}

/// Stores that were written before anyone was doubted open, and are what they were.
#[test]
fn without_a_rule_the_layout_is_that_of_contributions_alone() {
    for keep in [false, true] {
        let (mut apart, mut kept) = (Apart::new(keep), Kept::new(keep, None));
        for (client, stats) in (0..).map(NodeId).zip(honest(3)) {
            apart.add(client, &stats);
            kept.add(client, &stats);
        }
        assert_eq!(snapshot::save(&apart), snapshot::save(&kept));
        let again: Kept = snapshot::restore(&snapshot::save(&apart)).unwrap();
        assert_eq!(snapshot::save(&again), snapshot::save(&kept));
        assert_eq!(again.check().is_ok(), keep);
    }
    let mut unknown = snapshot::save(&Kept::new(false, None));
    *unknown.last_mut().unwrap() = 3;
    assert!(snapshot::restore::<Kept>(&unknown).is_err());
}

#[test]
fn who_is_forgotten_was_never_there() {
    for rule in both(0.3) {
        let all = with_liars(3, 6, 0);
        let (mut kept, _) = believed(rule, &all);
        let left = kept.forget(NodeId(0), &LinearStats::empty(DIM)).unwrap();
        let mut without = Kept::new(false, Some(rule));
        (1..).map(NodeId).zip(&all[1..]).for_each(|(client, stats)| without.add(client, stats));
        let everyone: Vec<NodeId> = (1..CLIENTS).map(NodeId).collect();
        assert_eq!(without.believed(&everyone, &LinearStats::empty(DIM)), Some(left));
    }
}

/// What a federation began from is nobody's lie, and is not weighed against anybody.
#[test]
fn what_a_federation_began_from_is_believed() {
    let prior = data(&mut stream(1), 500, &[1.0, 1.0, 1.0, 1.0], 0.1);
    for rule in both(0.3) {
        let mut kept = Kept::new(false, Some(rule));
        kept.add(NodeId::SERVER, &prior);
        assert_eq!(kept.believed(&[], &LinearStats::empty(DIM)), Some(prior.clone()));
        assert_eq!(kept.believed(&[], &prior).unwrap().count, 1000, "and once more as a base");
    }
}

#[test]
fn few_and_empty_contributions_are_no_trouble() {
    for rule in both(0.45) {
        let nothing = LinearStats::empty(DIM);
        let (mut kept, mut rng) = (Kept::new(false, Some(rule)), stream(2));
        kept.add(NodeId(0), &nothing);
        assert_eq!(kept.believed(&[NodeId(0)], &nothing), Some(nothing.clone()));
        // Zero contexts are data too, of nothing.
        let mut zeros = nothing.clone();
        zeros.observe(&[0.0; DIM], 1.0);
        kept.add(NodeId(1), &zeros);
        assert!(kept.believed(&[NodeId(1)], &nothing).is_some());
        let one = data(&mut rng, 3, &TRUTH, 0.1);
        kept.add(NodeId(2), &one);
        let sum = kept.believed(&[NodeId(0), NodeId(1), NodeId(2)], &nothing).unwrap();
        assert!(is_of_data(&sum) && sum.count <= 4, "{rule:?}: {sum:?}");
        // Without noise everyone fits to the last digits.
        let exact: Vec<LinearStats> = (0..8).map(|_| data(&mut rng, 10, &TRUTH, 0.0)).collect();
        let (kept, sum) = believed(Robust::Trim(0.45), &exact);
        assert_eq!(kept.left_out(), 0);
        assert!(error(&sum) < 0.05);
    }
}
