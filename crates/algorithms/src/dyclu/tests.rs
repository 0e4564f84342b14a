//! What the reading guide says of DyClu, on scripted observations.

use cahoots_core::{Algorithm, Cx, Keys, Learner, NodeId, Seating, Setting, Stream, UserId};
use serde_json::json;

use super::{ChosenFor, Dyclu, Dynamic};

const DIM: usize = 2;

fn setting() -> Setting {
    Setting::linear(4, DIM, 2)
}

fn learner(params: serde_json::Value) -> Dynamic {
    let valid = Dyclu::check(serde_json::from_value(params).unwrap(), &setting()).unwrap();
    Dyclu::client(&valid, &Seating::Central.seat(&setting(), NodeId(0)))
}

fn observe(learner: &mut Dynamic, user: u32, context: [f64; DIM], reward: f64) {
    let chosen = ChosenFor { user: UserId(user), context: context.as_slice().into() };
    Cx::rehearse(NodeId(0), 1, |cx| learner.observe(chosen, reward, cx));
}

/// `n` noisy observations of a user with this parameter.
fn live(learner: &mut Dynamic, rng: &mut Stream, user: u32, theta: [f64; DIM], n: usize) {
    for _ in 0..n {
        let x = [rng.normal(), rng.normal()];
        observe(learner, user, x, x[0] * theta[0] + x[1] * theta[1] + 0.1 * rng.normal());
    }
}

fn rng() -> Stream {
    Keys::from_seed(5).policy(NodeId(9), 0)
}

fn count(learner: &Dynamic, user: u32) -> u64 {
    learner.neighbourhood(UserId(user)).count
}

#[test]
fn a_neighbourhood_is_everyone_similar_and_not_a_partition() {
    let (mut learner, mut rng) = (learner(json!({ "outlier": 1e-9 })), rng());
    live(&mut learner, &mut rng, 0, [1.0, 0.0], 30);
    live(&mut learner, &mut rng, 1, [1.0, 0.0], 30);
    live(&mut learner, &mut rng, 2, [0.0, 1.0], 30);
    assert_eq!([count(&learner, 0), count(&learner, 1), count(&learner, 2)], [60, 60, 30]);
    // One direction observed, in which all but user 2 agree with it.
    (0..5).for_each(|_| observe(&mut learner, 3, [1.0, 0.0], 1.0));
    assert_eq!([count(&learner, 3), count(&learner, 0), count(&learner, 2)], [65, 65, 30]);
}

#[test]
fn before_its_first_reward_a_user_is_on_its_own_and_then_with_all_it_does_not_differ_from() {
    let (mut learner, mut rng) = (learner(json!({ "outlier": 1e-9 })), rng());
    live(&mut learner, &mut rng, 0, [1.0, 0.0], 10);
    live(&mut learner, &mut rng, 1, [0.0, 1.0], 10);
    assert_eq!((count(&learner, 2), count(&learner, 0)), (0, 10));
    // One direction, and both others are known in it: user 1 differs there.
    observe(&mut learner, 2, [1.0, 0.0], 1.0);
    assert_eq!(count(&learner, 2), 11);
}

#[test]
fn an_outlier_is_not_learned_from_once_there_is_a_model_to_tell() {
    let mut learner = learner(json!({}));
    observe(&mut learner, 0, [1.0, 0.0], 1.0);
    observe(&mut learner, 0, [1.0, 0.0], 50.0);
    assert_eq!(count(&learner, 0), 2, "one direction only: no model yet");
    let mut learner = self::learner(json!({}));
    let mut rng = rng();
    live(&mut learner, &mut rng, 0, [1.0, 0.0], 20);
    let before = count(&learner, 0);
    observe(&mut learner, 0, [1.0, 0.0], 3.0);
    assert_eq!(count(&learner, 0), before);
    observe(&mut learner, 0, [1.0, 0.0], 1.05);
    assert_eq!(count(&learner, 0), before + 1);
}

#[test]
fn the_detector_keeps_quiet_in_a_world_that_does_not_change() {
    let (mut learner, mut rng) = (learner(json!({})), rng());
    live(&mut learner, &mut rng, 0, [0.6, 0.8], 5000);
    assert_eq!(learner.changes(), 0);
    // One in a hundred is dropped.
    let dropped = 5000.0 - count(&learner, 0) as f64;
    assert!((dropped - 50.0).abs() < 5.0 * (50.0f64 * 0.99).sqrt(), "{dropped}");
}

#[test]
fn a_change_is_seen_within_a_window_and_the_past_can_be_of_use_again() {
    for (keep_past, other) in [(true, 150), (false, 0)] {
        let (mut learner, mut rng) = (learner(json!({ "keep_past": keep_past, "outlier": 0.001 })), rng());
        live(&mut learner, &mut rng, 0, [1.0, 0.0], 150);
        live(&mut learner, &mut rng, 0, [0.0, 1.0], 50);
        assert_eq!(learner.changes(), 1);
        let own = count(&learner, 0);
        assert!((10..50).contains(&own), "the new model has what came after the change was seen: {own}");
        // Someone who is like user 0 used to be.
        live(&mut learner, &mut rng, 1, [1.0, 0.0], 60);
        let found = count(&learner, 1);
        assert!(found.abs_diff(60 + other) < 5, "{found}");
    }
}

#[test]
fn parameters_that_cannot_be_used_are_named() {
    for (params, key) in [
        (json!({ "reward_noise": 0.0 }), "reward_noise"),
        (json!({ "cut": 0.0 }), "cut"),
        (json!({ "outlier": 1.0 }), "outlier"),
        (json!({ "window": 0 }), "window"),
        (json!({ "false_alarm": 2.0 }), "false_alarm"),
    ] {
        let params = serde_json::from_value(params).unwrap();
        assert_eq!(Dyclu::check(params, &setting()).unwrap_err().key, key);
    }
}
