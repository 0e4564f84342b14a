//! Against published constants and second implementations.

use super::kl_ucb::{bernoulli_divergence, upper_mean};
use super::*;
use crate::homogeneity::chi_square::survival;
use crate::policy::{Distribution, Leaning};
use crate::{ArmBuffer, Keys, NodeId, Seat, Seating, Setting};

fn plain(arms: usize, masked: &[bool]) -> ArmBuffer {
    ArmBuffer { plain: arms, masked: masked.to_vec(), ..ArmBuffer::default() }
}

fn seat(arms: usize) -> Seat {
    Seat { masks: true, ..Seating::PerUser.seat(&Setting::k_armed(1, arms), NodeId(0)) }
}

fn some_pulls(rewards: &[(u64, f64)]) -> ArmStats {
    let mut stats = ArmStats::empty(rewards.len());
    for (arm, &(pulls, sum)) in rewards.iter().enumerate() {
        stats.observe_block(ArmIndex(arm as u32), pulls, sum);
    }
    stats
}

/// Pseudo-regret of a policy over Bernoulli arms at each of these times.
fn regret(policy: &impl ArmPolicy, means: &[f64], at: &[u64], seed: u64) -> Vec<f64> {
    let (keys, arms) = (Keys::from_seed(seed), ArmSet::plain(means.len()).unwrap());
    let best = means.iter().copied().fold(0.0, f64::max);
    let mut stats = ArmStats::empty(means.len());
    let (mut lost, mut curve) = (0.0, Vec::new());
    let mut world = keys.policy(NodeId(7), 0);
    for t in 1..=at[at.len() - 1] {
        let mut rng = keys.choice(NodeId(0), t);
        let arm = policy.choose(&stats, arms, &mut rng).arm;
        let mean = means[arm.index()];
        lost += best - mean;
        let reward = f64::from(u8::from(world.uniform() < mean));
        stats.observe(arm, policy.learned(reward, &mut rng));
        if at.contains(&t) {
            curve.push(lost);
        }
    }
    curve
}

/// Mean and standard error.
fn over_seeds(seeds: u64, value: impl Fn(u64) -> f64) -> (f64, f64) {
    let values: Vec<f64> = (0..seeds).map(value).collect();
    let n = seeds as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| libm::pow(v - mean, 2.0)).sum::<f64>() / (n * (n - 1.0))).sqrt())
}

#[test]
fn indices_try_every_arm_then_the_most_promising() {
    fn check(policy: &impl ArmPolicy) {
        let mut stats = ArmStats::empty(3);
        let arms = ArmSet::plain(3).unwrap();
        let mut rng = Keys::from_seed(1).choice(NodeId(0), 0);
        for arm in 0..3 {
            let picked = policy.choose(&stats, arms, &mut rng);
            assert_eq!((picked.arm, picked.probability), (ArmIndex(arm), Some(1.0)), "{policy:?}");
            stats.observe(ArmIndex(arm), if arm == 1 { 1.0 } else { 0.0 });
        }
        assert_eq!(policy.choose(&stats, arms, &mut rng).arm, ArmIndex(1), "{policy:?}");
    }
    check(&Ucb1 { scale: std::f64::consts::SQRT_2 });
    check(&KlUcb { constant: 0.0 });
    check(&KlUcb { constant: 3.0 });
    check(&Moss { horizon: 100 });
    check(&ByMeans { leaning: Leaning::Greedy, epsilon: 0.0 });
}

/// A second implementation of the index, slow and plain: 200 halvings on the textbook formula.
#[test]
fn kl_ucb_solves_its_equation_as_bisection_does() {
    let divergence = |p: f64, q: f64| {
        let part = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * libm::log(a / b) };
        part(p, q) + part(1.0 - p, 1.0 - q)
    };
    let mut farthest: f64 = 0.0;
    for p in [0.0, 1e-9, 0.001, 0.1, 1.0 / 3.0, 0.5, 0.9, 0.999, 1.0 - 1e-9, 1.0] {
        for level in [1e-3, 0.01, 0.2, 1.0, 5.0, 40.0, 1e4] {
            let (mut low, mut high) = (p, 1.0);
            for _ in 0..200 {
                let middle: f64 = 0.5 * (low + high);
                if divergence(p, middle) <= level { low = middle } else { high = middle }
            }
            let found = upper_mean(p, level);
            assert!((found - low).abs() < 1e-12, "d({p}, q) <= {level}: {found} where halving finds {low}");
            farthest = farthest.max((found - p).abs());
        }
        assert_eq!(upper_mean(p, 0.0), p);
    }
    assert!(farthest > 0.9, "levels that move the index");
    // Where the textbook formula cancels, d(p, p + e) = e^2 / (2 p (1 - p)) to first order.
    let (p, e) = (0.3, 1e-7);
    assert!((bernoulli_divergence(p, p + e) / (e * e / (2.0 * p * (1.0 - p))) - 1.0).abs() < 1e-6);
    assert!((upper_mean(p, e * e / (2.0 * p * (1.0 - p))) - (p + e)).abs() < 1e-13);
}

