//! Scripted inputs, one machine at a time.

use cahoots_core::{Cx, Fact, Learner, Tick};
use serde_json::json;

use super::*;
use crate::kit::linear::Chosen;

fn observe(client: &mut Client, x: [f64; DIM], reward: f64) -> Vec<(NodeId, LinearMsg)> {
    let pending = Chosen { context: x.as_slice().into() };
    let mut sent = step(client, 1, |c, cx| c.commit(&pending, cx));
    sent.extend(step(client, 1, |c, cx| c.observe(pending, reward, cx)));
    sent
}

fn tell(client: &mut Client, message: LinearMsg) -> Vec<(NodeId, LinearMsg)> {
    step(client, 1, |c, cx| c.on_message(NodeId::SERVER, message, cx).unwrap())
}

fn requests(sent: &[(NodeId, LinearMsg)]) -> Vec<u64> {
    let request = |(_, message): &(NodeId, LinearMsg)| match message {
        LinearMsg::Signal { signal: Signal::Request, number } => Some(*number),
        _ => None,
    };
    sent.iter().filter_map(request).collect()
}

pub(super) fn sizes_told(sent: &[(NodeId, LinearMsg)]) -> Vec<(u32, Vec<u32>)> {
    let told = |(to, message): &(NodeId, LinearMsg)| match message {
        LinearMsg::Clusters { sizes, .. } => Some((to.0, sizes.clone())),
        _ => None,
    };
    sent.iter().filter_map(told).collect()
}

/// A server whose clients have explored: `data(n, second)` of each. The rewards decide who is similar.
pub(super) fn clustered<A: Algorithm<Valid = Valid>>(params: serde_json::Value, seconds: &[f64]) -> Server {
    let mut server = server(&valid::<A>(seconds.len(), params));
    for (id, &second) in seconds.iter().enumerate() {
        message(&mut server, id as u32, 1, upload(1, data(20, second)));
    }
    server
}

/// 0 and 1 are similar, 1 and 2 are, 0 and 2 are not: two clusters that overlap in client 1.
const CHAIN: [f64; 3] = [0.0, 0.12, 0.24];

#[test]
fn alg3_uploads_once_when_t0_rewards_have_come() {
    let mut client = client(&valid::<Hetofed>(3, json!({ "exploration": 4 })), 0);
    let counts: Vec<usize> = (0..6).map(|_| observe(&mut client, [1.0, 0.0], 1.0).len()).collect();
    assert_eq!(counts, [0, 0, 0, 1, 0, 0]);
}

#[test]
fn alg3_a_reward_that_never_comes_does_not_hold_up_the_exploration() {
    let mut client = client(&valid::<Hetofed>(3, json!({ "exploration": 2 })), 0);
    observe(&mut client, [1.0, 0.0], 1.0);
    let pending = Chosen { context: [1.0, 0.0].as_slice().into() };
    step(&mut client, 1, |c, cx| c.commit(&pending, cx));
    let sent = step(&mut client, 1, |c, cx| c.abandon(pending, cx));
    assert!(matches!(&sent[..], [(_, LinearMsg::Upload { stats, .. })] if stats.get().count == 1));
}

#[test]
fn alg1_similar_clients_are_joined_and_told_their_clusters_sizes() {
    let mut server = server(&valid::<Hetofed>(3, json!({})));
    for (id, second) in [(0, 0.0), (1, 0.0)] {
        assert!(message(&mut server, id, 1, upload(1, data(20, second))).is_empty(), "not all are there");
    }
    let sent = message(&mut server, 2, 1, upload(1, data(20, 1.0)));
    assert_eq!(sizes_told(&sent), [(0, vec![2]), (1, vec![2]), (2, vec![1])]);
    assert_eq!(server.clusters().list(), [vec![NodeId(0), NodeId(1)], vec![NodeId(2)]]);
}

#[test]
fn alg1_clients_enter_the_graph_when_they_have_explored() {
    let mut server = server(&valid::<Hetofed>(3, json!({})));
    message(&mut server, 0, 1, upload(1, data(20, 0.0)));
    message(&mut server, 2, 1, upload(1, data(20, 0.0)));
    assert_eq!(sizes_told(&wake(&mut server, 2)), [(0, vec![2]), (2, vec![2])]);
    assert!(wake(&mut server, 3).is_empty(), "nothing new");
    assert_eq!(sizes_told(&message(&mut server, 1, 4, upload(1, data(20, 0.0)))).len(), 3);
}

