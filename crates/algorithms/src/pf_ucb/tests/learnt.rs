//! What whoever watches the server is shown.

use cahoots_core::{ArmMean, KnownArm, Learnt, Membership, Sure, snapshot};
use serde_json::json;

use super::server::{say_at, set, upload};
use super::*;

fn shown(server: &Server) -> Learnt {
    let (mut models, all) = server.learnt(20);
    assert_eq!((models.len(), all), (1, 1));
    models.remove(0)
}

fn known(server: &Server, arm: u32) -> KnownArm {
    shown(server).arms.into_iter().find(|known| known.arm == ArmIndex(arm)).unwrap()
}

fn radius(server: &Server, arm: u32) -> Option<f64> {
    known(server, arm).mean.unwrap().radius
}

/// All of these report the same means and keep the same arms.
fn phase(server: &mut Server, p: u64, clients: &[u32], of: &[u32], means: &[f64], left: &[u32]) {
    clients.iter().for_each(|client| drop(say_at(server, 1, *client, upload(2 * p - 1, p, of, means))));
    clients.iter().for_each(|client| drop(say_at(server, 1, *client, set(2 * p, p + 1, left))));
    assert_eq!(server.phase(), p + 1);
}

#[test]
fn eq8_arms_have_the_average_that_was_sent_and_its_own_bound() {
    let setting = setting(3, 3, 1000);
    let valid = valid(json!({ "personalization": 0.0, "schedule": { "table": [8, 32] } }), &setting);
    let mut server = server(&valid, &setting);
    assert!(shown(&server).arms.iter().all(|arm| arm.active && arm.mean.is_none()), "nothing was told yet");
    for (client, own) in [(2, [0.0, 0.5, 1.0]), (0, [1.0, 1.0, 1.0])] {
        say_at(&mut server, 1, client, upload(1, 1, &[0, 1, 2], &own));
        assert!(known(&server, 0).mean.is_none(), "no client's means are shown on their own");
    }
    say_at(&mut server, 1, 1, upload(1, 1, &[0, 1, 2], &[0.5, 0.0, 1.0]));
    // Without personalisation, B_p is the bound of the average itself: sqrt(4 log T / (M F(p))).
    let first = (4.0 * libm::log(1000.0) / (3.0 * 8.0)).sqrt();
    for (arm, value) in [(0, 0.5), (1, 0.5), (2, 1.0)] {
        let mean = known(&server, arm).mean.unwrap();
        assert_eq!((mean.value, mean.pulls), (value, None));
        assert!((mean.radius.unwrap() - first).abs() < 1e-12);
    }
    // It holds with probability 1 - 2 / T^2 where the noise is what is assumed.
    let sure = shown(&server).sure.unwrap();
    assert!((sure.chance(1.0).unwrap() - (1.0 - 2e-6)).abs() < 1e-9, "{sure:?}");

    [0, 1, 2].into_iter().for_each(|client| drop(say_at(&mut server, 1, client, set(2, 2, &[0, 2]))));
    assert!(!known(&server, 1).active && known(&server, 1).mean.is_some(), "what was told stays known");
    phase(&mut server, 2, &[0, 1, 2], &[0, 2], &[0.25, 0.75], &[0, 2]);
    let second = (4.0 * libm::log(1000.0) / (3.0 * 40.0)).sqrt();
    assert!((radius(&server, 2).unwrap() - second).abs() < 1e-12, "all pulls since the start are in it");
    assert!((radius(&server, 1).unwrap() - first).abs() < 1e-12, "nobody pulls it any more");
    assert_eq!(known(&server, 0).mean.map(|mean| mean.value), Some(0.25));
    assert_eq!(server.observations(), None);
}