/// Lai and Robbins 1985: regret grows by gap / d(worse, best) for each unit of ln t, and KL-UCB attains it
/// (Garivier and Cappe 2011, Theorem 1), which UCB1 does not.
#[test]
fn kl_ucb_has_the_slope_of_lai_and_robbins() {
    let (means, from, to) = ([0.8, 0.3], 3_000, 30_000);
    let constant = 0.5 / bernoulli_divergence(0.3, 0.8);
    let slope = |policy: &dyn Fn(u64) -> Vec<f64>, seed| {
        let curve = policy(seed);
        (curve[1] - curve[0]) / libm::log(to as f64 / from as f64)
    };
    let kl = |seed| regret(&KlUcb { constant: 0.0 }, &means, &[from, to], seed);
    let ucb = |seed| regret(&Ucb1 { scale: std::f64::consts::SQRT_2 }, &means, &[from, to], seed);
    let (found, error) = over_seeds(60, |seed| slope(&kl, seed));
    assert!((found - constant).abs() < 4.0 * error, "{found} +- {error}, where {constant} is the limit");
    assert!(error < 0.2 * constant, "too few seeds to tell: {error}");
    let (other, error) = over_seeds(20, |seed| slope(&ucb, seed));
    assert!(other > constant + 4.0 * error, "UCB1 is not optimal: {other} +- {error} against {constant}");
}

#[test]
fn moss_has_the_published_index() {
    let moss = Moss { horizon: 1000 };
    // sqrt(ln(1000 / (4 * 10)) / 10), and 0 once an arm has had its share.
    assert!((moss.width(10, 4) - 0.567_351_4).abs() < 1e-6, "{}", moss.width(10, 4));
    assert_eq!(moss.width(250, 4), 0.0);
    // Means 0.6, 0.5 and 0.55 with 100, 20 and 50 pulls of 500: bounds 0.671, 0.824 and 0.705.
    let stats = some_pulls(&[(100, 60.0), (20, 10.0), (50, 27.5)]);
    let mut rng = Keys::from_seed(1).choice(NodeId(0), 0);
    let picked = Moss { horizon: 500 }.choose(&stats, ArmSet::plain(3).unwrap(), &mut rng);
    let bound = 0.5 + (libm::log(500.0 / 60.0) / 20.0f64).sqrt();
    assert!(picked.arm == ArmIndex(1) && (picked.score.unwrap() - bound).abs() < 1e-12, "{picked:?}");
}

/// Audibert and Bubeck 2009, Theorem 5: at most 49 sqrt(n K), which arms at random exceed here.
#[test]
fn moss_keeps_its_distribution_free_bound() {
    let (n, means) = (200_000, [0.05, 0.95]);
    let bound = 49.0 * (n as f64 * 2.0).sqrt();
    assert!(0.5 * 0.9 * n as f64 > 2.0 * bound, "a bound that says something");
    let lost = regret(&Moss { horizon: n }, &means, &[n], 3)[0];
    assert!(lost < bound && lost < 20.0, "{lost} of {bound}");
}

/// Where gaps are of the order sqrt(K / n), UCB1 pays for its ln n and MOSS does not.
#[test]
fn moss_is_below_ucb1_where_gaps_are_hardest() {
    let (n, arms) = (20_000u64, 10);
    let mut means = vec![0.5; arms];
    means[3] = 0.5 + 4.0 * (arms as f64 / n as f64).sqrt();
    let (moss, moss_error) = over_seeds(12, |seed| regret(&Moss { horizon: n }, &means, &[n], seed)[0]);
    let ucb = Ucb1 { scale: std::f64::consts::SQRT_2 };
    let (ucb, ucb_error) = over_seeds(12, |seed| regret(&ucb, &means, &[n], seed)[0]);
    assert!(moss + 4.0 * (moss_error + ucb_error) < ucb, "{moss} +- {moss_error}, {ucb} +- {ucb_error}");
}