#[test]
fn figure_1_clusters_overlap() {
    let server = clustered::<Hetofed>(json!({}), &CHAIN);
    assert_eq!(server.clusters().list(), [vec![NodeId(0), NodeId(1)], vec![NodeId(1), NodeId(2)]]);
}

#[test]
fn beyond_the_cap_clusters_are_still_of_mutually_similar_clients_and_it_is_said() {
    let valid = valid::<Hetofed>(3, json!({ "max_clusters": 1 }));
    let mut server = server(&valid);
    let (_, effects) = Cx::rehearse(NodeId::SERVER, 1, |cx| {
        for (id, second) in (0..).zip(CHAIN) {
            server.on_message(NodeId(id), upload(1, data(20, second)), cx).unwrap();
        }
    });
    let fallbacks = Fact::Level("clique_fallbacks".into(), 1.0);
    assert!(effects.facts.contains(&fallbacks), "{:?}", effects.facts);
    // Clients 0 and 2 differ: never in one cluster. Everyone is in one.
    assert_eq!(server.clusters().list(), [vec![NodeId(0), NodeId(1)], vec![NodeId(1), NodeId(2)]]);
}

#[test]
fn alg2_line5_and_12_larger_clusters_are_asked_for_earlier() {
    // T = 100, d = 2: D = 50 ln(100 s) / s, so 95.1 for 3 members and 132.5 for 2.
    let mut client = client(&valid::<Hetofed>(3, json!({ "exploration": 0 })), 0);
    tell(&mut client, LinearMsg::Clusters { phase: 1, sizes: vec![3, 2] });
    let asked: Vec<Vec<u64>> = (0..40).map(|_| requests(&observe(&mut client, [1.0, 0.0], 1.0))).collect();
    // n ln(1 + 10 n) passes 95.1 at n = 19 and 132.5 at n = 25.
    let made: Vec<(usize, u64)> =
        asked.iter().enumerate().flat_map(|(i, numbers)| numbers.iter().map(move |n| (i + 1, *n))).collect();
    assert_eq!(made, [(19, 3), (25, 2)]);
}

#[test]
fn alg2_line21_a_download_starts_the_count_again() {
    let mut client = client(&valid::<Hetofed>(2, json!({ "exploration": 0, "sync_threshold": 5.0 })), 0);
    tell(&mut client, LinearMsg::Clusters { phase: 1, sizes: vec![2] });
    observe(&mut client, [1.0, 0.0], 1.0);
    assert_eq!(requests(&observe(&mut client, [1.0, 0.0], 1.0)), [2], "2 ln 21 > 5");
    assert!(requests(&observe(&mut client, [1.0, 0.0], 1.0)).is_empty(), "asked already");
    let sent = tell(&mut client, LinearMsg::signal(Signal::Ask, 1));
    let [(_, LinearMsg::Upload { number: 1, stats })] = &sent[..] else { panic!("{sent:?}") };
    // It goes on learning on top of what it has sent.
    observe(&mut client, [0.0, 1.0], 1.0);
    let view = cahoots_core::View::new(1, stats.get().clone());
    tell(&mut client, LinearMsg::Download { view, merged: 1 });
    assert_eq!((client.known().total().count, client.known().unsynced_count()), (4, 1));
    assert_eq!(requests(&observe(&mut client, [0.0, 1.0], 1.0)), [2], "2 ln 21 > 5 again");
}

#[test]
fn alg2_line17_one_cluster_per_step_in_the_order_of_requests() {
    for (per_step, expected) in
        [(1, vec![vec![2, 3], vec![0, 1], vec![]]), (2, vec![vec![2, 3, 0, 1], vec![]])]
    {
        let params = json!({ "clusters_per_step": per_step });
        let mut server = clustered::<Hetofed>(params, &[0.0, 0.0, 1.0, 1.0]);
        for from in [3, 2, 0, 3] {
            request(&mut server, from, 5, 2);
        }
        let steps: Vec<Vec<u32>> =
            (5..).take(expected.len()).map(|tick: Tick| asked(&wake(&mut server, tick))).collect();
        assert_eq!(steps, expected, "a cluster stands in the queue once");
    }
}

