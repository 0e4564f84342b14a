//! What the paper says, checked on single machines with scripted inputs.

use std::sync::Arc;

use cahoots_core::{
    Algorithm, ArmSet, Keys, Learner, LinearStats, Machine, Membership, NodeId, Prior, Ruling, Seating,
    Setting, Tiles, UserId, View,
};

use super::{Client, FedLinucb, Server, Valid};
use crate::kit::linear::{Chosen, LinearMsg};
use crate::testing::{released, step};

const DIM: usize = 3;

fn setting() -> Setting {
    Setting::linear(3, DIM, 2).with_horizon(10)
}

fn valid(params: serde_json::Value) -> Valid {
    FedLinucb::check(serde_json::from_value(params).unwrap(), &setting()).unwrap()
}

fn client(valid: &Valid, id: u32) -> Client {
    FedLinucb::client(valid, &Seating::PerUser.seat(&setting(), NodeId(id)))
}

/// A server that three clients have joined.
fn server(valid: &Valid) -> Server {
    let mut server = FedLinucb::server(valid, &Seating::PerUser.seat(&setting(), NodeId::SERVER));
    (0..3).for_each(|id| assert!(join(&mut server, id).is_empty()));
    server
}

fn join(server: &mut Server, id: u32) -> Vec<(NodeId, LinearMsg)> {
    step(server, 1, |s, cx| s.on_membership(Membership::Joined(NodeId(id)), cx))
}

fn observe(client: &mut Client, x: [f64; DIM], reward: f64) -> Vec<(NodeId, LinearMsg)> {
    step(client, 1, |c, cx| c.observe(Chosen { context: x.as_slice().into() }, reward, cx))
}

fn stats(x: [f64; DIM], times: u32) -> LinearStats {
    let mut stats = LinearStats::empty(DIM);
    (0..times).for_each(|_| stats.observe(&x, 1.0));
    stats
}

fn upload(server: &mut Server, id: u32, number: u64, stats: LinearStats) -> Vec<(NodeId, LinearMsg)> {
    let message = LinearMsg::Upload { number, stats: released(stats) };
    step(server, 1, |s, cx| s.on_message(NodeId(id), message, cx).unwrap())
}

fn take(client: &mut Client, message: LinearMsg) {
    let sent = step(client, 1, |c, cx| c.on_message(NodeId::SERVER, message, cx).unwrap());
    assert!(sent.is_empty());
}

/// Which of the unit vectors along the axes a client takes.
fn choice(client: &mut Client) -> usize {
    let mut arms = Tiles::new(DIM);
    for axis in 0..DIM {
        let mut arm = [0.0; DIM];
        arm[axis] = 1.0;
        arms.push(&arm);
    }
    let mut rng = Keys::from_seed(1).choice(NodeId(0), 0);
    let arms = ArmSet::featured(&arms).unwrap();
    let (chosen, odds) =
        (client.choose(UserId(0), arms, &mut rng), client.odds(UserId(0), arms, &mut rng).unwrap());
    let arm = chosen.arm();
    assert_eq!((odds.of(arm), chosen.picked.probability), (1.0, Some(1.0)));
    step(client, 1, |c, cx| c.commit(&chosen.pending, cx));
    arm.index()
}

/// Numbers of observations in uploads.
fn counts(sent: &[(NodeId, LinearMsg)]) -> Vec<u64> {
    let count = |(_, message): &(NodeId, LinearMsg)| match message {
        LinearMsg::Upload { stats, .. } => stats.get().count,
        other => panic!("{other:?}"),
    };
    sent.iter().map(count).collect()
}

#[test]
fn alg1_line8_the_event_fires_beyond_1_plus_alpha() {
    // One unit context on a ridge of 1: det grows by a factor of exactly 2.
    for (ratio, uploads) in [(1.9, 1), (2.1, 0)] {
        let valid = valid(serde_json::json!({ "ridge": 1.0, "upload_ratio": ratio }));
        assert_eq!(observe(&mut client(&valid, 0), [1.0, 0.0, 0.0], 1.0).len(), uploads, "{ratio}");
    }
}

