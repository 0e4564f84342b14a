//! Who joins late, leaves, comes back, is not believed, is forgotten.

use super::*;

#[test]
fn a_late_joiner_finds_its_clusters_and_the_others_are_told_that_there_is_more() {
    let mut server = clustered(&[0.0, 0.0, 1.0]);
    assert!(join(&mut server, 3, 50).is_empty());
    enter(&mut server, 3, 60, 1, data(20, 0.0));
    let sent = wake(&mut server, 61);
    assert_eq!(sizes_told(&sent), [(0, vec![3]), (1, vec![3]), (3, vec![3])], "2 has nothing to do with it");
    assert_eq!(downloads(&sent), [(3, 120, 1)], "the others are given it when they ask");
    assert_eq!(downloads(&say(&mut server, 0, 62, upload(2, data(1, 0.0)))), [(0, 122, 2)]);
}

#[test]
fn one_wish_is_one_estimate_however_often_it_is_said() {
    let mut server = clustered(&[0.0, 0.0]);
    let estimates = server.clusters().estimates();
    let before = snapshot::save(&server);
    say(&mut server, 0, 5, LinearMsg::signal(Signal::Request, 1));
    say(&mut server, 0, 5, LinearMsg::signal(Signal::Request, 9));
    assert!(snapshot::save(&server) == before, "said before, and of an upload that never was merged");
    assert!(wake(&mut server, 6).is_empty());
    assert_eq!(server.clusters().estimates(), estimates);
}

#[test]
fn what_a_client_that_left_has_uploaded_stays_and_it_is_not_written_to() {
    let mut server = clustered(&[0.0, 0.0]);
    let before = snapshot::save(&server);
    leave(&mut server, 9, 3);
    assert!(snapshot::save(&server) == before, "nobody knows 9");
    say(&mut server, 1, 3, upload(2, data(1, 0.0)));
    assert!(leave(&mut server, 1, 4).is_empty());
    assert_eq!(downloads(&say(&mut server, 0, 5, upload(2, data(1, 0.0)))), [(0, 84, 2)]);
    join(&mut server, 2, 6);
    enter(&mut server, 2, 6, 1, data(20, 0.0));
    let sent = wake(&mut server, 7);
    assert!(sent.iter().all(|(to, _)| *to != NodeId(1)), "{sent:?}");
}

#[test]
fn who_comes_back_is_served_at_once_counts_from_one_and_explores_no_more() {
    let mut server = clustered(&[0.0, 0.0]);
    leave(&mut server, 1, 5);
    let sent = join(&mut server, 1, 7);
    assert_eq!(
        (sizes_told(&sent), downloads(&sent)),
        (vec![(1, vec![2])], vec![(1, 80, 0)]),
        "its old data too"
    );
    let mut client = client(json!({ "exploration": 3, "sync_threshold": 0.0 }));
    for (_, message) in sent {
        tell(&mut client, message);
    }
    assert_eq!(client.known().total().count, 80);
    let mut contexts = cahoots_core::Tiles::new(DIM);
    contexts.push(&[1.0, 0.0]);
    contexts.push(&[0.0, 0.1]);
    let arms = cahoots_core::ArmSet::featured(&contexts).unwrap();
    let keys = cahoots_core::Keys::from_seed(1);
    for decision in 0..20 {
        let choice = client.choose(cahoots_core::UserId(0), arms, &mut keys.policy(NodeId(0), decision));
        assert_eq!(choice.picked.arm.0, 0, "the arm that pays 1, not any");
    }
    let sent = observe(&mut client, [1.0, 0.0], 1.0);
    assert_eq!(said(&sent), (vec![1], vec![]));
    let (_, message) = sent.into_iter().next().unwrap();
    assert!(downloads(&say(&mut server, 1, 8, message)).is_empty(), "0 has learned nothing since");
    assert_eq!(downloads(&say(&mut server, 0, 9, upload(2, data(1, 0.0)))), [(0, 83, 2)]);
}