#[test]
fn alg2_lines18_to_21_every_member_uploads_and_gets_the_sum() {
    let mut server = clustered::<Hetofed>(json!({}), &[0.0, 0.0, 1.0]);
    request(&mut server, 1, 5, 2);
    assert_eq!(asked(&wake(&mut server, 5)), [0, 1]);
    assert!(message(&mut server, 1, 5, upload(2, data(3, 0.0))).is_empty(), "waits for all");
    let sent = message(&mut server, 0, 5, upload(2, data(1, 0.0)));
    assert_eq!(downloads(&sent), [(0, 88), (1, 88)]);
}

/// Serves both clusters of [`CHAIN`], with two new observations of each client.
fn serve_chain(sharing: &str) -> Vec<Vec<(u32, u64)>> {
    let mut server = clustered::<Hetofed>(json!({ "sharing": sharing }), &CHAIN);
    request(&mut server, 1, 5, 1);
    let mut seen = Vec::new();
    for (tick, uploads) in [(5, [(0, 2), (1, 2)]), (6, [(1, 3), (2, 2)])] {
        wake(&mut server, tick);
        for (client, number) in uploads {
            let sent = message(&mut server, client, tick, upload(number, data(1, CHAIN[client as usize])));
            seen.extend(Some(downloads(&sent)).filter(|sent| !sent.is_empty()));
        }
    }
    seen
}

#[test]
fn full_sharing_loses_nothing_where_clusters_overlap() {
    // 40 observations each before, 2 more of clients 0 and 2, 4 more of client 1.
    assert_eq!(serve_chain("full"), [vec![(0, 84), (1, 84)], vec![(1, 86), (2, 86)]]);
}

#[test]
fn alg2_line21_as_printed_gives_a_buffer_to_one_clique_only() {
    // Client 1's first 42 observations went to client 0's clique; it has them itself, client 2 never will.
    assert_eq!(serve_chain("buffers"), [vec![(0, 84), (1, 84)], vec![(1, 128), (2, 44)]]);
}

#[test]
fn overlapping_rounds_keep_one_upload_in_flight_per_client() {
    for (sharing, again) in [("full", vec![]), ("buffers", vec![1])] {
        let mut server = clustered::<Hetofed>(json!({ "sharing": sharing }), &CHAIN);
        request(&mut server, 1, 5, 1);
        assert_eq!(asked(&wake(&mut server, 5)), [0, 1]);
        assert_eq!(asked(&wake(&mut server, 6)), [2], "client 1 has been asked already");
        let sent = message(&mut server, 1, 7, upload(2, data(1, CHAIN[1])));
        assert_eq!(asked(&sent), again, "{sharing}: a buffer serves one round, data serve all");
    }
}

#[test]
fn section_3_4_2_the_cluster_that_has_learned_most_is_served_first() {
    let mut server = clustered::<HetofedPq>(json!({}), &[0.0, 0.0, 1.0, 1.0]);
    request(&mut server, 0, 5, 2);
    request(&mut server, 2, 5, 2);
    let polled = wake(&mut server, 5);
    assert_eq!(polled.len(), 4, "everyone who waits is asked what it has learned");
    let weigh = |server: &mut Server, from, weight: f64| {
        message(server, from, 5, LinearMsg::signal(Signal::Weight, weight.to_bits()))
    };
    for (from, weight) in [(0, 5.0), (1, 1.0), (2, 3.0)] {
        assert!(weigh(&mut server, from, weight).is_empty());
    }
    assert_eq!(asked(&weigh(&mut server, 3, 4.0)), [2, 3], "3 + 4 > 5 + 1");
    assert_eq!(asked(&wake(&mut server, 6)), [0, 1], "without a choice nobody is polled");
}

#[test]
fn a_poll_that_is_not_answered_does_not_hold_up_the_queue() {
    let mut server = clustered::<HetofedPq>(json!({}), &[0.0, 0.0, 1.0, 1.0]);
    request(&mut server, 0, 5, 2);
    request(&mut server, 2, 5, 2);
    wake(&mut server, 5);
    message(&mut server, 3, 5, LinearMsg::signal(Signal::Weight, 1.0f64.to_bits()));
    assert_eq!(asked(&wake(&mut server, 6)), [2, 3]);
}

/// Everyone uploads; the last upload's effects.
fn everyone_uploads(
    server: &mut Server,
    tick: Tick,
    number: u64,
    uploads: &[LinearStats],
) -> Vec<(NodeId, LinearMsg)> {
    let mut sent = Vec::new();
    for (id, stats) in uploads.iter().enumerate() {
        sent = message(server, id as u32, tick, upload(number, stats.clone()));
    }
    sent
}

