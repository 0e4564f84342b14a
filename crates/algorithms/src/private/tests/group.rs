//! Sums over groups, of which nobody sees the parts.

use cahoots_core::{Algorithm, Custom, LinearStats, Machine, NodeId, UserId, snapshot};
use cahoots_privacy::Statement;
use cahoots_privacy::aggregation::{Down, Up};
use serde_json::{Value, json};

use super::super::miniature::{DIM, Miniature, clients};
use super::super::{Body, PrivateFclub, PrivateLinucb, Summed};
use crate::testing::released;

/// Ten clients, in one group.
fn federation(params: Value, key: u64) -> Miniature {
    let mut all = json!({ "dp_delta": 1e-5, "trust": "group" });
    let given = params.as_object().unwrap().clone();
    all.as_object_mut().unwrap().extend(given);
    Miniature::of::<PrivateLinucb>(all, key, &clients(10))
}

fn is_masked(body: &Body) -> bool {
    matches!(body, Body::Up(Up::Masked { .. }))
}

#[test]
fn everyone_knows_the_sum_of_all() {
    for decide in ["own", "released"] {
        let mut federation = federation(json!({ "dp_epsilon": 1e9, "decide": decide }), 1);
        federation.live(99);
        assert_eq!(federation.server.observations(), 20 * 63);
        let known = federation.silos[3].knowledge(UserId(6)).unwrap();
        assert_eq!(known.stats.count, if decide == "own" { 18 * 63 + 2 * 99 } else { 20 * 63 }, "{decide}");
        let theta = known.factor.theta();
        assert!(theta.iter().all(|value| (value - 0.45).abs() < 0.1), "both kinds of users: {theta:?}");
    }
}

#[test]
fn it_costs_what_was_asked_for_and_needs_less_noise_than_each_for_itself() {
    let params = json!({ "dp_delta": 1e-5, "trust": "group" });
    let mut grouped = federation(json!({}), 5);
    grouped.live(99);
    let valid = PrivateLinucb::check(serde_json::from_value(params).unwrap(), &clients(10)).unwrap();
    let claim = PrivateLinucb::privacy(&valid).unwrap();
    let statement = Statement::new(&claim, &grouped.accountant).unwrap();
    assert!(statement.epsilon <= 1.0 && statement.epsilon > 0.999, "{statement:?}");
    assert!(statement.further.is_empty(), "{statement:?}");
    assert!(claim.not_protected.iter().any(|words| words.contains("breaks the protocol")), "{claim:?}");
    // The least of noise in a sum over ten: one share of it each, against one whole each.
    let own = |params: Value| {
        let mut federation = federation(params, 5);
        federation.live(40);
        federation.silos[0].variance(UserId(0), 5).unwrap()
    };
    let (group, silo) = (own(json!({})), own(json!({ "trust": "silo" })));
    // Six of ten are in it and honest for certain.
    assert!((silo / group - 6.0).abs() < 0.01, "{silo} {group}");
}

/// When what is sent, and how long it is, follow from the clock alone.
#[test]
fn times_and_sizes_say_nothing_about_data_or_noise() {
    let run = |key, x: [f64; DIM], reward| {
        let mut federation = federation(json!({}), key);
        for _ in 0..70 {
            federation.tick(|_| (x, reward));
        }
        let size = |body: &Body| match body {
            Body::Up(Up::Masked { values, .. }) => values.get().len(),
            Body::Up(Up::Shares { sealed, .. }) => sealed.iter().map(Vec::len).sum(),
            Body::Up(Up::Unmasking { pieces, .. }) => pieces.iter().flatten().count(),
            Body::Up(Up::Keys { .. }) => 0,
            other => panic!("{other:?}"),
        };
        federation.sent.iter().map(|(tick, node, body)| (*tick, *node, size(body))).collect::<Vec<_>>()
    };
    let expected = run(1, [1.0, 0.0], 1.0);
    assert_eq!(expected.len(), 10 * 4 * 7, "ten clients, four messages, seven rounds");
    for (key, x, reward) in [(1, [0.0, 0.0], 0.0), (2, [0.0, 1.0], -1.0), (3, [0.6, 0.8], 0.3)] {
        assert!(run(key, x, reward) == expected);
    }
}

