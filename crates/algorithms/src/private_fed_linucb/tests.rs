use cahoots_core::{Algorithm, Custom, LinearStats, Machine, NodeId, UserId, snapshot};
use cahoots_privacy::Statement;
use serde_json::{Value, json};

use super::PrivateFedLinucb;
use crate::private::miniature::{DIM, Miniature, releases, releases_of, valid};
use crate::private::rules::Noising;
use crate::private::{Body, Part, PrivateMsg, Shared, Summed};
use crate::testing::released;

fn federation(params: Value) -> Miniature {
    Miniature::new::<PrivateFedLinucb>(params, 1)
}

/// Noise too small to be seen.
fn exact() -> Value {
    json!({ "dp_delta": 1e-5, "dp_epsilon": 1e9 })
}

fn known(federation: &Miniature, user: u32) -> &LinearStats {
    &federation.silos[user as usize / 2].knowledge(UserId(user)).unwrap().stats
}

/// B = ceil(sqrt(100 / 2)) = 8: the clock says when, and neither data nor noise change that, or how much is sent.
#[test]
fn alg1_synchronises_every_b_rounds_whatever_was_observed() {
    let run = |key, x, reward| releases_of::<PrivateFedLinucb>(json!({ "dp_delta": 1e-5 }), key, x, reward);
    let expected = run(1, [1.0, 0.0], 1.0);
    let of_first = expected.iter().filter(|(_, node, _)| *node == 0);
    let ticks: Vec<u64> = of_first.clone().map(|(tick, ..)| *tick).collect();
    assert_eq!(ticks, (1..=12).map(|k| 8 * k).collect::<Vec<u64>>());
    let sums: Vec<_> = of_first.map(|(.., parts)| parts[0]).collect();
    assert_eq!(&sums[..3], [(0, 1, 2 * 7), (0, 2, 2 * 15), (0, 3, 2 * 23)]);
    for key in 1..4 {
        for (x, reward) in [([0.0, 0.0], 0.0), ([0.0, 1.0], -1.0), ([0.6, 0.8], 0.3)] {
            assert_eq!(run(key, x, reward), expected);
        }
    }
    let mut slower = federation(json!({ "dp_delta": 1e-5, "batch": 40 }));
    slower.live(99);
    assert_eq!(releases(&slower).len(), 2 * 2, "at 40 and 80");
}

/// V = lambda I + W_syn + W_i: everyone's until the last synchronisation, and one's own since then.
#[test]
fn alg1_decides_with_what_all_released_and_with_its_own_data_since() {
    let counts = |params: Value| {
        let mut federation = federation(params);
        let mut counts = Vec::new();
        for _ in 0..20 {
            federation.live(1);
            counts.push(known(&federation, 0).count);
        }
        (counts, federation)
    };
    let (own, federation) = counts(exact());
    let all: Vec<u64> = (1..=20)
        .map(|tick: u64| {
            let synced = (tick / 8 * 8).saturating_sub(1);
            4 * synced + 2 * (tick - synced)
        })
        .collect();
    assert_eq!(own, all);
    // The sums themselves: at tick 16 everything before it, noise apart.
    let mut everything = LinearStats::empty(DIM);
    for user in [0, 2] {
        everything.merge(known(&federation, user));
    }
    // Both have all until 16, and each its own since.
    assert_eq!(everything.count, 2 * 4 * 15 + 2 * 2 * 5);
    let trace = everything.gram.get(0, 0) + everything.gram.get(1, 1);
    // Contexts have norm 1. Two models have the same noise, of two silos on two diagonal entries of twice the variance.
    let Noising::Batches(batches) = valid::<PrivateFedLinucb>(exact()).unwrap().rules.noise else {
        panic!("noise of another kind")
    };
    let deviation = 2.0 * (2.0 * 2.0 * 2.0 * batches.variance(2)).sqrt();
    assert!(deviation < 1e-2 && (trace - everything.count as f64).abs() < 6.0 * deviation, "{trace}");
    let mut released = exact();
    released["decide"] = json!("released");
    let (released, _) = counts(released);
    assert_eq!(released[..7], [0; 7]);
    assert_eq!(released[7..15], [4 * 7; 8]);
    assert_eq!(released[15..], [4 * 15; 5]);
}

