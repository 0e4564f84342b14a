mod group;

use cahoots_core::{
    Algorithm, Custom, Keys, LinearStats, Machine, Membership, Misbehaviour, NodeId, UserId, snapshot,
};
use cahoots_privacy::Statement;
use serde_json::json;

use super::miniature::{DIM, Miniature, releases_of, valid};
use super::{Body, Part, PrivateFclub, PrivateLinucb};
use crate::testing::released;

/// When what is sent, of whom, and how many observations are in it follow from the clock alone.
#[test]
fn times_and_counts_say_nothing_about_data_or_noise() {
    let run = |key, x, reward| releases_of::<PrivateFclub>(json!({ "dp_delta": 1e-5 }), key, x, reward);
    let expected = run(1, [1.0, 0.0], 1.0);
    let ticks: Vec<u64> = expected.iter().filter(|(_, node, _)| *node == 0).map(|(tick, ..)| *tick).collect();
    assert_eq!(ticks, [2, 4, 8, 16, 32, 64], "at tick 1 there is nothing yet");
    for key in 1..4 {
        for (x, reward) in [([0.0, 0.0], 0.0), ([0.0, 1.0], -1.0), ([0.6, 0.8], 0.3)] {
            assert_eq!(run(key, x, reward), expected);
        }
    }
}

#[test]
fn all_that_is_ever_released_costs_what_was_asked_for() {
    for (params, unit) in [
        (json!({ "dp_delta": 1e-5 }), "one observation"),
        (json!({ "dp_delta": 1e-6, "dp_epsilon": 3.0, "unit": "user", "per_user": 20 }), "one user"),
        (json!({ "dp_delta": 1e-5, "trust": "nobody", "decide": "released" }), "one observation"),
    ] {
        let mut federation = Miniature::new::<PrivateFclub>(params.clone(), 5);
        federation.live(99);
        let claim = PrivateFclub::privacy(&valid::<PrivateFclub>(params).unwrap()).unwrap();
        let statement = Statement::new(&claim, &federation.accountant).unwrap();
        assert!(
            statement.epsilon <= claim.epsilon && statement.epsilon > 0.999 * claim.epsilon,
            "{statement:?}"
        );
        assert!(statement.unit.starts_with(unit) && statement.further.is_empty(), "{statement:?}");
    }
}

/// Without noise the server's sums and the clients' models are those of all data.
#[test]
fn without_noise_everyone_knows_what_was_released() {
    for decide in ["own", "released"] {
        let mut federation = Miniature::new::<PrivateLinucb>(
            json!({ "dp_delta": 1e-5, "dp_epsilon": 1e9, "decide": decide }),
            1,
        );
        federation.live(99);
        // At tick 64 all have released what came before it.
        assert_eq!(federation.server.observations(), 4 * 63);
        let known = federation.silos[0].knowledge(UserId(0)).unwrap().stats.count;
        assert_eq!(known, if decide == "own" { 2 * 63 + 2 * 99 } else { 4 * 63 }, "{decide}");
    }
}

#[test]
fn users_are_told_apart_by_what_was_released() {
    let mut federation = Miniature::new::<PrivateFclub>(json!({ "dp_epsilon": 1e4, "dp_delta": 1e-5 }), 1);
    federation.live(99);
    let theta = |silo: usize, user| federation.silos[silo].knowledge(UserId(user)).unwrap().factor.theta();
    for (silo, user) in [(0, 0), (0, 1), (1, 2), (1, 3)] {
        let theta = theta(silo, user);
        let liked = user as usize % 2;
        assert!(theta[liked] > 0.7 && theta[1 - liked].abs() < 0.2, "{user}: {theta:?}");
    }
    let mut alike = Miniature::new::<PrivateLinucb>(json!({ "dp_epsilon": 1e4, "dp_delta": 1e-5 }), 1);
    alike.live(99);
    let theta = alike.silos[0].knowledge(UserId(0)).unwrap().factor.theta();
    assert!((theta[0] - theta[1]).abs() < 0.2, "all are one: {theta:?}");
}

