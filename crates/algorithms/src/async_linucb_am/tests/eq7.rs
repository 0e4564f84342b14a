//! Eq. (7) against the plain reading of it: vectors, a projection, turn by turn.

use cahoots_core::linalg::PseudoInverse;
use cahoots_core::{LinearStats, Stream, Symmetric};

use super::super::alternate::{Alternation, Partial, Side, Sums};
use super::{inner, random, vector};

const PAPER: Alternation = Alternation { iterations: 1000, tolerance: 1e-9, global_first: false };
const AUTHORS: Alternation = Alternation { iterations: 100, tolerance: 0.0, global_first: true };

fn projected(theta: Vec<f64>) -> Vec<f64> {
    let norm = inner(&theta, &theta).sqrt().max(1.0);
    theta.iter().map(|x| x / norm).collect()
}

fn pseudo_inverse(gram: &Symmetric, moment: &[f64]) -> Vec<f64> {
    projected(PseudoInverse::of(gram).solve(moment))
}

/// proj((V + x x')^- (b + x r))
fn estimate(before: &LinearStats, x: &[f64], partial: f64) -> Vec<f64> {
    let mut after = before.clone();
    after.observe(x, partial);
    pseudo_inverse(&after.gram, &after.moment)
}

/// As it is printed, and as the authors order it.
fn plain(global: (&LinearStats, &[f64]), local: (&LinearStats, &[f64]), y: f64, how: Alternation) -> Partial {
    let (mut theta_g, mut theta_l) = (vec![0.0; global.1.len()], vec![0.0; local.1.len()]);
    let mut partial = if how.global_first {
        Partial { global: y - inner(&ridge(local.0), local.1), local: 0.0 }
    } else {
        theta_g = pseudo_inverse(&global.0.gram, &global.0.moment);
        Partial { global: 0.0, local: y - inner(&theta_g, global.1) }
    };
    for _ in 0..how.iterations {
        if how.global_first {
            theta_g = estimate(global.0, global.1, partial.global);
            partial.local = y - inner(&theta_g, global.1);
        }
        theta_l = estimate(local.0, local.1, partial.local);
        partial.global = y - inner(&theta_l, local.1);
        if !how.global_first {
            theta_g = estimate(global.0, global.1, partial.global);
            partial.local = y - inner(&theta_g, global.1);
        }
    }
    Partial { global: y - inner(&theta_l, local.1), local: y - inner(&theta_g, global.1) }
}

fn ridge(stats: &LinearStats) -> Vec<f64> {
    cahoots_core::Factor::of(stats.gram.packed(), &stats.moment, super::RIDGE).unwrap().theta()
}

/// Statistics of `count` observations with partial rewards up to `scale`.
fn history(rng: &mut Stream, dim: usize, count: u64, scale: f64) -> LinearStats {
    let mut stats = LinearStats::empty(dim);
    for _ in 0..count {
        let x = vector(rng, dim);
        stats.observe(&x, scale * (2.0 * rng.uniform() - 1.0));
    }
    stats
}

#[test]
fn eq7_is_what_its_plain_reading_gives() {
    let mut projections = 0;
    for seed in 0..400 {
        let mut rng = random(seed);
        let (dim, own_dim) = (1 + rng.below(6) as usize, 1 + rng.below(6) as usize);
        // From nothing known, through too little, to plenty; small rewards and ones that need projection.
        let scale = [0.3, 3.0][rng.below(2) as usize];
        let counts = (rng.below(3 * dim as u64), rng.below(3 * own_dim as u64));
        let global = history(&mut rng, dim, counts.0, scale);
        let local = history(&mut rng, own_dim, counts.1, scale);
        let (x_g, x_l) = (vector(&mut rng, dim), vector(&mut rng, own_dim));
        let y = scale * (2.0 * rng.uniform() - 1.0);
        let sides = (Side::new(global.clone(), &x_g), Side::new(local.clone(), &x_l));
        for how in [AUTHORS, Alternation { iterations: 7, tolerance: 0.0, ..PAPER }] {
            let quick = how.one(y, &sides.0, &sides.1, inner(&ridge(&local), &x_l));
            let slow = plain((&global, &x_g), (&local, &x_l), y, how);
            let off = (quick.global - slow.global).abs().max((quick.local - slow.local).abs());
            assert!(off < 1e-7, "seed {seed}: {quick:?} {slow:?}");
            let free = {
                let mut after = local.clone();
                after.observe(&x_l, quick.local);
                PseudoInverse::of(&after.gram).solve(&after.moment)
            };
            projections += u32::from(inner(&free, &free) > 1.0);
        }
    }
    assert!((100..700).contains(&projections), "{projections} of 800 projected: one case is hardly tried");
}

#[test]
fn eq7_goes_on_until_it_has_converged() {
    for seed in 0..200 {
        let mut rng = random(seed);
        let (global, local) = (history(&mut rng, 4, 12, 0.3), history(&mut rng, 3, 9, 0.3));
        let (x_g, x_l) = (vector(&mut rng, 4), vector(&mut rng, 3));
        let y = rng.uniform() - 0.5;
        let sides = (Side::new(global.clone(), &x_g), Side::new(local.clone(), &x_l));
        let end = PAPER.one(y, &sides.0, &sides.1, 0.0);
        let again = y - inner(&estimate(&local, &x_l, end.local), &x_l);
        assert!((again - end.global).abs() < 1e-8, "seed {seed}");
        // With all of V known the limit is the same wherever the turns begin.
        let long = Alternation { iterations: 100_000, tolerance: 1e-12, global_first: true };
        let other = long.one(y, &sides.0, &sides.1, inner(&ridge(&local), &x_l));
        assert!((other.global - end.global).abs() < 1e-6, "seed {seed}: {other:?} {end:?}");
    }
}