#[test]
fn who_is_believed_again_goes_on_and_is_given_what_it_missed() {
    let mut server = clustered(&[0.0, 0.0, 0.0]);
    rule(&mut server, Ruling::Quarantined(NodeId(1)), 3);
    let sent = say(&mut server, 0, 4, upload(2, data(1, 0.0)));
    assert!(sent.iter().all(|(to, _)| *to == NodeId(0)));
    let sent = rule(&mut server, Ruling::Restored(NodeId(1)), 5);
    assert_eq!(downloads(&sent), [(1, 122, 1)]);
    // Numbers between were refused.
    assert!(downloads(&say(&mut server, 1, 6, upload(5, data(1, 0.0)))).is_empty());
}

#[test]
fn who_asked_to_be_found_while_it_was_not_believed_is_asked_again() {
    let mut server = clustered(&[0.0, 0.0]);
    join(&mut server, 2, 3);
    rule(&mut server, Ruling::Quarantined(NodeId(2)), 4);
    let sent = rule(&mut server, Ruling::Restored(NodeId(2)), 5);
    let [(NodeId(2), ask @ LinearMsg::Signal { signal: Signal::Ask, .. })] = &sent[..] else {
        panic!("{sent:?}")
    };
    let mut explored = client(json!({ "exploration": 1 }));
    observe(&mut explored, [1.0, 0.0], 1.0);
    observe(&mut explored, [1.0, 0.0], 1.0);
    assert_eq!(said(&tell(&mut explored, ask.clone())), (vec![1], vec![2]));
    let mut exploring = client(json!({ "exploration": 9 }));
    observe(&mut exploring, [1.0, 0.0], 1.0);
    assert!(tell(&mut exploring, ask.clone()).is_empty(), "it has too little yet, and will ask by itself");
}

#[test]
fn who_is_forgotten_is_in_no_sum_and_whoever_was_given_its_data_has_a_view_without_them_at_once() {
    let mut server = clustered(&[0.0, 0.12, 0.24, 0.24]);
    leave(&mut server, 1, 4);
    let sent = rule(&mut server, Ruling::Forgotten(NodeId(1)), 4);
    assert_eq!(downloads(&sent), [(0, 40, 1), (2, 80, 1), (3, 80, 1)]);
    assert_eq!(sizes_told(&sent), [(0, vec![1]), (2, vec![2]), (3, vec![2])]);
    assert_eq!(server.own(NodeId(1)), None);
    let view = server.served(NodeId(2)).unwrap().stats().clone();
    let mut others = data(20, 0.24);
    others.merge(&data(20, 0.24));
    assert_eq!(view, others, "to the bit");
}

/// Whatever comes next, a server that was saved and restored says the same as one that was not.
#[test]
fn a_restart_at_any_step_changes_nothing() {
    let seconds = [0.0, 0.12, 0.24];
    let run = |restarts: bool| {
        let valid = valid(3, json!({}));
        let mut server = HetofedAsync::server(&valid, &Seating::PerUser.seat(&setting(3), NodeId::SERVER));
        let mut sent = String::new();
        for now in 0..12u64 {
            for (id, &second) in seconds.iter().enumerate() {
                let id = id as u32;
                let more = match now {
                    n if n == u64::from(id) => join(&mut server, id, now),
                    n if n == 3 + u64::from(id) => enter(&mut server, id, now, 1, data(20, second)),
                    n if n > 6 => say(&mut server, id, now, upload(n, data(1, second))),
                    _ => Vec::new(),
                };
                sent.push_str(&format!("{more:?}"));
                if restarts {
                    server = snapshot::restore(&snapshot::save(&server)).unwrap();
                }
            }
            sent.push_str(&format!("{:?}", wake(&mut server, now)));
        }
        (sent, snapshot::save(&server))
    };
    assert!(run(true) == run(false));
}