/// With the same secrets and noise, another observation moves what one client sends by as much as it moves the sum; what
/// is sent by itself is no number that the data could be.
#[test]
fn vectors_are_under_masks() {
    let vectors = |reward| {
        let mut federation = federation(json!({ "dp_epsilon": 1e9 }), 1);
        federation.lost = Some(|now, _, _| now > 10);
        for _ in 0..9 {
            federation.tick(|_| ([1.0, 0.0], reward));
        }
        let masked = |(tick, node, body): &(u64, NodeId, Body)| match body {
            Body::Up(Up::Masked { values, .. }) if *tick == 8 && node.0 == 0 => Some(values.get().clone()),
            _ => None,
        };
        federation.sent.iter().find_map(masked).unwrap()
    };
    let (one, other) = (vectors(0.5), vectors(-0.5));
    assert!(one.iter().all(|value| value.leading_zeros() < 24 && value.leading_ones() < 24), "{one:?}");
    assert_eq!(one[0], other[0], "the same masks: only the moment differs");
    assert_ne!(one[3], other[3]);
}

#[test]
fn who_fails_in_mid_round_is_missed_in_that_one_and_its_data_in_none() {
    let mut federation = federation(json!({ "dp_epsilon": 1e9 }), 1);
    federation.lost =
        Some(|now, from, body| now == 8 && from.0 == 4 && matches!(body, Body::Up(Up::Shares { .. })));
    federation.live(9);
    assert_eq!(federation.server.waiting_for(), [NodeId(4)]);
    federation.live(2);
    assert_eq!(federation.server.observations(), 18 * 9, "it was waited for no longer, for two ticks");
    federation.live(20);
    assert_eq!(federation.server.observations(), 20 * 15, "and is back in the next round");
    let known = &federation.silos[0].knowledge(UserId(0)).unwrap().stats;
    assert!(
        (known.gram.get(0, 0) + known.gram.get(1, 1) - (18.0 * 15.0 + 2.0 * 31.0)).abs() < 1e-3,
        "{known:?}"
    );
}

/// Its vector comes after the others were asked without it: it is in no sum, and nobody is told more.
#[test]
fn a_vector_that_comes_late_changes_nothing() {
    let mut federation = federation(json!({ "dp_epsilon": 1e9 }), 1);
    federation.lost = Some(|now, from, body| now == 8 && from.0 == 4 && is_masked(body));
    federation.live(12);
    assert_eq!(federation.server.observations(), 18 * 7);
    // The sum has nothing of that vector, and its sender takes nothing of it off.
    let known = &federation.silos[4].knowledge(UserId(8)).unwrap().stats;
    assert!(
        (known.gram.get(0, 0) + known.gram.get(1, 1) - (18.0 * 7.0 + 2.0 * 12.0)).abs() < 1e-3,
        "{known:?}"
    );
    let (from, message) = federation.late.pop().unwrap();
    let before = snapshot::save(&federation.server);
    federation.at_server(|server, cx| server.on_message(from, message, cx).unwrap());
    assert!(federation.wire.is_empty() && snapshot::save(&federation.server) == before);
    federation.live(10);
    assert_eq!(federation.server.observations(), 20 * 15, "it goes on with the others");
}

#[test]
fn a_round_with_too_few_is_lost_and_the_next_has_it_all() {
    let mut federation = federation(json!({ "dp_epsilon": 1e9 }), 1);
    federation.lost =
        Some(|now, from, body| now == 8 && from.0 < 3 && matches!(body, Body::Up(Up::Shares { .. })));
    federation.live(7);
    let before = federation.silos[5].knowledge(UserId(10)).unwrap().stats.gram.get(0, 0);
    federation.live(8);
    let observations = |federation: &Miniature| federation.server.observations();
    let after = federation.silos[5].knowledge(UserId(10)).unwrap().stats.gram.get(0, 0);
    assert!(after > before, "what was known is known still, and its own data are more");
    assert_eq!(observations(&federation), 20 * 3, "those of the round before");
    federation.live(2);
    assert_eq!(observations(&federation), 20 * 15);
}

