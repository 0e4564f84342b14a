//! What the paper says, checked on small federations with scripted inputs.

use cahoots_core::{Algorithm, Learner, LinearStats, Machine, Membership, NodeId, Seating, Setting};

use super::{Client, Server, SyncLinucb, Valid};
use crate::kit::linear::{Chosen, LinearMsg, Signal};
use crate::testing::{released, step};

fn setting() -> Setting {
    Setting::linear(3, 2, 2).with_horizon(10)
}

fn valid(params: serde_json::Value) -> Valid {
    SyncLinucb::check(serde_json::from_value(params).unwrap(), &setting()).unwrap()
}

fn client(valid: &Valid) -> Client {
    SyncLinucb::client(valid, &Seating::PerUser.seat(&setting(), NodeId(0)))
}

fn server(valid: &Valid, joined: u32) -> Server {
    let mut server = SyncLinucb::server(valid, &Seating::PerUser.seat(&setting(), NodeId::SERVER));
    for id in 0..joined {
        step(&mut server, 0, |s, cx| s.on_membership(Membership::Joined(NodeId(id)), cx));
    }
    server
}

fn observe(client: &mut Client) -> Vec<(NodeId, LinearMsg)> {
    step(client, 1, |c, cx| c.observe(Chosen { context: [1.0, 0.0].as_slice().into() }, 1.0, cx))
}

fn message(server: &mut Server, from: u32, now: u64, message: LinearMsg) -> Vec<(NodeId, LinearMsg)> {
    step(server, now, |s, cx| s.on_message(NodeId(from), message, cx).unwrap())
}

fn upload(number: u64, observations: u32) -> LinearMsg {
    let mut stats = LinearStats::empty(2);
    (0..observations).for_each(|_| stats.observe(&[0.0, 1.0], 1.0));
    LinearMsg::Upload { number, stats: released(stats) }
}

#[test]
fn alg4_line10_steps_times_gain_triggers() {
    // After n steps: n ln((0.1 + n) / 0.1); n = 2: 2 ln 21 = 6.09, n = 3: 3 ln 31 = 10.3
    let mut client = client(&valid(serde_json::json!({ "sync_threshold": 10.0 })));
    let sent: Vec<usize> = (0..4).map(|_| observe(&mut client).len()).collect();
    assert_eq!(sent, [0, 0, 1, 0], "asks once, and not again while the request is on its way");
}

#[test]
fn alg4_line10_fires_at_the_threshold_only_in_the_authors_code() {
    // A zero context: no gain at all, so the product is exactly 0.
    for (fidelity, fires) in [("paper", 0), ("authors", 1)] {
        let mut client = client(&valid(serde_json::json!({ "sync_threshold": 0.0, "fidelity": fidelity })));
        let zero = Chosen { context: [0.0, 0.0].as_slice().into() };
        assert_eq!(step(&mut client, 1, |c, cx| c.observe(zero, 1.0, cx)).len(), fires, "{fidelity}");
    }
}

#[test]
fn dislinucb_thresholds_follow_from_the_setting() {
    // N = 3, d = 2, T = 10: T ln(NT) / (dN) and T / (N d ln T).
    for (name, expected) in
        [("dislinucb", 10.0 * libm::log(30.0) / 6.0), ("dislinucb-authors", 10.0 / (6.0 * libm::log(10.0)))]
    {
        assert!((valid(serde_json::json!({ "sync_threshold": name })).threshold - expected).abs() < 1e-12);
    }
    let params = serde_json::json!({ "sync_threshold": -1.0 });
    let refused = SyncLinucb::check(serde_json::from_value(params).unwrap(), &setting()).unwrap_err();
    assert_eq!(refused.to_string(), "sync_threshold: must be 0 or more (inf: never), not -1");
}

#[test]
fn alg4_lines11_to_16_everyone_seen_uploads_and_gets_the_sum() {
    let mut server = server(&valid(serde_json::json!({})), 2);
    let asks = message(&mut server, 1, 5, LinearMsg::signal(Signal::Request, 0));
    assert_eq!(asks.iter().map(|(to, _)| to.0).collect::<Vec<_>>(), [0, 1]);
    assert!(
        message(&mut server, 0, 5, LinearMsg::signal(Signal::Request, 0)).is_empty(),
        "one round at a time"
    );
    assert!(message(&mut server, 1, 5, upload(1, 3)).is_empty(), "waits for all");
    let sent = message(&mut server, 0, 5, upload(1, 0));
    assert_eq!(sent.iter().map(|(to, _)| to.0).collect::<Vec<_>>(), [0, 1]);
    for (_, message) in &sent {
        let LinearMsg::Download { view, merged: 1 } = message else { panic!("{message:?}") };
        assert_eq!(view.stats().count, 3);
    }
}

#[test]
fn serve_all_also_asks_those_not_seen_yet() {
    let mut server = server(&valid(serde_json::json!({ "serve": "all" })), 1);
    assert_eq!(message(&mut server, 0, 5, LinearMsg::signal(Signal::Request, 0)).len(), 3);
}

