//! Arms under the app's own names: inline, registered, masked, gone.

use cahoots_core::Setting;
use cahoots_node::client::{ArmRef, Arms, Ask, ClientConfig, Decider, NamedArm};
use cahoots_node::limits::ClientLimits;

use super::*;

#[test]
fn the_answer_has_the_arm_the_score_and_all_that_is_known_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&linear(folder.path()));
    let first = client.ask(&Ask::of(Arms::Named(&COLOURS))).unwrap();
    assert!(["\"red\"", "\"blue\""].contains(&arm(&first).as_str()), "{first:?}");
    assert_eq!((first.decided, first.model, first.event.clone()), (Decider::Alone, 0, None));
    assert_eq!(first.taken.probability, Some(1.0));
    let (low, high) = first.taken.interval.unwrap();
    assert!(low < high && first.taken.score == Some(high), "{first:?}");
    client.reward(first.id, 1.0).unwrap();
    let second = client.ask(&Ask::of(Arms::Named(&COLOURS))).unwrap();
    assert_eq!(second.model, 1, "a reward was learned in between");
    // By position, as ever; and the names of before are not left over.
    let rows = [vec![1.0, 0.0], vec![0.0, 1.0]];
    let third = client.ask(&Ask::of(Arms::Features(&rows))).unwrap();
    assert!(matches!(third.taken.arm, ArmRef::Position(0 | 1)), "{third:?}");
    assert_eq!(client.decide(None, Arms::Features(&rows)).unwrap().model, 1);
}

/// The same arms by name, by registration and by position are the same decision, bit for bit.
#[test]
fn names_change_nothing_about_what_is_chosen_and_learned() {
    let rows = [vec![1.0, 0.0], vec![0.6, 0.8], vec![0.0, 1.0]];
    let ids = ["a", "b", "c"];
    let run = |how: usize| {
        let folder = tempfile::tempdir().unwrap();
        let client = open(&linear(folder.path()));
        let new: Vec<NewArm<'_>> = ids.iter().zip(&rows).map(|(id, row)| features(id, row)).collect();
        assert_eq!(client.register(&new, &[]).unwrap(), 3);
        let inline: Vec<NamedArm<'_>> =
            ids.iter().zip(&rows).map(|(id, row)| NamedArm { id, features: Some(row) }).collect();
        let known = ids.map(NamedArm::registered);
        let arms = [Arms::Features(&rows), Arms::Named(&inline), Arms::Named(&known), Arms::Registered];
        let mut seen = Vec::new();
        for turn in 0..40 {
            let reply = client.ask(&Ask::of(arms[how])).unwrap();
            let position = match &reply.taken.arm {
                ArmRef::Position(position) => *position as usize,
                ArmRef::Id(id) => ids.iter().position(|known| **known == **id).unwrap(),
            };
            seen.push((position, reply.taken.score.map(f64::to_bits), reply.taken.probability));
            client.reward(reply.id, if (turn + position) % 3 == 0 { 1.0 } else { 0.25 }).unwrap();
        }
        seen
    };
    let by_position = run(0);
    assert!((0..2).all(|arm| by_position.iter().any(|(taken, ..)| *taken == arm)), "{by_position:?}");
    for how in 1..4 {
        assert_eq!(run(how), by_position, "{how}");
    }
}

