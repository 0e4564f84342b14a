//! Algorithm 5's State 0.

use std::sync::Arc;

use cahoots_core::{Algorithm, Choice, Learner, LinearStats, Machine, NodeId, Picked, Seating, UserId, View};
use serde_json::json;

use super::*;
use crate::linucb_alone::LinucbAlone;

/// A view of `count` generic observations of `theta`.
fn view(rng: &mut Stream, version: u64, theta: &[f64], count: u64) -> Arc<View> {
    let mut stats = LinearStats::empty(theta.len());
    for _ in 0..count {
        let x = vector(rng, theta.len());
        stats.observe(&x, inner(&x, theta));
    }
    View::new(version, stats)
}

fn download(client: &mut Client, view: Arc<View>) {
    let message = LinearMsg::Download { view, merged: 0 };
    step(client, 1, |c, cx| c.on_message(NodeId::SERVER, message, cx).unwrap());
}

#[test]
fn alg5_state0_is_linucb_on_stacked_features_decision_for_decision() {
    // Repeated features: the stacked matrix stays singular, so State 0 lasts.
    let (setting, stacked) = (setting(3, &[3]), setting(6, &[0]));
    let mut rng = random(1);
    let mut client = client(json!({ "multi_task": false }), &setting, 0);
    let seat = Seating::PerUser.seat(&stacked, NodeId(0));
    let alone = LinucbAlone::check(serde_json::from_value(json!({})).unwrap(), &stacked).unwrap();
    let mut alone = LinucbAlone::client(&alone, &seat);
    let mut choices = std::collections::BTreeSet::new();
    for round in 0..300 {
        let arms: Vec<_> = random_arms(&mut rng, 3, 3).into_iter().map(|(g, _)| (g.clone(), g)).collect();
        let mut whole = ArmBuffer::default();
        let rows: Vec<Vec<f64>> = arms.iter().map(|(g, l)| [g.clone(), l.clone()].concat()).collect();
        whole.features.fill(6, rows.iter().map(Vec::as_slice));
        let Choice { picked: Picked { arm, .. }, pending } =
            alone.choose(UserId(0), whole.arm_set(&seat).unwrap(), &mut random(0));
        assert_eq!(choice(&mut client, &offer(&arms), &setting, 0), arm, "round {round}");
        choices.insert(arm);
        let reward = arms[arm.index()].0[0] + 0.1 * rng.normal();
        step(&mut alone, 1, |c, cx| c.observe(pending, reward, cx));
        assert!(observe(&mut client, &arms[arm.index()].0, &arms[arm.index()].1, reward).is_empty());
    }
    assert!(client.is_warming_up() && choices.len() == 4);
}

#[test]
fn alg5_line11_state0_ends_when_own_data_have_full_rank() {
    let setting = setting(3, &[2]);
    let mut rng = random(2);
    let mut client = client(json!({ "ratio": 1.0 }), &setting, 0);
    let mut gram = LinearStats::empty(3);
    for seen in 1..=5 {
        assert!(client.is_warming_up());
        let (global, local) = (vector(&mut rng, 3), vector(&mut rng, 2));
        gram.observe(&global, 0.0);
        let sent = observe(&mut client, &global, &local, 0.3);
        // Nothing leaves in State 0, and what is learned is in neither part yet.
        assert_eq!(sent.len(), usize::from(seen == 5), "after {seen}");
        if seen < 5 {
            assert_eq!((client.known().total().count, client.own().total().count), (0, 0));
            continue;
        }
        // Line 13: all of it at once, in both parts, and the upload event looks at it.
        let LinearMsg::Upload { number: 1, stats } = &sent[0].1 else { panic!("{sent:?}") };
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-14;
        assert!(stats.get().gram.packed().iter().zip(gram.gram.packed()).all(close));
        assert_eq!((stats.get().count, client.own().total().count), (5, 5));
    }
    assert!(!client.is_warming_up());
}