#[test]
fn alg5_lines11_to_22_everyone_uploads_clusters_are_estimated_one_is_served() {
    let mut server = server(&valid::<HetofedE>(4, json!({})));
    request(&mut server, 0, 5, 0);
    request(&mut server, 2, 5, 0);
    assert_eq!(asked(&wake(&mut server, 5)), [0, 1, 2, 3]);
    let uploads = [data(20, 0.0), data(20, 0.0), data(30, 1.0), data(30, 1.0)];
    let sent = everyone_uploads(&mut server, 5, 1, &uploads);
    assert_eq!(sizes_told(&sent).len(), 4, "all thought that they were one cluster of 4");
    assert_eq!(downloads(&sent), [(2, 120), (3, 120)], "more steps and more gain");
    // What is left in the queue is served in the next step, if nobody asks anew.
    assert_eq!(asked(&wake(&mut server, 6)), [0, 1]);
}

#[test]
fn section_3_4_1_without_priorities_the_first_cluster_of_the_list_is_served() {
    let mut server = server(&valid::<HetofedDr>(4, json!({})));
    request(&mut server, 2, 5, 0);
    request(&mut server, 0, 5, 0);
    wake(&mut server, 5);
    let uploads = [data(20, 0.0), data(20, 0.0), data(30, 1.0), data(30, 1.0)];
    assert_eq!(downloads(&everyone_uploads(&mut server, 5, 1, &uploads)), [(0, 80), (1, 80)]);
}

#[test]
fn alg5_line12_a_new_request_empties_the_queue() {
    let mut server = server(&valid::<HetofedE>(4, json!({})));
    request(&mut server, 0, 5, 0);
    request(&mut server, 2, 5, 0);
    wake(&mut server, 5);
    let uploads = [data(20, 0.0), data(20, 0.0), data(30, 1.0), data(30, 1.0)];
    everyone_uploads(&mut server, 5, 1, &uploads);
    request(&mut server, 3, 6, 1);
    assert_eq!(asked(&wake(&mut server, 6)), [0, 1, 2, 3]);
    let sent = everyone_uploads(&mut server, 6, 2, &[data(1, 0.0), data(1, 0.0), data(1, 1.0), data(1, 1.0)]);
    assert_eq!(downloads(&sent), [(2, 124), (3, 124)], "client 0 has not asked again");
}

#[test]
fn a_request_that_was_overtaken_by_a_view_counts_no_more() {
    let mut server = server(&valid::<HetofedE>(2, json!({})));
    request(&mut server, 0, 5, 0);
    wake(&mut server, 5);
    everyone_uploads(&mut server, 5, 1, &[data(20, 0.0), data(20, 0.0)]);
    request(&mut server, 0, 6, 0);
    assert!(wake(&mut server, 6).is_empty());
}

#[test]
fn alg5_clients_ask_again_until_they_are_served() {
    let mut client = client(&valid::<HetofedE>(2, json!({ "sync_threshold": 5.0 })), 0);
    let made: usize = (0..5).map(|_| requests(&observe(&mut client, [1.0, 0.0], 1.0)).len()).sum();
    assert_eq!(made, 4);
    // An upload that was only looked at does not count as an exchange.
    tell(&mut client, LinearMsg::signal(Signal::Ask, 1));
    assert_eq!(requests(&observe(&mut client, [1.0, 0.0], 1.0)), [0]);
}

#[test]
fn a_member_that_never_answers_does_not_stop_the_others() {
    let mut server = clustered::<Hetofed>(json!({ "deadline": 3 }), &[0.0, 0.0, 0.0]);
    request(&mut server, 0, 5, 3);
    assert_eq!(asked(&wake(&mut server, 5)), [0, 1, 2]);
    message(&mut server, 0, 5, upload(2, data(1, 0.0)));
    message(&mut server, 1, 6, upload(2, data(1, 0.0)));
    assert!(wake(&mut server, 7).is_empty(), "too early");
    assert_eq!(downloads(&wake(&mut server, 8)), [(0, 124), (1, 124), (2, 124)], "with its last statistics");
    // It is not waited for again until it answers.
    request(&mut server, 0, 20, 3);
    assert_eq!(asked(&wake(&mut server, 20)), [0, 1]);
    message(&mut server, 0, 20, upload(3, data(1, 0.0)));
    assert_eq!(downloads(&message(&mut server, 1, 20, upload(3, data(1, 0.0)))).len(), 3);
    // Its late upload is merged when it comes.
    message(&mut server, 2, 30, upload(2, data(50, 0.0)));
    assert_eq!(server.own(NodeId(2)).unwrap().count, 140);
    request(&mut server, 0, 31, 3);
    assert_eq!(asked(&wake(&mut server, 31)), [0, 1, 2]);
}

