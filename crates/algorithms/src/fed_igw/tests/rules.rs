//! Epochs, gamma, and the probabilities of arms; propensities against frequencies.

use super::super::rules::{Epochs, Gamma};
use super::*;

#[test]
fn falcon_epochs_double_and_those_of_the_authors_stop_at_4096() {
    let lengths = |epochs: Epochs, to: u64| (1..=to).map(|epoch| epochs.length(epoch)).collect::<Vec<_>>();
    assert_eq!(lengths(valid(json!({})).epochs, 6), [2, 4, 8, 16, 32, 64]);
    let authors = valid(json!({ "fidelity": "authors" })).epochs;
    assert_eq!(lengths(authors, 14)[..4], [1, 2, 4, 8]);
    assert_eq!((authors.length(13), authors.length(14), authors.length(900)), (4096, 4096, 4096));
    let own = valid(json!({ "first_epoch": 3, "longest_epoch": 20 })).epochs;
    assert_eq!(lengths(own, 5), [3, 6, 12, 20, 20]);
    assert_eq!(valid(json!({})).epochs.length(200), u64::MAX, "it does not wrap");
}

#[test]
fn falcon_plus_gamma_is_the_weight_times_the_root_of_arms_over_the_error_of_the_epochs_model() {
    let gamma = valid(json!({ "failure_prob": 0.05, "reward_noise": 0.2 })).gamma;
    assert_eq!(gamma.of(1, 0, ARMS), 1.0);
    for (epoch, n, arms) in [(2, 6u64, 4usize), (5, 96, 4), (5, 96, 3), (11, 6144, 25)] {
        let logarithm = libm::log(2.0 * (epoch * epoch) as f64 / 0.05);
        let expected = 0.5 * (arms as f64 * n as f64 / (0.04 * (DIM as f64 + logarithm))).sqrt();
        let found = gamma.of(epoch, n, arms);
        assert!((found / expected - 1.0).abs() < 1e-12, "{epoch} {n} {arms}: {found} against {expected}");
    }
    // sqrt(2) times gamma with every doubling, but for the logarithm.
    let growth = gamma.of(9, 2048, ARMS) / gamma.of(9, 1024, ARMS);
    assert!((growth - 2f64.sqrt()).abs() < 1e-12, "{growth}");
    let twice = valid(json!({ "failure_prob": 0.05, "reward_noise": 0.2, "gap_weight": 1.0 })).gamma;
    assert!((twice.of(3, 12, 4) / gamma.of(3, 12, 4) - 2.0).abs() < 1e-12);
}

#[test]
fn the_authors_gamma_is_the_same_in_every_epoch() {
    for (params, gamma) in [
        (json!({ "fidelity": "authors" }), 7000.0),
        (json!({ "fidelity": "authors", "gamma": 10_000.0 }), 10_000.0),
        (json!({ "gamma": 30.0, "reward_noise": 0.0 }), 30.0),
    ] {
        let found = valid(params).gamma;
        assert_eq!((found.of(1, 0, 4), found.of(9, 5000, 2)), (gamma, gamma));
    }
    let schedule = valid(json!({ "fidelity": "authors", "gap_weight": 1.0 })).gamma;
    assert!(matches!(schedule, Gamma::Schedule { .. }), "an explicit key overrides what fidelity implies");
}

#[test]
fn in_the_first_epoch_all_arms_are_alike() {
    let (mut client, arms) = (client(&valid(json!({})), 0), arms());
    let mut rng = Keys::from_seed(1).choice(NodeId(0), 0);
    let odds = client.odds(UserId(0), ArmSet::featured(&arms).unwrap(), &mut rng).unwrap();
    assert_eq!(odds.probabilities(), [0.25; 4]);
}