#[test]
fn alg1_line8_the_event_is_measured_from_the_download_and_not_from_the_own_data_alone() {
    let valid = valid(serde_json::json!({ "ridge": 1.0, "upload_ratio": 1.5 }));
    let mut client = client(&valid, 0);
    // Downloaded: 1 + 9 along the first axis. A factor of 1.1 there, of 2 along another.
    take(&mut client, LinearMsg::Download { view: View::new(1, stats([1.0, 0.0, 0.0], 9)), merged: 0 });
    for _ in 0..5 {
        assert!(observe(&mut client, [1.0, 0.0, 0.0], 1.0).is_empty());
    }
    // 16 / 10 is beyond 1.5.
    assert_eq!(counts(&observe(&mut client, [1.0, 0.0, 0.0], 1.0)), [6]);
}

#[test]
fn alg1_line5_decides_by_what_was_downloaded_and_not_by_its_own_newer_data() {
    for own_data in [false, true] {
        let params = serde_json::json!({ "ridge": 1.0, "upload_ratio": 1e300, "radius": { "fixed": 0.01 }, "own_data": own_data });
        let mut client = client(&valid(params), 0);
        let mut known = stats([0.0, 1.0, 0.0], 5);
        known.observe(&[1.0, 0.0, 0.0], 0.1);
        take(&mut client, LinearMsg::Download { view: View::new(1, known), merged: 0 });
        assert_eq!(choice(&mut client), 1);
        for _ in 0..50 {
            observe(&mut client, [0.0, 0.0, 1.0], 5.0);
        }
        assert_eq!(choice(&mut client), if own_data { 2 } else { 1 }, "{own_data}");
    }
}

#[test]
fn alg1_lines_9_to_13_the_sender_is_sent_the_sum_at_once_and_nobody_else_anything() {
    let valid = valid(serde_json::json!({ "ridge": 1.0, "upload_ratio": 1.5 }));
    let (mut one, mut server) = (client(&valid, 0), server(&valid));
    upload(&mut server, 1, 1, stats([0.0, 1.0, 0.0], 4));
    let sent = observe(&mut one, [1.0, 0.0, 0.0], 1.0);
    let answers = step(&mut server, 1, |s, cx| s.on_message(NodeId(0), sent[0].1.clone(), cx).unwrap());
    let [(NodeId(0), answer @ LinearMsg::Download { merged: 1, .. })] = &answers[..] else {
        panic!("{answers:?}")
    };
    take(&mut one, answer.clone());
    let known = one.known();
    assert_eq!((known.total().count, known.synced().stats().count, known.in_flight()), (5, 5, 0));
    assert_eq!(known.pending_count(), 0, "line 11: the local buffer is empty again");
    assert_eq!(server.view().stats().moment.to_vec(), [1.0, 4.0, 0.0]);
}

#[test]
fn rewards_that_come_while_an_upload_is_in_flight_ask_for_no_second_answer_and_are_merged_once() {
    let valid = valid(serde_json::json!({ "ridge": 1.0, "upload_ratio": 1.5 }));
    let (mut one, mut server) = (client(&valid, 0), server(&valid));
    let mut sent = observe(&mut one, [1.0, 0.0, 0.0], 1.0);
    // 1 + 1 along the axis are on their way: half as much again is one more, and it takes more than that.
    assert!(observe(&mut one, [1.0, 0.0, 0.0], 1.0).is_empty());
    sent.extend(observe(&mut one, [1.0, 0.0, 0.0], 1.0));
    assert_eq!(counts(&sent), [1, 2]);
    observe(&mut one, [0.1, 0.0, 0.0], 1.0);
    let mut answers = Vec::new();
    for (_, message) in sent {
        answers.extend(step(&mut server, 1, |s, cx| s.on_message(NodeId(0), message, cx).unwrap()));
        assert_eq!(one.known().total().count, 4);
    }
    for (_, answer) in answers {
        // Once more: a download says all there is to say, and can be repeated.
        take(&mut one, answer.clone());
        take(&mut one, answer);
        assert_eq!(one.known().total().count, 4);
    }
    let known = one.known();
    assert_eq!((known.synced().stats().count, known.in_flight(), known.pending_count()), (3, 0, 1));
    assert_eq!(server.view().stats().count, 3);
}

