//! What is stated is what is drawn: probabilities against frequencies, at fixed states, masks included.

use super::*;
use crate::homogeneity::chi_square::survival;
use crate::{ArmBuffer, ArmIndex, ArmSet, Factor, Keys, LinearStats, NodeId, Picked, Seat, Seating, Setting};

const DIM: usize = 3;
const RIDGE: f64 = 0.5;
const DRAWS: u64 = 20_000;

fn policy(rule: Rule) -> LinearPolicy {
    let confidence = Confidence::new(Radius::Fixed(0.7), 0.1, 0.1, RIDGE, DIM).unwrap();
    LinearPolicy { rule, confidence, sampling_scale: 0.4, perturbation: 2.0 }
}

fn drawn(base: Base, epsilon: f64) -> LinearPolicy {
    policy(Rule::Drawn(Mixture { base, epsilon }))
}

const SOFTMAX: Base = Base::Estimates(Leaning::Softmax { temperature: 0.2 });
const INVERSE_GAP: Base = Base::Estimates(Leaning::InverseGap { weight: 4.0, exponent: 0.5 });
const GREEDY: Base = Base::Estimates(Leaning::Greedy);

/// Every policy that says how likely its arms are.
fn stating() -> Vec<LinearPolicy> {
    vec![
        policy(Rule::LinUcb),
        policy(Rule::Uniform),
        drawn(GREEDY, 0.0),
        drawn(GREEDY, 0.25),
        drawn(SOFTMAX, 0.0),
        drawn(SOFTMAX, 0.1),
        drawn(INVERSE_GAP, 0.0),
        drawn(INVERSE_GAP, 0.3),
        drawn(Base::Bound, 0.2),
        drawn(Base::Models { samples: 1 }, 0.0),
        drawn(Base::Models { samples: 20 }, 0.0),
        drawn(Base::Models { samples: 7 }, 0.1),
    ]
}

/// Nothing known, a little, and a lot.
fn states() -> Vec<LinearStats> {
    let after = |n: u64| {
        let mut stats = LinearStats::empty(DIM);
        let mut rng = Keys::from_seed(n).policy(NodeId(0), 0);
        for _ in 0..n {
            let x: Vec<f64> = (0..DIM).map(|_| rng.uniform()).collect();
            stats.observe(&x, 0.7 * x[0] + 0.2 * x[1] - 0.3 * x[2] + 0.1 * rng.normal());
        }
        stats
    };
    vec![after(0), after(5), after(300)]
}

/// Five arms, two of which tie; some masks.
fn offers() -> Vec<ArmBuffer> {
    let rows = [[0.9, 0.1, 0.2], [0.3, 0.75, 0.1], [0.9, 0.1, 0.2], [0.1, 0.1, 0.9], [0.8, 0.3, 0.1]];
    let masks: [&[bool]; 4] = [
        &[],
        &[true, false, false, true, false],
        &[false, true, true, true, true],
        &[true, false, false, false, true],
    ];
    let offer = |masked: &&[bool]| {
        let mut arms = ArmBuffer { masked: masked.to_vec(), ..ArmBuffer::default() };
        arms.features.fill(DIM, rows.iter().map(|row| &row[..]));
        arms
    };
    masks.iter().map(offer).collect()
}

fn seat() -> Seat {
    Seat { masks: true, ..Seating::PerUser.seat(&Setting::linear(1, DIM, 5), NodeId(0)) }
}

fn model<'a>(
    factor: &'a Factor,
    stats: &'a LinearStats,
) -> LinearModel<'a, impl FnOnce() -> LinearStats + use<'a>> {
    LinearModel { factor, count: stats.count, stats: || stats.clone() }
}

/// One decision: what was picked, and what the distribution was.
fn decide(
    policy: &LinearPolicy,
    stats: &LinearStats,
    factor: &Factor,
    arms: ArmSet<'_>,
    number: u64,
) -> (Picked, Distribution) {
    let keys = Keys::from_seed(41);
    let rng = || keys.choice(NodeId(0), number);
    let picked = policy.choose(model(factor, stats), arms, &mut rng());
    let stated = policy.distribution(model(factor, stats), arms, &mut rng());
    (picked, stated.expect("a policy that states its probabilities"))
}

