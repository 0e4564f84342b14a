//! What the paper says, checked on single machines with scripted inputs.

use std::sync::Arc;

use cahoots_core::{Algorithm, Learner, LinearStats, Machine, Membership, NodeId, Seating, Setting, View};

use super::{AsyncLinucb, Client, Server, Valid};
use crate::kit::linear::{Chosen, LinearMsg, Signal};
use crate::testing::{released, step};

const DIM: usize = 3;
const RIDGE: f64 = 0.1;

fn setting() -> Setting {
    Setting::linear(3, DIM, 2).with_horizon(10)
}

fn valid(params: serde_json::Value) -> Valid {
    AsyncLinucb::check(serde_json::from_value(params).unwrap(), &setting()).unwrap()
}

fn client(valid: &Valid, id: u32) -> Client {
    AsyncLinucb::client(valid, &Seating::PerUser.seat(&setting(), NodeId(id)))
}

fn server(valid: &Valid) -> Server {
    AsyncLinucb::server(valid, &Seating::PerUser.seat(&setting(), NodeId::SERVER))
}

fn observe(client: &mut Client, x: [f64; DIM], reward: f64) -> Vec<(NodeId, LinearMsg)> {
    step(client, 1, |c, cx| c.observe(Chosen { context: x.as_slice().into() }, reward, cx))
}