#[test]
fn alg5_line11_state0_ends_when_what_was_received_has_full_rank() {
    let setting = setting(3, &[2]);
    let mut rng = random(3);
    let (theta_g, theta_l) = ([0.5, -0.3, 0.4], [0.6, 0.0]);
    let mut client = client(json!({}), &setting, 0);
    let pull = |client: &mut Client, rng: &mut Stream| {
        let (global, local) = (vector(rng, 3), vec![rng.uniform(), 0.0]);
        let reward = inner(&global, &theta_g) + inner(&local, &theta_l);
        observe(client, &global, &local, reward)
    };
    pull(&mut client, &mut rng);
    download(&mut client, view(&mut rng, 1, &theta_g, 2));
    pull(&mut client, &mut rng);
    assert!(client.is_warming_up(), "two directions of three");
    download(&mut client, view(&mut rng, 2, &theta_g, 40));
    assert!(client.is_warming_up(), "a download alone ends nothing: line 11 comes after an observation");
    pull(&mut client, &mut rng);
    assert!(!client.is_warming_up());
    assert_eq!((client.known().total().count, client.own().total().count), (43, 3));
    // Line 12 began at the received estimate, so the local part got its share at once.
    let own = client.own().total();
    assert!((own.moment[0] - 0.6 * own.gram.get(0, 0)).abs() < 1e-6, "{own:?}");
}

#[test]
fn alg5_line9_downloads_do_not_show_in_state0() {
    let setting = setting(3, &[2]);
    let mut rng = random(4);
    let [mut told, mut untold] = [0, 0].map(|id| client(json!({}), &setting, id));
    for client in [&mut told, &mut untold] {
        observe(client, &[0.5, 0.1, 0.0], &[0.2, 0.2], 0.4);
    }
    download(&mut told, view(&mut rng, 1, &[1.0, 0.0, 0.0], 500));
    for _ in 0..50 {
        let arms = offer(&random_arms(&mut rng, 3, 2));
        assert_eq!(choice(&mut told, &arms, &setting, 0), choice(&mut untold, &arms, &setting, 0));
    }
}

#[test]
fn the_multi_task_case_leaves_state0_by_its_global_block() {
    let setting = setting(3, &[3]);
    // Left alone a client finds out; told otherwise it waits for ever.
    for (params, ends) in [
        (json!({}), Some(3)),
        (json!({ "multi_task": true }), Some(3)),
        (json!({ "multi_task": false }), None),
    ] {
        let mut rng = random(5);
        let mut client = client(params.clone(), &setting, 0);
        let left = (1..=40).find(|_| {
            let x = vector(&mut rng, 3);
            observe(&mut client, &x, &x, 0.2);
            !client.is_warming_up()
        });
        assert_eq!(left, ends, "{params}");
        let total = client.known().total();
        assert!(total.moment.iter().all(|m| m.is_finite()));
    }
}

#[test]
fn features_that_differ_once_are_not_the_multi_task_case() {
    let mut rng = random(6);
    let mut client = client(json!({}), &setting(2, &[2]), 0);
    observe(&mut client, &[0.5, 0.1], &[0.5, 0.2], 0.1);
    for seen in 2..=4 {
        assert!(client.is_warming_up());
        let x = vector(&mut rng, 2);
        observe(&mut client, &x, &x, 0.1);
        assert!(client.is_warming_up(), "{seen}: three directions of four, however often");
    }
}

#[test]
fn a_reward_may_come_after_state0_is_over() {
    let setting = setting(2, &[1]);
    let mut rng = random(7);
    let mut client = client(json!({}), &setting, 0);
    let seat = Seating::PerUser.seat(&setting, NodeId(0));
    let arms = offer(&random_arms(&mut rng, 2, 1));
    let early = client.choose(UserId(0), arms.arm_set(&seat).unwrap(), &mut random(0)).pending;
    while client.is_warming_up() {
        observe(&mut client, &vector(&mut rng, 2), &vector(&mut rng, 1), 0.1);
    }
    let before = client.own().total().count;
    step(&mut client, 1, |c, cx| c.observe(early, 0.2, cx));
    assert_eq!(client.own().total().count, before + 1);
}

#[test]
fn algorithm3_and_the_authors_have_no_state0() {
    let setting = setting(3, &[2]);
    for params in [json!({ "fidelity": "authors" }), json!({ "warm_up": false })] {
        let mut client = client(params, &setting, 0);
        assert!(!client.is_warming_up());
        // A first context of squared length 0.5: det grows by 1 + 0.5 / 0.1.
        assert_eq!(observe(&mut client, &[0.5, 0.5, 0.0], &[0.1, 0.1], 0.3).len(), 1);
    }
}