#[test]
fn authors_fidelity_begins_from_zeros_takes_the_first_arm_and_fires_with_the_first_observation() {
    let small = [0.01, 0.0, 0.0];
    for (fidelity, uploads) in [("paper", 0), ("authors", 1)] {
        let valid = valid(serde_json::json!({ "ridge": 1.0, "upload_ratio": 1e300, "fidelity": fidelity }));
        let mut client = client(&valid, 0);
        assert_eq!(choice(&mut client), 0);
        assert_eq!(observe(&mut client, small, 1.0).len(), uploads, "{fidelity}");
        assert!(observe(&mut client, small, 1.0).is_empty(), "the first one alone");
    }
    // Longer arms are more uncertain against the ridge, and all are alike against zeros.
    let mut arms = Tiles::new(DIM);
    arms.push(&[0.1, 0.0, 0.0]);
    arms.push(&[0.9, 0.0, 0.0]);
    for (fidelity, arm) in [("paper", 1), ("authors", 0)] {
        let mut client = client(&valid(serde_json::json!({ "fidelity": fidelity })), 0);
        let mut rng = Keys::from_seed(1).choice(NodeId(0), 0);
        let chosen = client.choose(UserId(0), ArmSet::featured(&arms).unwrap(), &mut rng);
        assert_eq!(chosen.arm().index(), arm, "{fidelity}");
    }
}

#[test]
fn infinity_never_synchronises_and_one_always_does() {
    for (ratio, uploads) in [("1.0", 20), ("inf", 0)] {
        let params: super::Params = toml_ratio(ratio);
        let mut client = client(&FedLinucb::check(params, &setting()).unwrap(), 0);
        let sent = |i: i32, client: &mut Client| observe(client, [0.1, 0.01 * f64::from(i), 0.0], 1.0).len();
        assert_eq!((0..20).map(|i| sent(i, &mut client)).sum::<usize>(), uploads);
    }
}

fn toml_ratio(ratio: &str) -> super::Params {
    let mut params: super::Params = serde_json::from_value(serde_json::json!({})).unwrap();
    params.upload_ratio = crate::kit::linear::Ratio::Same(ratio.parse().unwrap());
    params
}

#[test]
fn ratios_below_one_and_lists_of_the_wrong_length_are_refused() {
    let error = |params| FedLinucb::check(serde_json::from_value(params).unwrap(), &setting()).unwrap_err();
    assert_eq!(error(serde_json::json!({ "upload_ratio": 0.5 })).key, "upload_ratio");
    let short = error(serde_json::json!({ "upload_ratio": { "per_client": [2.0] } }));
    assert_eq!(short.to_string(), "upload_ratio: per_client lists 1 values for 3 clients");
}

#[test]
fn uploads_out_of_turn_of_strangers_or_not_plausible_are_refused_and_change_nothing() {
    let mut server = server(&valid(serde_json::json!({})));
    upload(&mut server, 0, 2, stats([1.0, 0.0, 0.0], 1));
    let before = serde_json::to_value(&server).unwrap();
    let mut hollow = stats([1.0, 0.0, 0.0], 1);
    hollow.count = 0;
    for (from, number, stats) in
        [(0, 2, stats([1.0, 0.0, 0.0], 1)), (7, 1, stats([1.0, 0.0, 0.0], 1)), (1, 1, hollow)]
    {
        let message = LinearMsg::Upload { number, stats: released(stats) };
        let sent = step(&mut server, 1, |s, cx| {
            assert!(s.on_message(NodeId(from), message, cx).is_err(), "{from}");
        });
        assert!(sent.is_empty());
        assert_eq!(serde_json::to_value(&server).unwrap(), before);
    }
}