/// With so much noise that nobody is known, nobody is like anybody: users go on with their own data.
#[test]
fn who_is_not_known_is_put_together_with_nobody() {
    let mut federation = Miniature::new::<PrivateFclub>(json!({ "dp_epsilon": 0.1, "dp_delta": 1e-5 }), 1);
    federation.live(99);
    for user in 0..4 {
        let known = federation.silos[user as usize / 2].knowledge(UserId(user)).unwrap();
        assert_eq!(known.stats.count, 99, "its own observations, and no other");
        assert!(known.factor.theta()[user as usize % 2] > 0.7, "{:?}", known.factor.theta());
    }
}

/// What a client decides with, where the noise is as large as all of the data, is its own data.
#[test]
fn noise_that_drowns_everything_leaves_ones_own_data_as_they_are() {
    let mut federation = Miniature::new::<PrivateLinucb>(json!({ "dp_epsilon": 0.01, "dp_delta": 1e-6 }), 1);
    federation.live(99);
    let theta = federation.silos[0].knowledge(UserId(0)).unwrap().factor.theta();
    // Both kinds of users in one client: 0.45 each.
    assert!(theta.iter().all(|value| (value - 0.45).abs() < 0.1), "{theta:?}");
}

#[test]
fn of_a_user_no_more_is_used_than_was_said() {
    let params = json!({ "dp_delta": 1e-5, "dp_epsilon": 1e9, "unit": "user", "per_user": 10 });
    let mut federation = Miniature::new::<PrivateLinucb>(params, 1);
    federation.live(99);
    assert_eq!(federation.server.observations(), 4 * 10);
}

/// Whatever the noise, nobody keeps it before it is needed: a copy that goes on with another key draws other noise.
#[test]
fn a_copy_with_another_key_uses_no_noise_twice() {
    let run = |after: u64| {
        let mut federation = Miniature::new::<PrivateLinucb>(json!({ "dp_delta": 1e-5 }), 1);
        federation.live(20);
        federation.silos =
            federation.silos.iter().map(|silo| snapshot::restore(&snapshot::save(silo)).unwrap()).collect();
        federation.keys = Keys::from_seed(after);
        federation.live(30);
        let last = federation.sent.pop().unwrap().2;
        let Body::Release(parts) = last else { panic!("{last:?}") };
        parts[0].stats.get().clone()
    };
    assert_eq!(run(8), run(8));
    let (one, other) = (run(8), run(9));
    assert!(one.moment.iter().zip(&other.moment).all(|(a, b)| a != b));
    assert!(one.gram.packed().iter().zip(other.gram.packed()).all(|(a, b)| a != b));
}

#[test]
fn lies_are_refused_and_change_nothing() {
    let mut federation = Miniature::new::<PrivateLinucb>(json!({ "dp_delta": 1e-5 }), 1);
    federation.live(40);
    let before = snapshot::save(&federation.server);
    let part = |stream, number, count, value: f64| {
        let mut stats = LinearStats::empty(DIM);
        stats.count = count;
        stats.moment[0] = value;
        Part { stream, number, stats: released(stats) }
    };
    let liars = [
        vec![],
        vec![part(0, 1, 500, 0.0)],
        vec![part(0, 60, 500, 0.0)],
        vec![part(0, 6, 1, 0.0)],
        vec![part(0, 6, 500, 1e9)],
        vec![part(0, 6, 500, f64::NAN)],
        vec![part(1 << 24, 1, 5, 0.0)],
        vec![part(1, 1, 5, 0.0), part(1, 1, 5, 0.0)],
    ];
    for parts in liars {
        let message = Custom(Body::Release(parts.clone()));
        federation.at_server(|server, cx| {
            assert!(server.on_message(NodeId(0), message, cx).is_err(), "{parts:?}");
        });
    }
    federation.at_server(|server, cx| {
        let honest = Custom(Body::Release(vec![part(0, 6, 500, 0.0)]));
        assert!(matches!(server.on_message(NodeId(7), honest, cx), Err(Misbehaviour::Unexpected(_))));
    });
    assert_eq!(snapshot::save(&federation.server), before);
    let before = snapshot::save(&federation.silos[0]);
    let shared = |mine, stats, variance| {
        let sum = super::Summed { stats, variance }.into();
        Custom(Body::Shared { version: 99, groups: vec![super::Shared { mine, sum }] })
    };
    for message in [
        shared(vec![(0, 60)], LinearStats::empty(DIM), 1.0),
        shared(vec![(3, 1)], LinearStats::empty(DIM), 1.0),
        shared(vec![(0, 1), (0, 1)], LinearStats::empty(DIM), 1.0),
        shared(vec![(0, 1)], LinearStats::empty(DIM + 1), 1.0),
        shared(vec![(0, 1)], LinearStats::empty(DIM), f64::NAN),
        shared(vec![(0, 1)], LinearStats::empty(DIM), -1.0),
    ] {
        federation.at_silo(0, |silo, cx| assert!(silo.on_message(NodeId::SERVER, message, cx).is_err()));
    }
    assert_eq!(snapshot::save(&federation.silos[0]), before);
}