#[test]
fn inverse_gap_weighting_is_the_formula_of_the_epochs_gamma_and_model_and_sums_to_one() {
    for (epsilon, masked) in [(0.0, None), (0.2, None), (0.0, Some(0)), (0.1, Some(2))] {
        let mut client = in_second_epoch(json!({ "epsilon": epsilon, "ridge": 0.5 }), 40);
        let masked_arms = (0..ARMS).map(|arm| Some(arm) == masked).collect();
        let offer = ArmBuffer { features: arms(), masked: masked_arms, ..ArmBuffer::default() };
        let seat = Seat { masks: true, ..Seating::PerUser.seat(&setting(), NodeId(0)) };
        let (arms, offered) = (arms(), offer.arm_set(&seat).unwrap());
        let mut rng = Keys::from_seed(1).choice(NodeId(0), 0);
        let odds = client.odds(UserId(0), offered, &mut rng).unwrap();
        let open: Vec<usize> = (0..ARMS).filter(|arm| Some(*arm) != masked).collect();
        // theta = s x / (0.5 + 40 x'x) for 40 observations of one x, by Sherman and Morrison.
        let x = [0.6, 0.3, 0.1];
        let scale = 40.0 * 0.7 / (0.5 + 40.0 * x.iter().map(|v| v * v).sum::<f64>());
        let estimate = |arm: usize| {
            let mut features = [0.0; DIM];
            arms.row_into(arm, &mut features);
            features.iter().zip(x).map(|(a, b)| a * b * scale).sum::<f64>()
        };
        let best = *open.iter().max_by(|a, b| estimate(**a).total_cmp(&estimate(**b))).unwrap();
        let gamma = valid(json!({})).gamma.of(2, 40, open.len());
        let (k, mut rest) = (open.len() as f64, 1.0);
        let mut expected = vec![0.0; ARMS];
        for &arm in open.iter().filter(|arm| **arm != best) {
            expected[arm] = 1.0 / (k + gamma * (estimate(best) - estimate(arm)));
            rest -= expected[arm];
        }
        expected[best] = rest;
        for &arm in &open {
            expected[arm] = (1.0 - epsilon) * expected[arm] + epsilon / k;
        }
        for (found, expected) in odds.probabilities().iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12, "{odds:?} against {expected:?}");
        }
        assert!((odds.probabilities().iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!(odds.probabilities().iter().filter(|p| **p > 0.0).count() == open.len());
    }
}

#[test]
fn arms_are_drawn_as_often_as_stated() {
    let (mut client, arms) = (in_second_epoch(json!({}), 40), arms());
    let offered = ArmSet::featured(&arms).unwrap();
    let keys = Keys::from_seed(11);
    let odds = client.odds(UserId(0), offered, &mut keys.choice(NodeId(0), 0)).unwrap();
    let (draws, mut counts) = (200_000u64, [0u64; ARMS]);
    for number in 0..draws {
        let choice = client.choose(UserId(0), offered, &mut keys.choice(NodeId(0), number));
        assert_eq!(
            choice.picked.probability,
            Some(odds.of(choice.arm())),
            "the number that it was drawn with"
        );
        counts[choice.arm().index()] += 1;
    }
    let square = |(count, p): (&u64, &f64)| {
        let expected = draws as f64 * p;
        assert!(expected > 1000.0, "{p}: too rare to be judged");
        let off = *count as f64 - expected;
        off * off / expected
    };
    let chi_square: f64 = counts.iter().zip(odds.probabilities()).map(square).sum();
    // The 0.999 quantile with 3 degrees of freedom.
    assert!(chi_square < 16.27, "{chi_square}: {counts:?} against {odds:?}");
}

#[test]
fn parameters_that_cannot_be_meant_are_refused_by_name() {
    for (params, says) in [
        (json!({ "ridge": 0.0 }), "ridge: "),
        (json!({ "failure_prob": 1.0 }), "failure_prob: "),
        (json!({ "reward_noise": 0.0 }), "reward_noise: must be above 0"),
        (json!({ "gap_weight": -1.0 }), "gap_weight: must be"),
        (json!({ "gamma": -1.0 }), "gamma: must be"),
        (json!({ "gamma": 5.0, "gap_weight": 1.0 }), "gap_weight: has no effect with `gamma`"),
        (json!({ "first_epoch": 0 }), "first_epoch: must be at least 1"),
        (json!({ "longest_epoch": 0 }), "longest_epoch: must be at least 1"),
        (json!({ "epsilon": 1.5 }), "epsilon: must be from 0 to 1"),
        (json!({ "quorum": 0.5 }), "quorum: is for rounds with a deadline"),
    ] {
        let refusal = FedIgw::check(serde_json::from_value(params.clone()).unwrap(), &setting()).unwrap_err();
        assert!(refusal.to_string().starts_with(says), "{params}: {refusal}");
    }
    let plain = Setting::k_armed(3, 3);
    assert_eq!(FedIgw::check(serde_json::from_value(json!({})).unwrap(), &plain).unwrap_err().key, "kind");
}