/// Frequencies against the mean of the stated probabilities, arm by arm, all at once: since decisions are drawn
/// independently, each given its own distribution, the statistic is at most a chi-square's.
fn assert_frequencies(what: &str, times: &[u64], expected: &[f64]) {
    let (mut statistic, mut possible) = (0.0, 0);
    for (&times, &expected) in times.iter().zip(expected) {
        if expected == 0.0 {
            assert_eq!(times, 0, "{what}: an arm that cannot be drawn was drawn");
        } else {
            statistic += (times as f64 - expected) * (times as f64 - expected) / expected;
            possible += 1;
        }
    }
    if possible > 1 {
        let p = survival(statistic, f64::from(possible - 1), 0.0);
        assert!(p > 1e-4, "{what}: chi-square {statistic}, p = {p}: {times:?} against {expected:?}");
    }
}

#[test]
fn stated_probabilities_are_those_drawn_with_in_every_state_and_under_masks() {
    for policy in stating() {
        for stats in states() {
            let factor = Factor::of(stats.gram.packed(), &stats.moment, RIDGE).unwrap();
            for (offer, buffer) in offers().iter().enumerate() {
                let what = format!("{:?}, {} observations, offer {offer}", policy.rule, stats.count);
                let arms = buffer.arm_set(&seat()).unwrap();
                let (mut times, mut expected) = (vec![0; 5], vec![0.0; 5]);
                for number in 0..DRAWS / 4 {
                    let (picked, stated) = decide(&policy, &stats, &factor, arms, number);
                    assert_eq!(picked.probability.map(f64::to_bits), Some(stated.of(picked.arm).to_bits()));
                    let sum: f64 = stated.probabilities().iter().sum();
                    assert!((sum - 1.0).abs() < 1e-15 * 5.0, "{what}: they add up to {sum}");
                    for (arm, &p) in stated.probabilities().iter().enumerate() {
                        let open = arms.is_open(ArmIndex(arm as u32));
                        assert!((0.0..=1.0).contains(&p) && (open || p == 0.0), "{what}: arm {arm} has {p}");
                        expected[arm] += p;
                    }
                    times[picked.arm.index()] += 1;
                }
                assert_frequencies(&what, &times, &expected);
            }
        }
    }
}

#[test]
fn lints_and_linphe_do_not_claim_to_know() {
    let (stats, offers) = (&states()[1], offers());
    let mut stats = stats.clone();
    stats.contexts = vec![1.0; DIM].into();
    let factor = Factor::of(stats.gram.packed(), &stats.moment, RIDGE).unwrap();
    let arms = offers[0].arm_set(&seat()).unwrap();
    for rule in [Rule::LinTs, Rule::LinPhe] {
        let mut rng = Keys::from_seed(1).choice(NodeId(0), 0);
        assert_eq!(policy(rule).choose(model(&factor, &stats), arms, &mut rng).probability, None);
        assert_eq!(policy(rule).distribution(model(&factor, &stats), arms, &mut rng), None);
    }
}

/// Averaged over the models, an arm's share of the votes is its probability under LinTS.
#[test]
fn votes_of_models_are_thompson_sampling_on_average() {
    let (stats, offers) = (&states()[1], offers());
    let factor = Factor::of(stats.gram.packed(), &stats.moment, RIDGE).unwrap();
    let arms = offers[0].arm_set(&seat()).unwrap();
    let (samples, decisions) = (50, 400);
    let (voting, single) = (drawn(Base::Models { samples }, 0.0), policy(Rule::LinTs));
    let (mut shares, mut wins) = (vec![0.0; 5], vec![0.0; 5]);
    for number in 0..decisions {
        let (_, stated) = decide(&voting, stats, &factor, arms, number);
        shares.iter_mut().zip(stated.probabilities()).for_each(|(share, p)| *share += p / decisions as f64);
    }
    for number in 0..DRAWS {
        let mut rng = Keys::from_seed(43).choice(NodeId(0), number);
        wins[single.choose(model(&factor, stats), arms, &mut rng).arm.index()] += 1.0 / DRAWS as f64;
    }
    // Arm 2 is arm 0 again and never wins a tie.
    assert_eq!((shares[2], wins[2]), (0.0, 0.0));
    assert!(wins.iter().filter(|&&share| share > 0.02).count() >= 3, "too certain to compare: {wins:?}");
    for arm in 0..5 {
        let spread = (wins[arm] * (1.0 - wins[arm]) * (1.0 / 20_000.0 + 1.0 / DRAWS as f64)).sqrt();
        assert!((shares[arm] - wins[arm]).abs() <= 5.0 * spread, "{arm}: {shares:?} {wins:?}");
    }
}

