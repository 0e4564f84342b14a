//! Who is served when, and with what.

use std::sync::Arc;

use cahoots_core::View;

use super::*;

#[test]
fn a_client_explores_then_sends_it_all_and_asks_to_be_found_its_clusters() {
    let mut client = client(json!({ "exploration": 4 }));
    let sent: Vec<_> = (0..6).map(|_| said(&observe(&mut client, [1.0, 0.0], 1.0))).collect();
    let nothing = (vec![], vec![]);
    let expected = [&nothing, &nothing, &nothing, &(vec![4], vec![1]), &nothing, &nothing];
    assert_eq!(sent.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn without_exploration_a_client_asks_with_its_first_reward() {
    let mut client = client(json!({ "exploration": 0 }));
    assert_eq!(said(&observe(&mut client, [1.0, 0.0], 1.0)), (vec![1], vec![1]));
    assert!(observe(&mut client, [1.0, 0.0], 1.0).is_empty());
}

#[test]
fn a_reward_that_never_comes_does_not_hold_up_the_exploration() {
    let mut client = client(json!({ "exploration": 2 }));
    observe(&mut client, [1.0, 0.0], 1.0);
    let pending = Chosen { context: [1.0, 0.0].as_slice().into() };
    step(&mut client, 1, |c, cx| c.commit(&pending, cx));
    let sent = step(&mut client, 1, |c, cx| c.abandon(pending, cx));
    assert_eq!(said(&sent), (vec![1], vec![1]));
}

/// A client that has explored one pull and been told that `partners` are given to it.
fn told(params: Value, partners: u32) -> Client {
    let mut client = client(params);
    observe(&mut client, [1.0, 0.0], 1.0);
    tell(&mut client, LinearMsg::signal(Signal::Merged, 1));
    tell(&mut client, LinearMsg::Clusters { phase: 1, sizes: vec![partners] });
    client
}

#[test]
fn alg2_line12_asks_when_steps_times_gain_reach_the_threshold_and_counts_from_the_last_upload() {
    // After one exploratory pull, with ridge 0.1: 1.1, then n (ln(1.1 + n) - ln 1.1) for n = 1, 2, 3: .65, 2.07, 3.95
    let mut client = told(json!({ "exploration": 1, "sync_threshold": 3.0 }), 2);
    let uploads: Vec<usize> = (0..6).map(|_| observe(&mut client, [1.0, 0.0], 1.0).len()).collect();
    assert_eq!(
        uploads,
        [0, 0, 1, 0, 0, 0],
        "no answer has come, and what is on its way is not asked for again"
    );
    // 4 ln(8.1 / 4.1) = 2.7, 5 ln(9.1 / 4.1) = 4.0
    assert_eq!(said(&observe(&mut client, [1.0, 0.0], 1.0)).0, [] as [u64; 0]);
    assert_eq!(said(&observe(&mut client, [1.0, 0.0], 1.0)).0, [5]);
}

#[test]
fn the_threshold_follows_from_how_many_are_given_to_it() {
    // T ln(n T) / (d n) with T = 100 and d = 2: 230 for n = 1, 9.1 for n = 50.
    let first = |partners| {
        let mut client = told(json!({ "exploration": 1 }), partners);
        (1..).find(|_| !observe(&mut client, [1.0, 0.0], 1.0).is_empty()).unwrap()
    };
    let weight = |n: f64| n * libm::log((1.1 + n) / 1.1);
    let expected = |threshold: f64| (1..).find(|n| weight(f64::from(*n)) >= threshold).unwrap();
    assert_eq!(first(1), expected(50.0 * libm::log(100.0)));
    assert_eq!(first(50), expected(libm::log(5000.0)));
}

#[test]
fn with_a_ratio_it_asks_when_its_determinant_has_grown_by_it() {
    let mut client = told(json!({ "exploration": 1, "upload_ratio": 2.5 }), 2);
    // 1.1 -> 3.1 is more than 2.5 times, then 3.1 -> 8.1.
    let uploads: Vec<u64> = (0..7).flat_map(|_| said(&observe(&mut client, [1.0, 0.0], 1.0)).0).collect();
    assert_eq!(uploads, [2, 5]);
}

#[test]
fn two_rules_for_when_to_ask_are_refused() {
    let params = json!({ "sync_threshold": 1.0, "upload_ratio": 2.0 });
    let error = HetofedAsync::check(serde_json::from_value(params).unwrap(), &setting(3)).unwrap_err();
    assert!(error.to_string().starts_with("upload_ratio: is another rule"), "{error}");
}

#[test]
fn who_has_not_been_told_its_clusters_does_not_ask() {
    let mut client = client(json!({ "exploration": 1, "sync_threshold": 0.0 }));
    assert_eq!(observe(&mut client, [1.0, 0.0], 1.0).len(), 2);
    assert!(observe(&mut client, [1.0, 0.0], 1.0).is_empty());
    tell(&mut client, LinearMsg::Clusters { phase: 1, sizes: vec![2] });
    assert_eq!(said(&observe(&mut client, [1.0, 0.0], 1.0)), (vec![2], vec![]));
}

#[test]
fn clusters_are_estimated_for_those_who_have_explored_whoever_has_not() {
    let valid = valid(4, json!({}));
    let mut server = HetofedAsync::server(&valid, &Seating::PerUser.seat(&setting(4), NodeId::SERVER));
    (0..4).for_each(|id| drop(join(&mut server, id, 1)));
    for (id, second) in [(0, 0.0), (1, 0.0), (2, 1.0)] {
        let sent = enter(&mut server, id, 1, 1, data(20, second));
        assert!(downloads(&sent).is_empty() && sizes_told(&sent).is_empty(), "those of one tick go together");
    }
    let sent = wake(&mut server, 2);
    assert_eq!(sizes_told(&sent), [(0, vec![2]), (1, vec![2]), (2, vec![1])]);
    assert_eq!(downloads(&sent), [(0, 80, 1), (1, 80, 1)], "2 has all that it may have");
    assert!(server.waiting_for().is_empty(), "3 is not waited for");
}

#[test]
fn who_asks_is_served_at_once_while_the_other_is_offline_and_nobody_else_is_written_to() {
    let mut server = clustered(&[0.0, 0.0, 0.0]);
    // 2 has been silent since; 1 has uploaded, and was given what there was.
    assert_eq!(
        downloads(&say(&mut server, 1, 3, upload(2, data(5, 0.0)))),
        [],
        "nobody else has learned anything"
    );
    let sent = say(&mut server, 0, 9, upload(2, data(1, 0.0)));
    assert_eq!(downloads(&sent), [(0, 132, 2)], "3 x 40, 10 and 2");
    assert_eq!(sent.len(), 1);
    // When 2 is back and asks, it has all of it.
    assert_eq!(downloads(&say(&mut server, 2, 50, upload(2, data(3, 0.0)))), [(2, 138, 2)]);
}

#[test]
fn a_view_is_sent_only_where_it_holds_something_new() {
    let mut server = clustered(&[0.0, 1.0]);
    for number in 2..6 {
        let sent = say(&mut server, 1, number, upload(number, data(1, 1.0)));
        assert!(
            matches!(sent[..], [(NodeId(1), LinearMsg::Signal { signal: Signal::Merged, number: n })] if n == number),
            "{sent:?}"
        );
    }
}

/// 0 and 1, 1 and 2 are similar, and 2 and 3.
#[test]
fn where_clusters_overlap_a_client_is_given_the_data_of_the_largest_it_is_in() {
    let mut server = clustered(&[0.0, 0.12, 0.24, 0.24]);
    assert_eq!(
        server.clusters().list(),
        [vec![0, 1], vec![1, 2, 3]].map(|ids| ids.into_iter().map(NodeId).collect::<Vec<_>>())
    );
    say(&mut server, 0, 3, upload(2, data(1, 0.0)));
    say(&mut server, 2, 3, upload(2, data(2, 0.24)));
    assert_eq!(downloads(&say(&mut server, 1, 3, upload(2, data(4, 0.12)))), [(1, 132, 2)], "nothing of 0");
    assert_eq!(
        downloads(&say(&mut server, 0, 4, upload(3, data(1, 0.0)))),
        [(0, 92, 3)],
        "of 1, but not of 2"
    );
    assert_eq!(downloads(&say(&mut server, 3, 4, upload(2, data(1, 0.24)))), [(3, 134, 2)]);
    let equals = clustered(&CHAIN);
    assert_eq!(equals.partners(NodeId(1)), [NodeId(0), NodeId(1)], "of equals, the first");
}

#[test]
fn where_clusters_overlap_a_client_can_be_given_the_data_of_all_of_them_and_the_others_of_their_own() {
    let mut server = clustered_with(json!({ "partners": "all" }), &CHAIN);
    assert_eq!(server.clusters().list(), [vec![NodeId(0), NodeId(1)], vec![NodeId(1), NodeId(2)]]);
    say(&mut server, 0, 3, upload(2, data(1, 0.0)));
    say(&mut server, 2, 3, upload(2, data(2, 0.24)));
    assert_eq!(downloads(&say(&mut server, 1, 3, upload(2, data(4, 0.12)))), [(1, 134, 2)], "of all three");
    assert_eq!(downloads(&say(&mut server, 0, 4, upload(3, data(1, 0.0)))), [(0, 92, 3)], "nothing of 2");
    assert_eq!(downloads(&say(&mut server, 2, 4, upload(3, data(1, 0.24)))), [(2, 94, 3)], "nothing of 0");
}

/// What a client learns while its upload or the answer is on its way lies on top of the view: once.
#[test]
fn every_observation_counts_once_while_learning_goes_on() {
    let mut client = told(json!({ "exploration": 1, "sync_threshold": 3.0 }), 2);
    let mut numbers = Vec::new();
    for _ in 0..9 {
        for (_, message) in observe(&mut client, [1.0, 0.0], 1.0) {
            let LinearMsg::Upload { number, .. } = message else { panic!("{message:?}") };
            numbers.push(number);
        }
    }
    // After 1, 3 and 5 pulls; one pull is pending.
    assert_eq!((&numbers[..], client.known().total().count), (&[2, 3][..], 10));
    let mut merged = LinearStats::empty(DIM);
    (0..4).for_each(|_| merged.observe(&[1.0, 0.0], 1.0));
    merged.merge(&data(20, 0.0));
    let answer = |version, stats: &LinearStats, merged| {
        let view: Arc<View> = View::new(version, stats.clone());
        LinearMsg::Download { view, merged }
    };
    tell(&mut client, answer(1, &merged, 2));
    assert_eq!(client.known().total().count, 50, "5 on its way and 1 pending lie on top of 40 and 4");
    tell(&mut client, answer(1, &merged, 2));
    (0..5).for_each(|_| merged.observe(&[1.0, 0.0], 1.0));
    tell(&mut client, answer(2, &merged, 3));
    assert_eq!((client.known().total().count, client.known().pending_count()), (50, 1));
}

#[test]
fn what_cannot_be_merged_changes_nothing() {
    let mut server = clustered(&[0.0, 0.0]);
    let before = snapshot::save(&server);
    let mut wild = data(1, 0.0);
    wild.count = u64::MAX;
    let hostile = [
        (0, upload(1, data(1, 0.0))),
        (0, upload(2, wild)),
        (0, upload(2, LinearStats::empty(DIM + 1))),
        (7, upload(1, data(1, 0.0))),
        (0, LinearMsg::signal(Signal::Weight, 1)),
        (0, LinearMsg::signal(Signal::Ask, 1)),
    ];
    for (from, message) in hostile {
        let what = format!("{message:?}");
        step(&mut server, 3, |s, cx| drop(s.on_message(NodeId(from), message, cx).expect_err(&what)));
        assert!(snapshot::save(&server) == before, "{what}");
    }
}