#[test]
fn a_client_that_never_answers_does_not_stop_the_estimate() {
    let mut server = server(&valid::<HetofedE>(3, json!({ "deadline": 2 })));
    request(&mut server, 0, 5, 0);
    wake(&mut server, 5);
    message(&mut server, 0, 5, upload(1, data(20, 0.0)));
    message(&mut server, 1, 5, upload(1, data(20, 0.0)));
    assert!(wake(&mut server, 6).is_empty());
    assert_eq!(downloads(&wake(&mut server, 7)), [(0, 80), (1, 80), (2, 80)], "nothing is known against it");
}

#[test]
fn exploration_by_ticks_ends_for_all_at_once() {
    let params = json!({ "exploration": 9, "exploration_unit": "total" });
    let valid = valid::<Hetofed>(2, params);
    let mut server = server(&valid);
    assert!(wake(&mut server, 8).is_empty());
    assert_eq!(asked(&wake(&mut server, 9)), [0, 1]);
    message(&mut server, 0, 9, upload(1, data(20, 0.0)));
    let sent = message(&mut server, 1, 9, upload(1, LinearStats::empty(DIM)));
    assert_eq!(sizes_told(&sent), [(0, vec![2]), (1, vec![2])], "nothing is known against an idle client");
    let mut client = client(&valid, 0);
    // 25 steps pass D = 132.5 for 2 members.
    assert!((0..24).all(|_| observe(&mut client, [1.0, 0.0], 1.0).is_empty()));
    tell(&mut client, LinearMsg::signal(Signal::Ask, 1));
    tell(&mut client, LinearMsg::Clusters { phase: 1, sizes: vec![2] });
    assert_eq!(requests(&observe(&mut client, [1.0, 0.0], 1.0)), [2]);
}

#[test]
fn a_client_that_leaves_does_not_hold_up_a_round_and_leaves_its_data() {
    let mut server = clustered::<Hetofed>(json!({}), &[0.0, 0.0]);
    request(&mut server, 0, 5, 2);
    wake(&mut server, 5);
    message(&mut server, 0, 5, upload(2, data(1, 0.0)));
    let sent = step(&mut server, 6, |s, cx| s.on_membership(Membership::Left(NodeId(1)), cx));
    assert_eq!(downloads(&sent), [(0, 82)]);
}

#[test]
fn parameters_that_cannot_be_used_are_named() {
    for (params, text) in [
        (
            json!({ "reward_noise": 0.0 }),
            "reward_noise: the homogeneity test divides by it: give a number above 0",
        ),
        (json!({ "test": { "cut": 1.5 } }), "test.cut: must lie between 0 and 1, not 1.5"),
        (json!({ "test": { "noncentrality": -1.0 } }), "test.noncentrality: must be 0 or more, not -1"),
        (json!({ "clusters_per_step": 0 }), "clusters_per_step: must be at least 1, not 0"),
        (
            json!({ "sync_threshold": { "clusters": 0 } }),
            "sync_threshold: clusters must be at least 1, not 0",
        ),
        (json!({ "deadline": 0 }), "deadline: must be at least 1 tick; leave the key out to wait for ever"),
        (
            json!({ "exploration": { "doubling": { "first": 3, "explore": 5 } } }),
            "exploration: explore must lie between 1 and first (3), not 5",
        ),
    ] {
        let params = serde_json::from_value(params).unwrap();
        assert_eq!(Hetofed::check(params, &setting(3)).unwrap_err().to_string(), text);
    }
}

#[test]
fn authors_threshold_uses_the_true_number_of_clusters() {
    // T / ((N / M) d ln T) = 100 / (2 * 2 ln 100)
    let valid = valid::<Hetofed>(6, json!({ "sync_threshold": { "clusters": 3 } }));
    assert!((valid.threshold.of(5) - 25.0 / libm::log(100.0)).abs() < 1e-12);
}