#[test]
fn who_is_late_is_waited_for_until_half_way_and_is_part_of_the_next_round() {
    let mut federation = Miniature::new::<PrivateLinucb>(json!({ "dp_delta": 1e-5, "dp_epsilon": 1e9 }), 1);
    federation.wakes[1] = Some(30);
    federation.live(9);
    assert_eq!(federation.server.waiting_for(), [NodeId(1)]);
    assert_eq!(federation.silos[0].knowledge(UserId(0)).unwrap().stats.count, 2 * 9);
    federation.live(25);
    // The late one released at 30, and both at 32.
    assert_eq!(federation.server.observations(), 4 * 31);
}

#[test]
fn one_who_comes_back_with_a_fresh_machine_adds_to_what_was_there() {
    let mut federation = Miniature::new::<PrivateLinucb>(json!({ "dp_delta": 1e-5, "dp_epsilon": 1e9 }), 1);
    federation.live(20);
    let before = federation.server.observations();
    federation.at_server(|server, cx| server.on_membership(Membership::Left(NodeId(1)), cx));
    federation.at_server(|server, cx| server.on_membership(Membership::Joined(NodeId(1)), cx));
    let mut stats = LinearStats::empty(DIM);
    stats.observe(&[0.6, 0.8], 0.5);
    let fresh = Custom(Body::Release(vec![Part { stream: 0, number: 1, stats: released(stats) }]));
    federation.at_server(|server, cx| server.on_message(NodeId(1), fresh, cx).unwrap());
    assert_eq!(federation.server.observations(), before + 1);
}

#[test]
fn parameters_that_cannot_be_used_are_named() {
    for (params, key) in [
        (json!({}), "dp_delta"),
        (json!({ "dp_delta": 0.1 }), "dp_delta"),
        (json!({ "dp_delta": 1e-5, "dp_epsilon": 0.0 }), "dp_epsilon"),
        (json!({ "dp_delta": 1e-5, "unit": "user" }), "per_user"),
        (json!({ "dp_delta": 1e-5, "per_user": 3 }), "per_user"),
        (json!({ "dp_delta": 1e-5, "trust": "nobody" }), "decide"),
        (json!({ "dp_delta": 1e-5, "releases": 0 }), "releases"),
        (json!({ "dp_delta": 1e-5, "first_release": 0 }), "first_release"),
        (json!({ "dp_delta": 1e-5, "policy": "linphe" }), "policy"),
        (json!({ "dp_delta": 1e-5, "reward_noise": 0.0 }), "reward_noise"),
        (json!({ "dp_delta": 1e-5, "reward_range": [1.0, 0.0] }), "reward_range"),
        (json!({ "dp_delta": 1e-5, "preference_norm": 0.0 }), "preference_norm"),
    ] {
        assert_eq!(valid::<PrivateLinucb>(params).unwrap_err(), key);
    }
    for key in ["separation", "certainty"] {
        let params = json!({ "dp_delta": 1e-5, key: -1.0 });
        assert_eq!(valid::<PrivateFclub>(params).unwrap_err(), key);
    }
}