#[test]
fn one_of_these_or_that_one_adds_up() {
    let arms = ArmSet::plain(4).unwrap();
    let drawn = Distribution::uniform(arms).or(0.1, ArmIndex(2));
    for (p, expected) in drawn.probabilities().iter().zip([0.025, 0.025, 0.925, 0.025]) {
        assert!((p - expected).abs() < 1e-15, "{drawn:?}");
    }
    assert_eq!(Distribution::uniform(arms).or(1.0, ArmIndex(2)), Distribution::uniform(arms));
}

#[test]
fn distributions_are_what_their_formulas_say() {
    let offers = offers();
    let arms = offers[1].arm_set(&seat()).unwrap();
    // Arms 0 and 3 are masked: the highest value is not to be had, and K is 3.
    let values = [9.0, 0.5, 0.8, 7.0, 0.2];
    let softmax = Distribution::softmax(&values, 0.3, arms);
    let weight = |v: f64| libm::exp(v / 0.3);
    let sum = weight(0.5) + weight(0.8) + weight(0.2);
    let expected = [0.0, weight(0.5) / sum, weight(0.8) / sum, 0.0, weight(0.2) / sum];
    assert!(softmax.probabilities().iter().zip(expected).all(|(p, q)| (p - q).abs() < 1e-15), "{softmax:?}");

    let gaps = Distribution::inverse_gap(&values, 10.0, arms);
    let (second, third) = (1.0 / (3.0 + 10.0 * (0.8 - 0.5)), 1.0 / (3.0 + 10.0 * (0.8 - 0.2)));
    assert_eq!(gaps.probabilities(), [0.0, second, 1.0 - second - third, 0.0, third]);

    // gamma is 2 sqrt(25) after 25 observations, and 2 before any.
    let grown = Leaning::InverseGap { weight: 2.0, exponent: 0.5 };
    assert_eq!(grown.over(&values, 25, arms), gaps);
    assert_eq!(grown.over(&values, 0, arms), Distribution::inverse_gap(&values, 2.0, arms));

    let mixed = Distribution::greedy(&values, arms).mixed(0.3, arms);
    assert_eq!(mixed.probabilities(), [0.0, 0.3 / 3.0, 0.7 + 0.3 / 3.0, 0.0, 0.3 / 3.0]);
    assert_eq!(Distribution::of_votes(&[3, 0, 1]).probabilities(), [0.75, 0.0, 0.25]);
}

/// Temperatures, weights and values at the ends of what can be written.
#[test]
fn extremes_give_probabilities_too() {
    let offers = offers();
    let arms = offers[0].arm_set(&seat()).unwrap();
    let tied = [1.0, 1.0 + 1e-14, 1.0 - 1e-14, 1.0, 1.0];
    for values in [tied, [1e60, -1e60, 0.0, 1e60, 3.0], [0.0; 5]] {
        let all = [1e-300, 1e-13, 1.0, 1e300].into_iter().flat_map(|scale| {
            [
                Distribution::softmax(&values, scale, arms),
                Distribution::inverse_gap(&values, scale, arms),
                Distribution::inverse_gap(&values, f64::INFINITY, arms),
            ]
        });
        for distribution in all {
            let sum: f64 = distribution.probabilities().iter().sum();
            assert!((sum - 1.0).abs() < 1e-14, "{distribution:?} of {values:?}");
            assert!(distribution.probabilities().iter().all(|p| (0.0..=1.0).contains(p)), "{distribution:?}");
        }
    }
}

/// Ties are the kernel's: the first of those that differ by rounding alone is the best.
#[test]
fn the_best_of_equals_is_the_first() {
    let offers = offers();
    let arms = offers[0].arm_set(&seat()).unwrap();
    let values = [0.1, 0.5, 0.5 + 1e-15, 0.5, 0.2];
    let best = |distribution: Distribution| {
        let highest = distribution.probabilities().iter().copied().fold(0.0, f64::max);
        distribution.probabilities().iter().position(|&p| p == highest)
    };
    assert_eq!(best(Distribution::greedy(&values, arms)), Some(1));
    assert_eq!(best(Distribution::inverse_gap(&values, 50.0, arms)), Some(1));
}