/// What comes back late is put under all that was observed since: nothing is lost, nothing counts twice.
#[test]
fn a_synchronisation_that_comes_back_late_or_never_loses_nothing_of_ones_own() {
    let mut federation = federation(exact());
    federation.withheld = Some((NodeId(0), Vec::new()));
    federation.live(18);
    // Two rounds, at 8 and at 16, of which nothing came.
    let (_, shares) = federation.withheld.take().unwrap();
    assert_eq!(shares.len(), 2);
    assert_eq!(known(&federation, 0).count, 2 * 18, "alone so far");
    let deliver = |federation: &mut Miniature, share: &PrivateMsg| {
        let message = share.clone();
        federation.at_silo(0, |silo, cx| silo.on_message(NodeId::SERVER, message, cx).unwrap());
    };
    deliver(&mut federation, &shares[0]);
    assert_eq!(known(&federation, 0).count, 4 * 7 + 2 * (18 - 7), "all until 8, its own since");
    deliver(&mut federation, &shares[1]);
    assert_eq!(known(&federation, 0).count, 4 * 15 + 2 * (18 - 15));
    deliver(&mut federation, &shares[0]);
    assert_eq!(known(&federation, 0).count, 4 * 15 + 2 * (18 - 15), "an old one says nothing");
}

#[test]
fn all_that_is_ever_released_costs_what_was_asked_for() {
    for params in [
        json!({ "dp_delta": 1e-5 }),
        json!({ "dp_delta": 1e-6, "dp_epsilon": 3.0, "batch": 1 }),
        json!({ "dp_delta": 1e-5, "dp_epsilon": 0.2, "reward_range": [0.0, 1.0], "centred": true }),
    ] {
        let mut federation = federation(params.clone());
        federation.live(99);
        let claim = PrivateFedLinucb::privacy(&valid::<PrivateFedLinucb>(params).unwrap()).unwrap();
        let statement = Statement::new(&claim, &federation.accountant).unwrap();
        assert!(
            statement.epsilon <= claim.epsilon && statement.epsilon > 0.995 * claim.epsilon,
            "{statement:?}"
        );
        assert!(statement.unit.starts_with("one observation") && statement.further.is_empty());
    }
}

/// Decisions between synchronisations use exact data: the promise says for which observations it holds then, in the
/// words of `private-linucb`.
#[test]
fn the_claim_says_what_decisions_with_exact_data_cost() {
    let claim = |decide: &str| {
        let valid = valid::<PrivateFedLinucb>(json!({ "dp_delta": 1e-5, "decide": decide })).unwrap();
        PrivateFedLinucb::privacy(&valid).unwrap().not_protected
    };
    let gap = "an observation in whose place another leaves the later ones as they are";
    assert!(claim("own").iter().any(|line| line.contains(gap)));
    assert!(!claim("released").iter().any(|line| line.contains(gap)));
    for decide in ["own", "released"] {
        let fed = claim(decide);
        let params = json!({ "dp_delta": 1e-5, "decide": decide });
        let valid = valid::<crate::private::PrivateLinucb>(params).unwrap();
        assert_eq!(fed, crate::private::PrivateLinucb::privacy(&valid).unwrap().not_protected);
    }
}

/// lambda is twice what noise can take away; and where it is not, a model is made all the same.
#[test]
fn noise_leaves_a_model_to_decide_with() {
    for (epsilon, shift) in [(1.0, 2.0), (0.1, 2.0), (0.1, 0.0)] {
        let params = json!({ "dp_delta": 1e-5, "dp_epsilon": epsilon, "shift": shift });
        let mut federation = federation(params);
        federation.live(99);
        let model = federation.silos[1].knowledge(UserId(2)).unwrap();
        assert!(model.factor.theta().iter().all(|value| value.is_finite()));
        assert_eq!(model.stats.count, 4 * 95 + 2 * 4, "{epsilon} {shift}");
    }
}