/// Where nothing is known of either part, the one that is made second keeps the reward.
#[test]
fn eq7_begins_with_the_local_part_and_the_authors_with_the_global_one() {
    let nothing = (LinearStats::empty(2), LinearStats::empty(2));
    let side = |stats: &LinearStats| Side::new(stats.clone(), &[0.6, 0.0]);
    let (global, local) = (side(&nothing.0), side(&nothing.1));
    assert_eq!(PAPER.one(0.5, &global, &local, 0.0), Partial { global: 0.0, local: 0.5 });
    assert_eq!(AUTHORS.one(0.5, &global, &local, 0.0), Partial { global: 0.5, local: 0.0 });
}

/// Estimates stay in the unit ball, so a partial reward is at most 1 (|x| <= 1) off the reward.
#[test]
fn eq7_projects_onto_the_unit_ball() {
    let mut rng = random(9);
    for _ in 0..200 {
        let (global, local) = (history(&mut rng, 3, 5, 50.0), history(&mut rng, 3, 2, 50.0));
        let sides = (Side::new(global, &vector(&mut rng, 3)), Side::new(local, &vector(&mut rng, 3)));
        let partial = PAPER.one(20.0, &sides.0, &sides.1, 0.0);
        assert!((partial.global - 20.0).abs() <= 1.0 && (partial.local - 20.0).abs() <= 1.0);
    }
}

/// A data set, its sums over stacked features, and its rewards.
struct Data {
    rows: Vec<(Vec<f64>, Vec<f64>)>,
    rewards: Vec<f64>,
    stacked: LinearStats,
}

fn data(rng: &mut Stream, count: usize, reward: impl Fn(&[f64], &[f64], f64) -> f64) -> Data {
    let rows: Vec<_> = (0..count).map(|_| (vector(rng, 3), vector(rng, 2))).collect();
    let rewards: Vec<f64> = rows.iter().map(|(g, l)| reward(g, l, rng.normal())).collect();
    let mut stacked = LinearStats::empty(5);
    for ((g, l), y) in rows.iter().zip(&rewards) {
        stacked.observe(&[g.clone(), l.clone()].concat(), *y);
    }
    Data { rows, rewards, stacked }
}

#[test]
fn alg5_line12_sums_are_enough_for_the_whole_history() {
    for (seed, count, noise) in [(1, 4, 0.1), (2, 5, 0.1), (3, 30, 0.1), (4, 8, 4.0), (5, 6, 0.0)] {
        let mut rng = random(seed);
        let data = data(&mut rng, count, |g, l, normal| 0.5 * g[0] - 0.4 * l[1] + noise * normal);
        let received = history(&mut rng, 3, 20, 0.5);
        let how = Alternation { iterations: 40, tolerance: 0.0, global_first: false };
        let (global, local) = how.many(&Sums::new(&data.stacked, 3), &received);

        // Line 12 with all observations at hand.
        let sums = |rows: &dyn Fn(usize) -> (Vec<f64>, f64), dim| {
            let mut stats = LinearStats::empty(dim);
            (0..count).for_each(|i| stats.observe(&rows(i).0, rows(i).1));
            stats
        };
        let mut theta_g = pseudo_inverse(&received.gram, &received.moment);
        let mut for_global = LinearStats::empty(3);
        for _ in 0..40 {
            let row = |i: usize| {
                let (g, l) = &data.rows[i];
                (l.clone(), data.rewards[i] - inner(g, &theta_g))
            };
            let for_local = sums(&row, 2);
            let theta_l = pseudo_inverse(&for_local.gram, &for_local.moment);
            let row = |i: usize| {
                let (g, l) = &data.rows[i];
                (g.clone(), data.rewards[i] - inner(l, &theta_l))
            };
            for_global = sums(&row, 3);
            let mut all = received.clone();
            all.merge(&for_global);
            theta_g = pseudo_inverse(&all.gram, &all.moment);
        }
        let for_local =
            sums(&|i| (data.rows[i].1.clone(), data.rewards[i] - inner(&data.rows[i].0, &theta_g)), 2);
        for (quick, slow) in [(&global, &for_global), (&local, &for_local)] {
            assert_eq!(quick.count, slow.count);
            let off = quick.moment.iter().zip(&slow.moment).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f64::max) < 1e-9, "seed {seed}: {quick:?} {slow:?}");
            let off = quick.gram.packed().iter().zip(slow.gram.packed()).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f64::max) < 1e-12, "seed {seed}");
        }
    }
}

#[test]
fn appendix_f_remark1_full_rank_data_without_noise_is_split_exactly() {
    let mut rng = random(4);
    let (theta_g, theta_l) = ([0.3, -0.5, 0.2], [0.4, 0.7]);
    let data = data(&mut rng, 5, |g, l, _| inner(g, &theta_g) + inner(l, &theta_l));
    let (global, local) = PAPER.many(&Sums::new(&data.stacked, 3), &LinearStats::empty(3));
    let close = |stats: &LinearStats, theta: &[f64]| {
        let found = PseudoInverse::of(&stats.gram).solve(&stats.moment);
        found.iter().zip(theta).all(|(a, b)| (a - b).abs() < 1e-6)
    };
    assert!(close(&global, &theta_g) && close(&local, &theta_l), "{global:?} {local:?}");
}