/// What all pull for each other is ceil((1 - alpha) f(p)): those are in every client's mean, more may not be.
#[test]
fn the_average_of_all_is_less_sure_than_a_mixed_mean() {
    let setting = setting(4, 2, 1000);
    let mut radii = Vec::new();
    for alpha in [0.0, 0.75] {
        let params = json!({ "personalization": alpha, "schedule": 16 });
        let mut server = server(&valid(params, &setting), &setting);
        phase(&mut server, 1, &[0, 1, 2, 3], &[0, 1], &[0.5, 0.5], &[0, 1]);
        radii.push(radius(&server, 0).unwrap());
    }
    assert!((radii[1] / radii[0] - 2.0).abs() < 1e-12, "{radii:?}");
    let mut server = server(&valid(json!({ "personalization": 1.0, "schedule": 16 }), &setting), &setting);
    phase(&mut server, 1, &[0, 1, 2, 3], &[0, 1], &[0.5, 0.5], &[0, 1]);
    let mean = ArmMean { value: 0.5, radius: None, pulls: None };
    assert_eq!(known(&server, 0).mean, Some(mean), "nobody pulls for the others");
}

/// A fresh machine, and one that was late, have explored less than the others: only what is certain counts.
#[test]
fn bounds_count_what_everyone_is_sure_to_have_explored() {
    let setting = setting(2, 2, 1000);
    let params = json!({ "personalization": 0.0, "schedule": 10, "deadline": 5, "quorum": 0.5 });
    let bound = |clients: f64, pulls: f64| (4.0 * libm::log(1000.0) / (clients * pulls)).sqrt();
    let is = |server: &Server, expected: f64| {
        assert!((radius(server, 0).unwrap() - expected).abs() < 1e-12, "{:?}", known(server, 0));
    };
    let all = [0, 1];
    let mut server = server(&valid(params, &setting), &setting);
    phase(&mut server, 1, &all, &all, &[0.5, 0.5], &all);
    phase(&mut server, 2, &all, &all, &[0.5, 0.5], &all);
    is(&server, bound(2.0, 20.0));

    for change in [Membership::Left(NodeId(1)), Membership::Joined(NodeId(1))] {
        step(&mut server, 1, |s, cx| s.on_membership(change, cx));
    }
    phase(&mut server, 3, &all, &all, &[0.5, 0.5], &all);
    is(&server, bound(2.0, 10.0));
    phase(&mut server, 4, &all, &all, &[0.5, 0.5], &all);
    is(&server, bound(2.0, 20.0));

    // Client 1 misses phase 5, which then is an average of one.
    say_at(&mut server, 10, 0, upload(9, 5, &all, &[0.5, 0.5]));
    step(&mut server, 15, |s, cx| s.on_wake(cx));
    say_at(&mut server, 16, 0, set(10, 6, &all));
    is(&server, bound(1.0, 30.0));
    phase(&mut server, 6, &all, &all, &[0.5, 0.5], &all);
    is(&server, bound(2.0, 10.0));

    // A restart knows the state, and again what is told from then on.
    let mut restored: Server = snapshot::restore(&snapshot::save(&server)).unwrap();
    assert!(shown(&restored).arms.iter().all(|arm| arm.mean.is_none()));
    phase(&mut restored, 7, &all, &all, &[0.5, 0.25], &all);
    is(&restored, bound(2.0, 10.0));
    phase(&mut server, 7, &all, &all, &[0.5, 0.25], &all);
    assert!(snapshot::save(&restored) == snapshot::save(&server), "nothing follows from what is shown");
}

#[test]
fn where_the_server_cannot_know_how_much_was_pulled_there_is_no_interval() {
    let setting = setting(1, 2, 1000);
    let enhanced = valid_enhanced(json!({}), &setting);
    let mut server = PfUcbEnhanced::server(&enhanced, &Seating::PerUser.seat(&setting, NodeId::SERVER));
    say_at(&mut server, 1, 0, upload(1, 1, &[0, 1], &[0.5, 0.25]));
    assert_eq!(known(&server, 0).mean, Some(ArmMean { value: 0.5, radius: None, pulls: None }));
    assert_eq!(shown(&server).sure, None::<Sure>);
}