/// P(X > Y) of independent Beta(a, b) and Beta(c, d), by Simpson's rule on density times distribution.
fn beta_exceeds((a, b): (f64, f64), (c, d): (f64, f64)) -> f64 {
    let density = |x: f64, a: f64, b: f64| {
        let norm = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
        libm::exp(norm) * libm::pow(x, a - 1.0) * libm::pow(1.0 - x, b - 1.0)
    };
    let (n, mut below, mut total) = (20_000, 0.0, 0.0);
    let step = 1.0 / f64::from(n);
    for i in 0..n {
        let (left, right) = (f64::from(i) * step, f64::from(i + 1) * step);
        let middle = 0.5 * (left + right);
        let y = |x| density(x, c, d);
        let half = step / 12.0 * (y(left) + 4.0 * y(0.5 * (left + middle)) + y(middle));
        let whole = step / 6.0 * (y(left) + 4.0 * y(middle) + y(right));
        let x = |at, below| density(at, a, b) * below;
        total += step / 6.0 * (x(left, below) + 4.0 * x(middle, below + half) + x(right, below + whole));
        below += whole;
    }
    total
}

#[test]
fn ts_beta_takes_an_arm_as_often_as_its_posterior_says_that_it_is_better() {
    assert!((beta_exceeds((2.0, 1.0), (1.0, 1.0)) - 2.0 / 3.0).abs() < 1e-9, "the integral itself");
    let arms = ArmSet::plain(2).unwrap();
    let keys = Keys::from_seed(8);
    let n = 20_000;
    for (x, y) in [((10, 3.0), (10, 5.0)), ((12, 4.0), (40, 16.0)), ((0, 0.0), (6, 5.0))] {
        let stats = some_pulls(&[x, y]);
        let shape = |(pulls, sum): (u64, f64)| (sum + 1.0, pulls as f64 - sum + 1.0);
        let expected = beta_exceeds(shape(x), shape(y));
        assert!(expected > 0.05 && expected < 0.95, "a comparison that can fail: {expected}");
        let wins = |samples: Option<u32>| {
            let choose = |number| {
                let picked =
                    BetaSampling { samples }.choose(&stats, arms, &mut keys.choice(NodeId(0), number));
                assert_eq!(picked.probability.is_some(), samples.is_some());
                f64::from(u8::from(picked.arm == ArmIndex(0)))
            };
            (0..n).map(choose).sum::<f64>() / n as f64
        };
        let error = (expected * (1.0 - expected) / n as f64).sqrt();
        for (samples, found) in [(None, wins(None)), (Some(8), wins(Some(8)))] {
            assert!(
                (found - expected).abs() < 5.0 * error,
                "{samples:?}: {found} against {expected} +- {error}"
            );
        }
    }
}

/// What is stated and how often it comes true agree, however the votes were cast.
#[test]
fn votes_of_beta_models_are_calibrated() {
    let stats = some_pulls(&[(12, 4.0), (40, 16.0), (9, 3.0)]);
    let buffer = plain(3, &[false, false, true]);
    let arms = buffer.arm_set(&seat(3)).unwrap();
    let policy = BetaSampling { samples: Some(4) };
    let keys = Keys::from_seed(5);
    // By votes for arm 0: how often there were so many, and how often it was then taken.
    let (mut seen, mut taken) = ([0.0; 5], [0.0; 5]);
    for number in 0..20_000 {
        let picked = policy.choose(&stats, arms, &mut keys.choice(NodeId(0), number));
        let stated = picked.probability.unwrap();
        assert_ne!(picked.arm, ArmIndex(2), "masked");
        let first = picked.arm == ArmIndex(0);
        let votes = (4.0 * if first { stated } else { 1.0 - stated }) as usize;
        seen[votes] += 1.0;
        taken[votes] += f64::from(u8::from(first));
    }
    for votes in 0..5 {
        let p = votes as f64 / 4.0;
        assert!(seen[votes] > 300.0, "{seen:?}");
        let error = (p * (1.0 - p) / seen[votes]).sqrt();
        assert!((taken[votes] / seen[votes] - p).abs() <= 5.0 * error, "{votes}: {taken:?} of {seen:?}");
    }
}

/// What is drawn by means comes as often as stated, masks and arms without a pull included.
#[test]
fn means_are_drawn_by_as_stated() {
    let stats = some_pulls(&[(10, 6.0), (30, 21.0), (25, 10.0), (8, 5.5), (0, 0.0)]);
    let masks: [&[bool]; 2] = [&[false, false, false, false, true], &[false, true, false, true, true]];
    let keys = Keys::from_seed(31);
    for leaning in [
        Leaning::Greedy,
        Leaning::Softmax { temperature: 0.15 },
        Leaning::InverseGap { weight: 3.0, exponent: 0.5 },
    ] {
        for (epsilon, mask) in [(0.0, masks[0]), (0.3, masks[0]), (0.1, masks[1])] {
            let (policy, buffer) = (ByMeans { leaning, epsilon }, plain(5, mask));
            let arms = buffer.arm_set(&seat(5)).unwrap();
            let means = [0.6, 0.7, 0.4, 5.5 / 8.0, f64::NEG_INFINITY];
            let expected = leaning.over(&means, 73, arms).mixed(epsilon, arms);
            let (n, mut times) = (10_000, [0.0; 5]);
            for number in 0..n {
                let picked = policy.choose(&stats, arms, &mut keys.choice(NodeId(0), number));
                assert_eq!(picked.probability, Some(expected.of(picked.arm)), "{policy:?}");
                times[picked.arm.index()] += 1.0;
            }
            assert_as_stated(&expected, &times, n as f64);
        }
    }
    let all = plain(5, &[]);
    let policy = ByMeans { leaning: Leaning::Greedy, epsilon: 0.5 };
    let picked = policy.choose(&stats, all.arm_set(&seat(5)).unwrap(), &mut keys.choice(NodeId(0), 1));
    assert_eq!((picked.arm, picked.probability), (ArmIndex(4), Some(1.0)), "arms without a pull come first");
}