/// A store that was put back has the masks of a vector that was sent.
#[test]
fn a_copy_that_is_started_sends_no_second_vector_under_the_same_masks() {
    let mut federation = federation(json!({}), 1);
    federation.live(7);
    // A copy is made between its shares and its vector.
    federation.lost =
        Some(|now, from, body| now == 8 && from.0 == 3 && matches!(body, Body::Up(Up::Shares { .. })));
    federation.live(1);
    let (from, shares) = federation.late.pop().unwrap();
    let copy = snapshot::save(&federation.silos[4]);
    federation.lost = None;
    federation.at_server(|server, cx| server.on_message(from, shares, cx).unwrap());
    let step = federation.wire.iter().find(|(_, to, _)| to.0 == 4).unwrap().2.clone();
    federation.deliver();
    let vectors = |federation: &Miniature| {
        let of = |(tick, node, body): &&(u64, NodeId, Body)| *tick == 8 && node.0 == 4 && is_masked(body);
        federation.sent.iter().filter(of).count()
    };
    assert_eq!(vectors(&federation), 1);
    // It is put back, and the coordinator says the same once more: as it is, there would be another vector.
    let put_back = |told: bool, federation: &mut Miniature| {
        federation.silos[4] = snapshot::restore(&copy).unwrap();
        if told {
            federation.silos[4].on_new_secrets();
        }
        let step = step.clone();
        federation.at_silo(4, |silo, cx| silo.on_message(NodeId::SERVER, step, cx).unwrap());
        vectors(federation)
    };
    assert_eq!(put_back(true, &mut federation), 1, "every start of a process tells it");
    assert_eq!(put_back(false, &mut federation), 2, "and must");
}

#[test]
fn a_coordinator_cannot_begin_more_rounds_than_noise_was_made_for() {
    let mut federation = federation(json!({}), 1);
    federation.live(9);
    let begin = |round, federation: &mut Miniature| {
        let mut taken = Ok(());
        let message = Custom(Body::Down(Down::Begin { round }));
        federation.at_silo(0, |silo, cx| taken = silo.on_message(NodeId::SERVER, message, cx));
        taken.map(|()| federation.wire.pop().is_some())
    };
    assert_eq!(begin(4, &mut federation), Ok(false), "it was in this one");
    assert_eq!(begin(7, &mut federation), Ok(true), "the last");
    assert!(begin(8, &mut federation).unwrap_err().to_string().contains("round 8 of 7"));
    let sum = std::sync::Arc::new(Summed { stats: LinearStats::empty(DIM), variance: 1.0 });
    let message = Custom(Body::Summed { round: u32::MAX, through: Vec::new(), sum });
    let before = snapshot::save(&federation.silos[0]);
    federation.at_silo(0, |silo, cx| assert!(silo.on_message(NodeId::SERVER, message, cx).is_err()));
    assert_eq!(snapshot::save(&federation.silos[0]), before);
}

/// Nobody can see who spoils a sum, but that it is spoiled.
#[test]
fn a_sum_that_no_data_can_have_led_to_is_not_used() {
    let mut federation = federation(json!({}), 1);
    federation.lost = Some(|now, from, body| now == 8 && from.0 == 4 && is_masked(body));
    federation.live(8);
    let (from, _) = federation.late.pop().unwrap();
    let lie = Custom(Body::Up(Up::Masked { round: 4, values: released(vec![1 << 60; 6]) }));
    federation.at_server(|server, cx| server.on_message(from, lie, cx).unwrap());
    federation.deliver();
    assert_eq!(federation.server.observations(), 20 * 3, "the sum of this round is not used");
    federation.live(10);
    assert_eq!(federation.server.observations(), 20 * 15);
}

#[test]
fn what_excludes_each_other_is_refused() {
    let check = |params: Value, n| {
        let params = serde_json::from_value(params).unwrap();
        PrivateLinucb::check(params, &clients(n)).map(|_| ()).map_err(|error| (error.key, error.problem))
    };
    let group = |more: Value| {
        let mut all = json!({ "dp_delta": 1e-5, "trust": "group" });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    assert_eq!(check(group(json!({})), 10), Ok(()));
    let (key, problem) = check(group(json!({})), 4).unwrap_err();
    assert!(key == "group_least" && problem.contains("there are 4 clients"), "{problem}");
    for (params, key) in [
        (group(json!({ "group_least": 2 })), "group_least"),
        (group(json!({ "group_most": 300 })), "group_most"),
        (group(json!({ "missing": 0.5 })), "missing"),
        (group(json!({ "colluding": -0.1 })), "colluding"),
        (json!({ "dp_delta": 1e-5, "colluding": 0.1 }), "colluding"),
    ] {
        assert_eq!(check(params, 10).unwrap_err().0, key);
    }
    let apart = serde_json::from_value(group(json!({}))).unwrap();
    let refused = PrivateFclub::check(apart, &clients(10)).map(|_| ()).unwrap_err();
    assert!(refused.key == "trust" && refused.problem.contains("tell its users apart"), "{refused}");
    let federation = federation(json!({}), 1);
    assert!(federation.server.forgets().unwrap_err().contains("one client"));
}