fn join(server: &mut Server, id: u32) -> Vec<(NodeId, LinearMsg)> {
    step(server, 1, |s, cx| s.on_membership(Membership::Joined(NodeId(id)), cx))
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

fn downloads(sent: &[(NodeId, LinearMsg)]) -> Vec<u32> {
    let mut to: Vec<u32> = sent
        .iter()
        .filter(|(_, message)| matches!(message, LinearMsg::Download { .. }))
        .map(|(node, _)| node.0)
        .collect();
    to.sort_unstable();
    to
}

#[test]
fn eq3_upload_event_fires_when_the_determinant_has_grown_by_gamma() {
    // One unit context: det grows from ridge^3 to ridge^2 (ridge + 1), a factor of 11.
    for (ratio, uploads) in [(10.9, 1), (11.1, 0)] {
        let sent =
            observe(&mut client(&valid(serde_json::json!({ "ratio": ratio })), 0), [1.0, 0.0, 0.0], 1.0);
        assert_eq!(sent.len(), uploads, "gamma {ratio}");
    }
}

#[test]
fn eq3_upload_event_counts_from_the_last_upload() {
    let mut client = client(&valid(serde_json::json!({ "ratio": 5.0 })), 0);
    let mut sent = Vec::new();
    for _ in 0..60 {
        sent.extend(observe(&mut client, [1.0, 0.0, 0.0], 1.0));
    }
    // (ridge + n): 0.1 -> 1.1 -> more than 5.5 at n = 6 -> more than 30.5 at n = 31.
    let counts: Vec<u64> = sent
        .iter()
        .map(|(_, message)| match message {
            LinearMsg::Upload { stats, .. } => stats.get().count,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(counts, [1, 5, 25]);
}

#[test]
fn gamma_one_uploads_always_and_infinity_never() {
    let count = |params| {
        let mut client = client(&valid(params), 0);
        (0..20).map(|i| observe(&mut client, [0.1, 0.01 * f64::from(i), 0.0], 1.0).len()).sum::<usize>()
    };
    assert_eq!(count(serde_json::json!({ "ratio": 1.0 })), 20);
    assert_eq!(count(serde_json::json!({ "ratio": 1e300 })), 0);
}

#[test]
fn alg1_line4_merges_every_upload_into_the_global_sum() {
    let mut server = server(&valid(serde_json::json!({})));
    join(&mut server, 0);
    join(&mut server, 1);
    upload(&mut server, 0, 1, stats([1.0, 0.0, 0.0], 2));
    upload(&mut server, 1, 1, stats([0.0, 1.0, 0.0], 3));
    let merged = server.view().stats();
    assert_eq!((merged.count, merged.gram.get(0, 0), merged.gram.get(1, 1)), (5, 2.0, 3.0));
    assert_eq!(merged.moment.as_ref(), [2.0, 3.0, 0.0]);
}

#[test]
fn alg1_line7_download_only_to_the_lagging() {
    let mut server = server(&valid(serde_json::json!({ "download_ratio": 12.0 })));
    (0..3).for_each(|id| drop(join(&mut server, id)));
    // A factor of 11 for the two others; the sender has it already.
    let sent = upload(&mut server, 0, 1, stats([1.0, 0.0, 0.0], 1));
    assert_eq!(downloads(&sent), [0u32; 0]);
    assert!(matches!(sent[..], [(NodeId(0), LinearMsg::Signal { signal: Signal::Merged, number: 1 })]));
    // 121 for client 2, which has nothing; 11 for the sender (it lacks client 0's), 11 for client 0.
    assert_eq!(downloads(&upload(&mut server, 1, 1, stats([0.0, 1.0, 0.0], 1))), [2]);
}

#[test]
fn alg1_includes_the_sender_among_those_served() {
    let mut server = server(&valid(serde_json::json!({ "download_ratio": 5.0 })));
    join(&mut server, 0);
    upload(&mut server, 0, 1, stats([1.0, 0.0, 0.0], 1));
    join(&mut server, 1);
    // The sender lacks what client 0 uploaded: a factor of 11.
    assert_eq!(downloads(&upload(&mut server, 1, 1, stats([0.0, 1.0, 0.0], 1))), [0, 1]);
}

#[test]
fn an_up_to_date_sender_is_never_sent_its_own_data_even_at_gamma_one() {
    let mut server = server(&valid(serde_json::json!({ "ratio": 1.0 })));
    join(&mut server, 0);
    join(&mut server, 1);
    for number in 1..20 {
        let x = [0.3 * number as f64, 0.7, 1.0 / number as f64];
        assert_eq!(downloads(&upload(&mut server, 0, number, stats(x, 1))), [1]);
    }
}

#[test]
fn alg2_line7_a_newcomer_waits_for_its_event_unless_served_at_once() {
    for (mode, at_join) in [("buffer", 0), ("at-once", 1)] {
        let mut server = server(&valid(serde_json::json!({ "new_client": mode })));
        join(&mut server, 0);
        upload(&mut server, 0, 1, stats([1.0, 0.0, 0.0], 1));
        assert_eq!(join(&mut server, 1).len(), at_join, "{mode}");
        assert_eq!(join(&mut server, 1).len(), 0, "joining again is no news");
    }
}

#[test]
fn appendix_e_each_client_may_have_its_own_ratio() {
    let params = serde_json::json!({ "upload_ratio": { "per_client": [2.0, 20.0, 2.0] }, "download_ratio": { "per_client": [5.0, 5.0, 50.0] } });
    let valid = valid(params);
    assert_eq!(observe(&mut client(&valid, 0), [1.0, 0.0, 0.0], 1.0).len(), 1);
    assert_eq!(observe(&mut client(&valid, 1), [1.0, 0.0, 0.0], 1.0).len(), 0);
    let mut server = server(&valid);
    (0..3).for_each(|id| drop(join(&mut server, id)));
    assert_eq!(downloads(&upload(&mut server, 0, 1, stats([1.0, 0.0, 0.0], 1))), [1]);
}

#[test]
fn uploads_out_of_turn_or_of_strangers_are_refused() {
    let mut server = server(&valid(serde_json::json!({})));
    join(&mut server, 0);
    let mut refuse = |from: u32, number| {
        let message = LinearMsg::Upload { number, stats: released(stats([1.0, 0.0, 0.0], 1)) };
        step(&mut server, 1, |s, cx| assert!(s.on_message(NodeId(from), message, cx).is_err()))
    };
    assert!(refuse(0, 0).is_empty());
    assert!(refuse(2, 1).is_empty());
    assert_eq!(server.view().version(), 0);
}

#[test]
fn what_the_server_refuses_stays_with_the_client_and_the_next_upload_is_merged() {
    let valid = valid(serde_json::json!({ "ratio": 1.0 }));
    let (mut client, mut server) = (client(&valid, 0), server(&valid));
    join(&mut server, 0);
    let first = observe(&mut client, [1.0, 0.0, 0.0], 1.0);
    assert_eq!(first.len(), 1);
    // The first one is not merged, for whatever reason.
    let refusal = LinearMsg::Refused { number: 1, reason: "no".into() };
    step(&mut client, 0, |c, cx| c.on_message(NodeId::SERVER, refusal, cx).unwrap());
    let second = observe(&mut client, [0.0, 1.0, 0.0], 1.0);
    let answers = step(&mut server, 0, |s, cx| s.on_message(NodeId(0), second[0].1.clone(), cx).unwrap());
    for (_, answer) in answers {
        step(&mut client, 0, |c, cx| c.on_message(NodeId::SERVER, answer, cx).unwrap());
    }
    let view = LinearMsg::Download { view: server.view().clone(), merged: 2 };
    step(&mut client, 0, |c, cx| c.on_message(NodeId::SERVER, view, cx).unwrap());
    assert_eq!(server.view().stats().count, 1);
    let known = client.known().total();
    assert_eq!((known.count, known.moment.to_vec()), (2, vec![1.0, 1.0, 0.0]));
    let never = LinearMsg::Refused { number: 3, reason: "no".into() };
    step(&mut client, 0, |c, cx| assert!(c.on_message(NodeId::SERVER, never, cx).is_err()));
}

#[test]
fn authors_fidelity_decides_once_more_with_the_old_model() {
    let view: Arc<View> = View::new(1, stats([1.0, 0.0, 0.0], 50));
    for (fidelity, fresh) in [("paper", true), ("authors", false)] {
        let mut client = client(&valid(serde_json::json!({ "fidelity": fidelity })), 0);
        let message = LinearMsg::Download { view: view.clone(), merged: 0 };
        step(&mut client, 1, |c, cx| c.on_message(NodeId::SERVER, message, cx).unwrap());
        let pending = Chosen { context: [0.0, 0.0, 1.0].as_slice().into() };
        step(&mut client, 1, |c, cx| c.commit(&pending, cx));
        assert_eq!(client.known().model_count() == 50, fresh, "{fidelity}");
        observe(&mut client, [0.0, 0.0, 1.0], 0.0);
        assert_eq!(client.known().model_count(), 51);
    }
}

#[test]
fn ratios_below_one_and_lists_of_the_wrong_length_are_refused() {
    let error = |params| AsyncLinucb::check(serde_json::from_value(params).unwrap(), &setting()).unwrap_err();
    assert_eq!(error(serde_json::json!({ "ratio": 0.5 })).key, "upload_ratio");
    let short = error(serde_json::json!({ "download_ratio": { "per_client": [2.0] } }));
    assert_eq!(short.to_string(), "download_ratio: per_client lists 1 values for 3 clients");
    assert_eq!(error(serde_json::json!({ "ridge": 0.0 })).key, "ridge");
}

/// The view a client is sent is bit for bit what the server has, ridge and all.
#[test]
fn server_and_client_compute_the_same_model() {
    let mut server = server(&valid(serde_json::json!({ "ratio": 1.0 })));
    join(&mut server, 0);
    join(&mut server, 1);
    let sent = upload(&mut server, 0, 1, stats([0.3, -0.2, 0.9], 4));
    let (_, LinearMsg::Download { view, .. }) = &sent[0] else { panic!("{sent:?}") };
    assert_eq!(view.factor(RIDGE), server.view().factor(RIDGE));
}

fn leave(server: &mut Server, id: u32) -> Vec<(NodeId, LinearMsg)> {
    step(server, 1, |s, cx| s.on_membership(Membership::Left(NodeId(id)), cx))
}

#[test]
fn who_left_is_not_written_to_and_counts_from_one_when_it_comes_back() {
    let mut server = server(&valid(serde_json::json!({ "ratio": 1.0 })));
    (0..2).for_each(|id| drop(join(&mut server, id)));
    for number in 1..=3 {
        upload(&mut server, 1, number, stats([1.0, 0.0, 0.0], 1));
    }
    assert!(leave(&mut server, 9).is_empty() && leave(&mut server, 1).is_empty());
    let sent = upload(&mut server, 0, 1, stats([0.0, 1.0, 0.0], 1));
    assert!(sent.iter().all(|(to, _)| to.0 == 0), "{sent:?}");
    join(&mut server, 1);
    let sent = upload(&mut server, 1, 1, stats([0.0, 1.0, 0.0], 1));
    let view = sent.iter().find_map(|(to, message)| match message {
        LinearMsg::Download { view, merged } if to.0 == 1 => Some((view.stats().count, *merged)),
        _ => None,
    });
    assert_eq!(view, Some((5, 1)), "what it sent before stays");
}

#[test]
fn a_view_after_a_refused_upload_says_that_it_holds_the_one_that_followed() {
    // Upload 2 of client 1 was refused; 3 is merged while client 1 lags behind.
    let mut server = server(&valid(serde_json::json!({ "upload_ratio": 1.0, "download_ratio": 500.0 })));
    (0..2).for_each(|id| drop(join(&mut server, id)));
    upload(&mut server, 1, 1, stats([1.0, 0.0, 0.0], 1));
    upload(&mut server, 0, 1, stats([1.0, 0.0, 0.0], 1));
    upload(&mut server, 1, 3, stats([0.0, 1.0, 0.0], 1));
    let mut much = stats([1.0, 0.0, 0.0], 1000);
    much.merge(&stats([0.0, 0.0, 1.0], 1000));
    let sent = upload(&mut server, 0, 2, much);
    let merged = sent.iter().find_map(|(to, message)| match message {
        LinearMsg::Download { merged, .. } if to.0 == 1 => Some(*merged),
        _ => None,
    });
    assert_eq!(merged, Some(3));
}