fn assert_as_stated(expected: &Distribution, times: &[f64], n: f64) {
    let (mut statistic, mut possible) = (0.0, 0);
    for (&p, &times) in expected.probabilities().iter().zip(times) {
        if p == 0.0 {
            assert_eq!(times, 0.0, "{expected:?}");
        } else {
            statistic += libm::pow(times - n * p, 2.0) / (n * p);
            possible += 1;
        }
    }
    if possible > 1 {
        assert!(survival(statistic, f64::from(possible - 1), 0.0) > 1e-4, "{times:?} against {expected:?}");
    }
}

/// A second implementation: the paper's Algorithm Exp3 with weights as they are.
#[test]
fn exp3_is_the_papers_algorithm() {
    let (gamma, arms) = (0.2, ArmSet::plain(3).unwrap());
    let mut exp3 = Exp3::new(3, gamma);
    let mut weights = [1.0f64; 3];
    let mut rng = Keys::from_seed(2).policy(NodeId(0), 0);
    for t in 0..500 {
        let sum: f64 = weights.iter().sum();
        let p = weights.map(|w| (1.0 - gamma) * w / sum + gamma / 3.0);
        let stated = exp3.distribution(arms);
        assert!(
            stated.probabilities().iter().zip(p).all(|(a, b)| (a - b).abs() < 1e-12),
            "{t}: {stated:?} {p:?}"
        );
        let arm = stated.draw(&mut rng);
        let reward = [0.2, 0.5, 0.6][arm.index()] * rng.uniform();
        weights[arm.index()] *= libm::exp(gamma * reward / p[arm.index()] / 3.0);
        exp3.learn(arm, stated.of(arm), reward);
    }
    // Weights would long have overflown.
    for _ in 0..100_000 {
        exp3.learn(ArmIndex(1), gamma / 3.0, 1.0);
    }
    let stated = exp3.distribution(arms);
    assert!((stated.of(ArmIndex(1)) - (1.0 - gamma + gamma / 3.0)).abs() < 1e-12, "{stated:?}");
}

/// Corollary 3.2: what the best arm earns, less 2 sqrt(e - 1) sqrt(g K ln K) at most, against rewards that somebody
/// chose: the arm that is best for a while is not the one that is best in the end.
#[test]
fn exp3_keeps_its_bound_against_an_adversary() {
    let (n, k) = (40_000u64, 4);
    let arms = ArmSet::plain(k).unwrap();
    let reward = |t: u64, arm: usize| match arm {
        0 if t < n / 4 => 1.0,
        1 if t >= n / 4 => 0.9,
        2 => 0.2,
        _ => 0.0,
    };
    let best = (0..k).map(|arm| (0..n).map(|t| reward(t, arm)).sum::<f64>()).fold(0.0, f64::max);
    let bound = 2.0 * ((std::f64::consts::E - 1.0) * best * k as f64 * libm::log(k as f64)).sqrt();
    assert!(
        (0..n).map(|t| (0..k).map(|arm| reward(t, arm)).sum::<f64>() / k as f64).sum::<f64>()
            < best - 4.0 * bound
    );
    let (earned, error) = over_seeds(8, |seed| {
        let mut exp3 = Exp3::new(k, Exp3::mixing_for(k, best));
        let mut rng = Keys::from_seed(seed).policy(NodeId(0), 0);
        let mut earned = 0.0;
        for t in 0..n {
            let stated = exp3.distribution(arms);
            let arm = stated.draw(&mut rng);
            let gained = reward(t, arm.index());
            earned += gained;
            exp3.learn(arm, stated.of(arm), gained);
        }
        earned
    });
    assert!(earned + 4.0 * error > best - bound, "{earned} +- {error} of {best}, bound {bound}");
    assert_eq!(Exp3::mixing_for(1, 100.0), 1.0);
    assert_eq!(Exp3::mixing_for(5, 1.0), 1.0);
}