#[test]
fn lies_are_refused_and_change_nothing() {
    let mut federation = federation(json!({ "dp_delta": 1e-5 }));
    federation.live(40);
    let part = |number, count, value: f64| {
        let mut stats = LinearStats::empty(DIM);
        stats.count = count;
        stats.moment[0] = value;
        Custom(Body::Release(vec![Part { stream: 0, number, stats: released(stats) }]))
    };
    let before = snapshot::save(&federation.server);
    for (number, count, value) in
        [(5, 500, 0.0), (13, 500, 0.0), (6, 3, 0.0), (6, 500, 1e9), (6, 500, f64::NAN)]
    {
        let lie = part(number, count, value);
        federation.at_server(|server, cx| {
            assert!(server.on_message(NodeId(0), lie, cx).is_err(), "{number} {count} {value}");
        });
    }
    assert_eq!(snapshot::save(&federation.server), before);
    federation.at_server(|server, cx| server.on_message(NodeId(0), part(6, 500, 0.0), cx).unwrap());
    let before = snapshot::save(&federation.silos[0]);
    let shared = |mine, variance, entry: f64| {
        let mut stats = LinearStats::empty(DIM);
        stats.gram.add_diagonal(entry);
        let sum = Summed { stats, variance }.into();
        Custom(Body::Shared { version: 99, groups: vec![Shared { mine, sum }] })
    };
    for lie in [
        shared(vec![(0, 0)], 1.0, 1.0),
        shared(vec![(0, 60)], 1.0, 1.0),
        shared(vec![(1, 1)], 1.0, 1.0),
        shared(vec![(0, 1), (0, 1)], 1.0, 1.0),
        shared(vec![(0, 5)], -1.0, 1.0),
        shared(vec![(0, 5)], 1.0, f64::INFINITY),
        shared(vec![(0, 5)], 1.0, -1e300),
    ] {
        federation.at_silo(0, |silo, cx| assert!(silo.on_message(NodeId::SERVER, lie, cx).is_err()));
    }
    assert_eq!(snapshot::save(&federation.silos[0]), before);
}

/// A round waits until half-way to the next one, and whoever was late is part of that, with all it has.
#[test]
fn who_is_late_is_waited_for_until_half_way() {
    let mut federation = federation(exact());
    federation.wakes[1] = Some(13);
    federation.live(11);
    assert_eq!(federation.server.waiting_for(), [NodeId(1)]);
    federation.live(1);
    assert!(federation.server.waiting_for().is_empty(), "at 8 + 4");
    assert_eq!(known(&federation, 0).count, 2 * 12, "nobody else's, and all of its own");
    federation.live(8);
    assert_eq!(federation.server.observations(), 4 * 15);
    assert_eq!(known(&federation, 0).count, 4 * 15 + 2 * 5);
}

#[test]
fn parameters_that_cannot_be_used_are_named() {
    for (params, key) in [
        (json!({}), "dp_delta"),
        (json!({ "dp_delta": 0.1 }), "dp_delta"),
        (json!({ "dp_delta": 1e-5, "dp_epsilon": 0.0 }), "dp_epsilon"),
        (json!({ "dp_delta": 1e-5, "batch": 0 }), "batch"),
        (json!({ "dp_delta": 1e-5, "shift": -1.0 }), "shift"),
        (json!({ "dp_delta": 1e-5, "ridge": 0.0 }), "ridge"),
        (json!({ "dp_delta": 1e-5, "failure_prob": 1.5 }), "failure_prob"),
        (json!({ "dp_delta": 1e-5, "policy": "linphe" }), "policy"),
        (json!({ "dp_delta": 1e-5, "reward_range": [1.0, 0.0] }), "reward_range"),
    ] {
        assert_eq!(valid::<PrivateFedLinucb>(params).unwrap_err(), key);
    }
}

/// What one observation can move a sum by is what the noise is made for, and nothing longer gets into it.
#[test]
fn noise_is_made_for_the_rewards_that_are_stated() {
    for (range, centred, expected) in [
        (json!(null), false, 2.0),
        (json!([0.0, 1.0]), true, 1.25),
        (json!([0.0, 1.0]), false, 2.0),
        (json!([-3.0, 3.0]), false, 6.0),
    ] {
        let mut params = exact();
        params["reward_range"] = range;
        params["centred"] = json!(centred);
        let rules = valid::<PrivateFedLinucb>(params.clone()).unwrap().rules;
        let Noising::Batches(batches) = rules.noise else { panic!("noise of another kind") };
        assert_eq!(batches.sensitivity, expected);
        let mut federation = federation(params);
        (0..7).for_each(|_| federation.tick(|_| ([30.0, 40.0], 1e6)));
        let known = known(&federation, 0);
        let norm = known.moment.iter().map(|value| value * value).sum::<f64>().sqrt();
        let trace = known.gram.get(0, 0) + known.gram.get(1, 1);
        assert!((trace - 14.0).abs() < 1e-9, "contexts of norm 1: {trace}");
        assert!((norm - 14.0 * rules.rewards.largest()).abs() < 1e-9, "{norm}");
    }
}