#[test]
fn careless_offers_are_refused_and_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&linear(folder.path()));
    let ask = |arms: &[NamedArm<'_>]| client.ask(&Ask::of(Arms::Named(arms)));
    refused(client.ask(&Ask::of(Arms::Registered)), &["none are registered", "POST /arms"]);
    refused(ask(&[]), &["at least one"]);
    refused(ask(&[RED, NamedArm::registered("green")]), &["\"green\"", "not registered", "features"]);
    refused(ask(&[RED, RED]), &["\"red\"", "twice"]);
    refused(ask(&[RED, NamedArm { id: "blue", features: Some(&[1.0]) }]), &["\"blue\"", "2 are expected"]);
    refused(ask(&[RED, NamedArm { id: "", features: Some(&[1.0, 0.0]) }]), &["empty"]);
    let long = "x".repeat(257);
    refused(ask(&[NamedArm { id: &long, features: Some(&[1.0, 0.0]) }]), &["257 bytes", "256"]);
    refused(ask(&[NamedArm { id: "nan", features: Some(&[f64::NAN, 0.0]) }]), &["no number"]);
    assert_eq!(client.status().open_decisions, 0, "nothing was taken");
    // Two users' worth of bytes in one name are one name.
    let most = "é".repeat(128);
    assert!(ask(&[NamedArm { id: &most, features: Some(&[1.0, 0.0]) }]).is_ok());
}

#[test]
fn masked_arms_are_not_chosen_and_masks_that_miss_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&linear(folder.path()));
    let id = |id: &str| ArmRef::Id(id.into());
    let ask = |masked: &[ArmRef]| client.ask(&Ask { masked, ..Ask::of(Arms::Named(&COLOURS)) });
    for _ in 0..5 {
        let reply = ask(&[id("red")]).unwrap();
        assert_eq!(arm(&reply), "\"blue\"");
        client.reward(reply.id, 0.0).unwrap();
    }
    refused(ask(&[id("red"), id("blue")]), &["all arms are masked"]);
    refused(ask(&[id("rde")]), &["\"rde\"", "not among", "ids"]);
    refused(ask(&[ArmRef::Position(0)]), &["0 is not among", "ids"]);
    let rows = [vec![1.0, 0.0], vec![0.0, 1.0]];
    let by_position = |masked: &[ArmRef]| client.ask(&Ask { masked, ..Ask::of(Arms::Features(&rows)) });
    assert_eq!(arm(&by_position(&[ArmRef::Position(1)]).unwrap()), "0");
    refused(by_position(&[ArmRef::Position(2)]), &["2 is not among", "positions"]);
    refused(by_position(&[id("red")]), &["\"red\"", "positions"]);
    // A mask of one decision is not the next one's.
    assert_eq!(arm(&by_position(&[ArmRef::Position(0)]).unwrap()), "1");
    assert!((0..3).all(|_| client.decide(None, Arms::Features(&rows)).is_ok()));
}

#[test]
fn registered_arms_survive_and_what_is_retired_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = linear(folder.path());
    let client = open(&config);
    let count = client.register(&[features("red", &[1.0, 0.0]), features("blue", &[0.0, 1.0])], &[]);
    assert_eq!(count.unwrap(), 2);
    let crashed = killed(&config, &folder.path().join("killed"));
    client.register(&[features("green", &[0.6, 0.8]), features("red", &[0.8, 0.6])], &["blue"]).unwrap();
    let list = |client: &Client| {
        client.registered(|id, is| match is {
            Registered::Features(features) => (id.to_string(), features.to_vec()),
            Registered::Index(_) => panic!("they have features"),
        })
    };
    let expected = [("green".to_string(), vec![0.6, 0.8]), ("red".to_string(), vec![0.8, 0.6])];
    assert_eq!(list(&client), expected);
    client.stop();
    for _ in 0..2 {
        // Over a snapshot, and over a log.
        let client = open(&config);
        assert_eq!(list(&client), expected);
        refused(client.ask(&Ask::of(Arms::Named(&[NamedArm::registered("blue")]))), &["not registered"]);
        config = killed(&config, &folder.path().join(format!("again-{}", list(&client).len())));
        client.stop();
    }
    // Acknowledged is on disk.
    let names: Vec<String> = list(&open(&crashed)).into_iter().map(|(id, _)| id).collect();
    assert_eq!(names, ["blue", "red"]);
}

