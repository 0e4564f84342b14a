//! Who is late, who leaves, who comes back.

use cahoots_core::Tick;
use serde_json::json;

use super::machines::{clustered, sizes_told};
use super::*;

fn membership(server: &mut Server, now: Tick, change: Membership) -> Vec<(NodeId, LinearMsg)> {
    step(server, now, |s, cx| s.on_membership(change, cx))
}

#[test]
fn a_quorum_is_a_share_of_the_cluster_also_when_some_have_missed_a_deadline() {
    let mut server = clustered::<Hetofed>(json!({ "deadline": 3, "quorum": 0.5 }), &[0.0, 0.0, 0.0, 0.0]);
    request(&mut server, 0, 5, 4);
    assert_eq!(asked(&wake(&mut server, 5)), [0, 1, 2, 3]);
    message(&mut server, 0, 5, upload(2, data(1, 0.0)));
    assert!(downloads(&wake(&mut server, 8)).is_empty(), "1 of 4 is no quorum");
    assert_eq!(server.waiting_for(), [1, 2, 3].map(NodeId));
    let sent = message(&mut server, 1, 9, upload(2, data(1, 0.0)));
    assert_eq!(downloads(&sent).len(), 4, "2 of 4 are one");
    request(&mut server, 0, 20, 4);
    assert_eq!(asked(&wake(&mut server, 20)), [0, 1], "2 and 3 have been asked already");
    assert!(downloads(&message(&mut server, 0, 20, upload(3, data(1, 0.0)))).is_empty());
    assert!(downloads(&wake(&mut server, 23)).is_empty(), "1 of 4 is still no quorum");
    assert_eq!(downloads(&message(&mut server, 2, 24, upload(2, data(1, 0.0)))).len(), 4);
}

#[test]
fn who_comes_back_counts_from_one_is_told_its_clusters_and_gets_its_old_data_back() {
    let mut server = clustered::<Hetofed>(json!({}), &[0.0, 0.0]);
    let before = cahoots_core::snapshot::save(&server);
    membership(&mut server, 5, Membership::Left(NodeId(9)));
    assert_eq!(cahoots_core::snapshot::save(&server), before, "nobody knows 9");
    assert!(membership(&mut server, 5, Membership::Left(NodeId(1))).is_empty());
    request(&mut server, 0, 6, 2);
    assert_eq!(asked(&wake(&mut server, 6)), [0], "who left is not asked");
    assert_eq!(downloads(&message(&mut server, 0, 6, upload(2, data(1, 0.0)))), [(0, 82)]);
    let sent = membership(&mut server, 7, Membership::Joined(NodeId(1)));
    assert_eq!(sizes_told(&sent), [(1, vec![2])]);
    request(&mut server, 0, 8, 2);
    assert_eq!(asked(&wake(&mut server, 8)), [0, 1]);
    message(&mut server, 1, 8, upload(1, data(2, 0.0)));
    let sent = message(&mut server, 0, 8, upload(3, data(1, 0.0)));
    let merged: Vec<(u32, u64, u64)> = sent
        .iter()
        .filter_map(|(to, message)| match message {
            LinearMsg::Download { view, merged } => Some((to.0, view.stats().count, *merged)),
            _ => None,
        })
        .collect();
    assert_eq!(merged, [(0, 88, 3), (1, 88, 1)]);
}
