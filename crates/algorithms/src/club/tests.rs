use cahoots_core::{
    Algorithm, Context, Cx, Effects, Keys, Learner, NodeId, Positions, Seating, Setting, UserId,
};
use serde_json::json;

use super::{LocalClub, LocalSclub};
use crate::kit::clusters::ChosenFor;

fn setting(users: usize) -> Setting {
    Setting::linear(users, 2, 2).with_hosts(vec![NodeId(0); users])
}

/// A local server whose users 0, 1 | 2, 3 have opposite preferences.
fn learner<A: Algorithm>(params: serde_json::Value) -> A::Client {
    let setting = setting(4);
    let valid = A::check(serde_json::from_value(params).unwrap(), &setting).unwrap();
    A::client(&valid, &Seating::PerHost.seat(&setting, NodeId(0)))
}

fn live<L: Learner<Pending = ChosenFor>>(learner: &mut L, rounds: usize) {
    let (keys, mut positions, mut effects) = (Keys::from_seed(1), Positions::default(), Effects::default());
    let mut rng = keys.policy(NodeId(9), 0);
    for round in 0..rounds {
        for user in 0..4 {
            let x = [rng.normal(), rng.normal()];
            let theta = if user < 2 { [0.8, 0.3] } else { [-0.5, 0.6] };
            let reward = x[0] * theta[0] + x[1] * theta[1] + 0.1 * rng.normal();
            let mut cx = Cx::new(NodeId(0), round as u64, &keys, &mut positions, &mut effects);
            let chosen = ChosenFor { user: UserId(user), context: Context::from_slice(&x) };
            learner.observe(chosen, reward, &mut cx);
        }
    }
}

fn ids(clusters: impl Iterator<Item = Vec<UserId>>) -> Vec<Vec<u32>> {
    let mut clusters: Vec<Vec<u32>> = clusters
        .map(|users| {
            let mut users: Vec<u32> = users.into_iter().map(|user| user.0).collect();
            users.sort_unstable();
            users
        })
        .collect();
    clusters.sort_unstable();
    clusters
}

#[test]
fn club_parts_users_who_differ_and_keeps_those_who_do_not() {
    let mut learner = learner::<LocalClub>(json!({ "deletion": 0.5 }));
    assert_eq!(ids(learner.clusters()), [[0, 1, 2, 3]]);
    live(&mut learner, 100);
    assert_eq!(ids(learner.clusters()), [[0, 1], [2, 3]]);
}

#[test]
fn sclub_splits_and_merges_into_the_same_clusters() {
    let mut learner = learner::<LocalSclub>(json!({ "deletion": 0.8 }));
    live(&mut learner, 300);
    assert_eq!(ids(learner.clusters()), [[0, 1], [2, 3]]);
}

#[test]
fn sclub_parts_users_who_come_at_other_rates() {
    let mut learner = learner::<LocalSclub>(json!({ "frequency": 0.2 }));
    let (keys, mut positions, mut effects) = (Keys::from_seed(2), Positions::default(), Effects::default());
    let mut rng = keys.policy(NodeId(9), 0);
    for round in 0..4000 {
        // User 0 comes nine times out of ten; all are alike.
        let user = if rng.below(10) > 0 { 0 } else { 1 + rng.below(3) as u32 };
        let x = [rng.normal(), rng.normal()];
        let mut cx = Cx::new(NodeId(0), round, &keys, &mut positions, &mut effects);
        let chosen = ChosenFor { user: UserId(user), context: Context::from_slice(&x) };
        learner.observe(chosen, 0.5 * x[0], &mut cx);
    }
    let clusters = ids(learner.clusters());
    assert!(clusters.contains(&vec![0]), "{clusters:?}");
}

#[test]
fn a_user_nobody_announced_is_taken_in() {
    let mut learner = learner::<LocalClub>(json!({}));
    let (keys, mut positions, mut effects) = (Keys::from_seed(1), Positions::default(), Effects::default());
    let mut cx = Cx::new(NodeId(0), 1, &keys, &mut positions, &mut effects);
    learner.observe(ChosenFor { user: UserId(77), context: Context::from_slice(&[1.0, 0.0]) }, 1.0, &mut cx);
    assert_eq!(ids(learner.clusters()), [[0, 1, 2, 3, 77]]);
}

#[test]
fn parameters_that_cannot_be_used_are_named() {
    let params = serde_json::from_value(json!({ "deletion": -1.0 })).unwrap();
    assert_eq!(LocalClub::check(params, &setting(2)).unwrap_err().key, "deletion");
    let params = serde_json::from_value(json!({ "frequency": -1.0 })).unwrap();
    assert_eq!(LocalSclub::check(params, &setting(2)).unwrap_err().key, "frequency");
}