#[test]
fn what_cannot_be_registered_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let config = linear(folder.path());
    let limits = ClientLimits { registered_arms: 2, ..ClientLimits::default() };
    let client = open(&ClientConfig { limits, ..config });
    client.register(&[features("red", &[1.0, 0.0])], &[]).unwrap();
    let good = features("good", &[0.0, 1.0]);
    let long = "x".repeat(300);
    refused(client.register(&[good, features("bad", &[1.0])], &[]), &["bad", "2 are expected"]);
    refused(client.register(&[good, features("bad", &[f64::INFINITY, 0.0])], &[]), &["\"bad\"", "no number"]);
    refused(client.register(&[good, index("bad", 0)], &[]), &["\"bad\"", "have features"]);
    refused(client.register(&[good, features(&long, &[0.0, 1.0])], &[]), &["300 bytes"]);
    refused(client.register(&[good, good], &[]), &["twice"]);
    refused(client.register(&[good], &["blue"]), &["\"blue\"", "not registered"]);
    refused(client.register(&[good], &["red", "red"]), &["twice"]);
    refused(client.register(&[features("red", &[0.0, 1.0])], &["red"]), &["at once"]);
    refused(client.register(&[good, features("more", &[0.0, 1.0])], &[]), &["3 arms", "registered_arms"]);
    assert_eq!(client.registered(|id, _| id.to_string()), ["red"]);
    // One comes as another goes, within the limit; and again, as it is.
    assert_eq!(client.register(&[good, features("more", &[0.0, 1.0])], &["red"]).unwrap(), 2);
    assert_eq!(client.register(&[good], &[]).unwrap(), 2);
    assert_eq!(client.register(&[], &[]).unwrap(), 2);
}

/// Arms without features are told apart by number: an id stands for one.
#[test]
fn plain_arms_have_ids_by_their_index() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&config(folder.path(), "ucb-alone", "", Setting::k_armed(1, 3)));
    refused(client.ask(&Ask::of(Arms::Named(&COLOURS))), &["\"red\"", "none", "index"]);
    refused(client.register(&[features("red", &[1.0])], &[]), &["no features", "0 to 2"]);
    refused(client.register(&[index("red", 3)], &[]), &["no index 3", "0 to 2"]);
    refused(client.register(&[index("red", 1), index("blue", 1)], &[]), &["\"red\"", "\"blue\"", "index 1"]);
    client.register(&[index("red", 2), index("blue", 0)], &[]).unwrap();
    refused(client.register(&[index("green", 2)], &[]), &["\"red\"", "\"green\"", "index 2"]);
    // They may change places with each other, in one request.
    client.register(&[index("red", 0), index("blue", 2)], &[]).unwrap();
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..30 {
        let reply = client.ask(&Ask::of(Arms::Registered)).unwrap();
        *counts.entry(arm(&reply)).or_insert(0) += 1;
        client.reward(reply.id, if arm(&reply) == "\"blue\"" { 1.0 } else { 0.0 }).unwrap();
    }
    // The arm without a name is never taken, and the better one more often.
    assert_eq!(counts.len(), 2, "{counts:?}");
    assert!(counts["\"blue\""] > counts["\"red\""], "{counts:?}");
    let only = [NamedArm::registered("red")];
    assert_eq!(arm(&client.ask(&Ask::of(Arms::Named(&only))).unwrap()), "\"red\"");
    let twice = [NamedArm::registered("red"), NamedArm::registered("red")];
    refused(client.ask(&Ask::of(Arms::Named(&twice))), &["\"red\"", "twice"]);
    let masked = [ArmRef::Id("red".into()), ArmRef::Id("blue".into())];
    refused(client.ask(&Ask { masked: &masked, ..Ask::of(Arms::Registered) }), &["all arms are masked"]);
    assert_eq!(
        arm(&client.ask(&Ask { masked: &masked[..1], ..Ask::of(Arms::Registered) }).unwrap()),
        "\"blue\""
    );
    // By number, all three are there.
    assert_eq!(client.ask(&Ask::of(Arms::Plain(3))).unwrap().taken.arm, ArmRef::Position(1));
}