#[test]
fn after_the_deadline_the_round_goes_on_and_late_uploads_still_count() {
    let mut server = server(&valid(serde_json::json!({ "deadline": 4 })), 2);
    message(&mut server, 0, 5, LinearMsg::signal(Signal::Request, 0));
    message(&mut server, 0, 6, upload(1, 2));
    assert!(step(&mut server, 8, |s, cx| s.on_wake(cx)).is_empty(), "too early");
    assert_eq!(step(&mut server, 9, |s, cx| s.on_wake(cx)).len(), 2, "a view for both");
    message(&mut server, 1, 12, upload(1, 5));
    assert_eq!(server.view().stats().count, 7);
}

#[test]
fn a_client_that_leaves_does_not_hold_up_the_round() {
    let mut server = server(&valid(serde_json::json!({})), 2);
    message(&mut server, 0, 5, LinearMsg::signal(Signal::Request, 0));
    message(&mut server, 0, 5, upload(1, 2));
    let sent = step(&mut server, 6, |s, cx| s.on_membership(Membership::Left(NodeId(1)), cx));
    assert_eq!(sent.len(), 1);
}

#[test]
fn asked_clients_upload_what_they_have_even_if_it_is_nothing() {
    let mut client = client(&valid(serde_json::json!({})));
    for expected in [0, 2, 0] {
        if expected > 0 {
            observe(&mut client);
            observe(&mut client);
        }
        let ask = LinearMsg::signal(Signal::Ask, 1);
        let sent = step(&mut client, 3, |c, cx| c.on_message(NodeId::SERVER, ask, cx).unwrap());
        let [(NodeId::SERVER, LinearMsg::Upload { stats, .. })] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!(stats.get().count, expected);
    }
}

fn membership(server: &mut Server, change: Membership) -> Vec<(NodeId, LinearMsg)> {
    step(server, 7, |s, cx| s.on_membership(change, cx))
}

fn receivers(sent: &[(NodeId, LinearMsg)]) -> Vec<u32> {
    sent.iter().map(|(to, _)| to.0).collect()
}

#[test]
fn a_deadline_without_its_quorum_is_none_and_the_status_says_who_is_missing() {
    let mut server = server(&valid(serde_json::json!({ "deadline": 4, "quorum": 0.6 })), 3);
    assert!(server.waiting_for().is_empty());
    message(&mut server, 0, 5, LinearMsg::signal(Signal::Request, 0));
    message(&mut server, 0, 6, upload(1, 2));
    assert_eq!(server.waiting_for(), [NodeId(1), NodeId(2)]);
    assert!(step(&mut server, 9, |s, cx| s.on_wake(cx)).is_empty(), "1 of 3 is no quorum");
    let sent = message(&mut server, 2, 20, upload(1, 1));
    assert_eq!(receivers(&sent), [0, 2, 1], "2 of 3 are one, after the deadline at once");
    assert!(server.waiting_for().is_empty());
}

#[test]
fn who_has_answered_and_left_is_merged_and_not_written_to() {
    let mut server = server(&valid(serde_json::json!({})), 3);
    message(&mut server, 0, 5, LinearMsg::signal(Signal::Request, 0));
    message(&mut server, 1, 5, upload(1, 3));
    message(&mut server, 0, 5, upload(1, 2));
    assert!(membership(&mut server, Membership::Left(NodeId(1))).is_empty());
    let sent = message(&mut server, 2, 6, upload(1, 1));
    assert_eq!(receivers(&sent), [0, 2]);
    assert_eq!(server.view().stats().count, 6, "what it sent stays");
}

#[test]
fn who_comes_back_counts_from_one_and_what_it_sent_before_stays() {
    let mut server = server(&valid(serde_json::json!({})), 2);
    message(&mut server, 0, 5, LinearMsg::signal(Signal::Request, 0));
    message(&mut server, 0, 5, upload(1, 2));
    message(&mut server, 1, 5, upload(1, 3));
    let before = cahoots_core::snapshot::save(&server);
    assert!(membership(&mut server, Membership::Left(NodeId(9))).is_empty());
    assert_eq!(cahoots_core::snapshot::save(&server), before, "nobody knows 9");
    membership(&mut server, Membership::Left(NodeId(1)));
    membership(&mut server, Membership::Joined(NodeId(1)));
    let asks = message(&mut server, 0, 8, LinearMsg::signal(Signal::Request, 0));
    assert_eq!(receivers(&asks), [0, 1]);
    message(&mut server, 1, 8, upload(1, 4));
    let sent = message(&mut server, 0, 8, upload(2, 0));
    let merged: Vec<(u32, u64)> = sent
        .iter()
        .map(|(to, message)| match message {
            LinearMsg::Download { view, merged } if view.stats().count == 9 => (to.0, *merged),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(merged, [(0, 2), (1, 1)]);
}

#[test]
fn a_round_of_nobody_does_not_last() {
    let mut server = server(&valid(serde_json::json!({})), 1);
    membership(&mut server, Membership::Left(NodeId(0)));
    assert!(message(&mut server, 0, 8, LinearMsg::signal(Signal::Request, 0)).is_empty());
    membership(&mut server, Membership::Joined(NodeId(0)));
    assert_eq!(message(&mut server, 0, 9, LinearMsg::signal(Signal::Request, 0)).len(), 1, "a new round");
}