#[test]
fn what_the_server_refuses_stays_with_the_client_and_shows_in_its_decisions() {
    let params = serde_json::json!({ "ridge": 1.0, "upload_ratio": 1.5, "radius": { "fixed": 0.01 } });
    let mut client = client(&valid(params), 0);
    assert_eq!(observe(&mut client, [0.0, 0.0, 1.0], 5.0).len(), 1);
    assert_eq!(choice(&mut client), 0, "nothing was downloaded yet");
    take(&mut client, LinearMsg::Refused { number: 1, reason: "no".into() });
    assert_eq!(choice(&mut client), 2);
    assert_eq!(client.known().total().count, 1);
}

#[test]
fn who_left_is_not_written_to_and_counts_from_one_when_it_comes_back() {
    let mut server = server(&valid(serde_json::json!({})));
    upload(&mut server, 1, 1, stats([1.0, 0.0, 0.0], 2));
    step(&mut server, 1, |s, cx| s.on_membership(Membership::Left(NodeId(1)), cx));
    assert!(join(&mut server, 1).is_empty(), "it is sent nothing before it asks");
    let sent = upload(&mut server, 1, 1, stats([0.0, 1.0, 0.0], 3));
    let [(NodeId(1), LinearMsg::Download { view, merged: 1 })] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(view.stats().count, 5, "what it sent before stays");
}

#[test]
fn a_prior_takes_the_place_of_nothing_for_whoever_joins() {
    let valid = valid(serde_json::json!({}));
    let mut server = FedLinucb::server(&valid, &Seating::PerUser.seat(&setting(), NodeId::SERVER));
    let prior = Prior::Linear(stats([1.0, 0.0, 0.0], 4));
    server.takes_prior(&prior).unwrap();
    step(&mut server, 1, |s, cx| s.on_prior(prior.clone(), cx));
    let sent = join(&mut server, 0);
    let [(NodeId(0), LinearMsg::Download { view, merged: 0 })] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(view.stats().count, 4);
    assert!(server.takes_prior(&prior).is_err(), "it has begun");
}

fn rule(server: &mut Server, ruling: Ruling) -> Vec<(NodeId, LinearMsg)> {
    step(server, 1, |s, cx| s.on_ruling(ruling, cx))
}

#[test]
fn who_is_forgotten_is_in_nobody_s_sum_and_who_was_quarantined_hears_of_it_when_restored() {
    let setting = Setting { keep_apart: true, ..setting() };
    let params = serde_json::from_value(serde_json::json!({})).unwrap();
    let valid = FedLinucb::check(params, &setting).unwrap();
    let mut server = server(&valid);
    for id in 0..3 {
        upload(&mut server, id, 1, stats([1.0, 0.1 * f64::from(id), 0.0], 2 + id));
    }
    assert!(rule(&mut server, Ruling::Quarantined(NodeId(2))).is_empty());
    step(&mut server, 1, |s, cx| s.on_membership(Membership::Left(NodeId(0)), cx));
    let without = |sent: &[(NodeId, LinearMsg)], to: u32| {
        let [(NodeId(node), LinearMsg::Download { view, merged: 1 })] = sent else { panic!("{sent:?}") };
        assert_eq!(*node, to);
        let mut others = stats([1.0, 0.1, 0.0], 3);
        others.merge(&stats([1.0, 0.2, 0.0], 4));
        assert_eq!(view.stats(), &others);
        Arc::clone(view)
    };
    let view = without(&rule(&mut server, Ruling::Forgotten(NodeId(0))), 1);
    assert_eq!(view.version(), 4);
    without(&rule(&mut server, Ruling::Restored(NodeId(2))), 2);
}