/// An algorithm that pulls by a schedule needs all of its arms; with all of them named it has no objection.
#[test]
fn algorithms_without_masks_want_all_arms() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&config(folder.path(), "ddp-mab", "topology = \"complete\"", Setting::k_armed(2, 3)));
    client.register(&[index("a", 0), index("b", 1)], &[]).unwrap();
    refused(client.ask(&Ask::of(Arms::Registered)), &["every arm", "all of its 3 arms"]);
    client.register(&[index("c", 2)], &[]).unwrap();
    let reply = client.ask(&Ask::of(Arms::Registered)).unwrap();
    assert!(matches!(&reply.taken.arm, ArmRef::Id(_)), "{reply:?}");
    let masked = [ArmRef::Id("a".into())];
    refused(client.ask(&Ask { masked: &masked, ..Ask::of(Arms::Registered) }), &["every arm"]);
    refused(client.ask(&Ask { top: 2, ..Ask::of(Arms::Registered) }), &["schedule", "`top`"]);
    assert_eq!(client.status().open_decisions, 1);
}

/// Where position is what tells arms apart, names in any order would be learned wrongly.
#[test]
fn algorithms_that_go_by_position_take_no_ids() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&config(folder.path(), "disjoint-linucb", "", Setting::linear(1, 2, 2)));
    refused(client.ask(&Ask::of(Arms::Named(&COLOURS))), &["by their position", "same order"]);
    refused(client.ask(&Ask::of(Arms::Registered)), &["by their position"]);
    let rows = [vec![1.0, 0.0], vec![0.0, 1.0]];
    assert!(client.ask(&Ask { top: 2, ..Ask::of(Arms::Features(&rows)) }).is_ok());
}

#[test]
fn a_client_of_many_users_must_be_told_which() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&config(folder.path(), "linucb-shared", "", Setting::linear(3, 2, 2)));
    let ask = Ask::of(Arms::Named(&COLOURS));
    refused(client.ask(&ask), &["which"]);
    refused(client.ask(&Ask { user: Some(3), ..ask }), &["user 3"]);
    let reply = client.ask(&Ask { user: Some(2), top: 2, event: Some("e"), ..ask }).unwrap();
    assert_eq!(client.reward("e", 1.0).unwrap(), cahoots_node::client::Ack::Learned);
    assert_eq!(reply.ranking.unwrap().len(), 2);
}

#[test]
fn of_several_decisions_all_are_taken_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let limits = ClientLimits { batch: 3, open_decisions: 4, ..ClientLimits::default() };
    let client = open(&ClientConfig { limits, ..linear(folder.path()) });
    let good = Ask::of(Arms::Named(&COLOURS));
    let short = [NamedArm { id: "a", features: Some(&[1.0]) }];
    let bad = Ask::of(Arms::Named(&short));
    refused(
        client.decide_all(&[good, bad, good]),
        &["decision 1 of the 3", "2 are expected", "none of them"],
    );
    refused(client.decide_all(&[good, good, Ask { user: Some(9), ..good }]), &["decision 2", "user 9"]);
    refused(client.decide_all(&[]), &["at least one"]);
    refused(client.decide_all(&[good; 4]), &["4 decisions", "3", "limits.batch"]);
    assert_eq!(client.status().open_decisions, 0);
    let replies = client.decide_all(&[good, good]).unwrap();
    assert_ne!(replies[0].id, replies[1].id);
    assert_eq!(client.status().open_decisions, 2);
    // Two more fit, three do not: then none is taken.
    refused(client.decide_all(&[good, good, good]), &["limits.open_decisions"]);
    assert_eq!(client.status().open_decisions, 2);
    client.decide_all(&[good, good]).unwrap();
    assert_eq!(client.status().limits.open_decisions, 1);
}
