//! The app's own names for decisions: asked again, rewarded by name, over stops and kills.

use cahoots_core::decision::Taken;
use cahoots_node::client::{Ack, Arms, Ask, ClientConfig};
use cahoots_node::limits::ClientLimits;

use super::*;

#[test]
fn who_asks_again_is_told_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&linear(folder.path()));
    let told = client.ask(&Ask { top: 2, ..visit("v1") }).unwrap();
    assert_eq!(told.event.as_deref(), Some("v1"));
    assert_eq!(client.ask(&Ask { top: 2, ..visit("v1") }).unwrap(), told);
    // Whatever else is said, and though another has been rewarded since.
    let other = client.ask(&visit("v2")).unwrap();
    assert_ne!(other.id, told.id);
    client.reward("v2", 1.0).unwrap();
    assert_eq!(client.ask(&Ask { event: Some("v1"), ..Ask::of(Arms::Plain(99)) }).unwrap(), told);
    assert_eq!(client.status().open_decisions, 1);
    // Twice within one call is once.
    let both = client.decide_all(&[visit("v3"), visit("v3"), visit("v1")]).unwrap();
    assert_eq!((&both[0], &both[2]), (&both[1], &told));
    assert_eq!(client.status().open_decisions, 2);
}

#[test]
fn rewards_by_name_count_once_over_stops_and_kills() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = linear(folder.path());
    let mut client = open(&config);
    let told = client.ask(&visit("v1")).unwrap();
    let unrewarded = client.ask(&visit("v2")).unwrap();
    client.ask(&visit("given up")).unwrap();
    client.abandon("given up").unwrap();
    // A reward makes the decision durable that it is for, and all before it.
    assert_eq!(client.reward("v1", 0.5).unwrap(), Ack::Learned);
    for turn in 0..4 {
        config = if turn % 2 == 0 {
            let after = killed(&config, &folder.path().join(format!("killed-{turn}")));
            drop(client);
            after
        } else {
            client.stop();
            config
        };
        client = open(&config);
        assert_eq!(client.status().open_decisions, 1, "{turn}");
        assert_eq!(client.ask(&visit("v1")).unwrap(), told);
        assert_eq!(client.ask(&visit("v2")).unwrap(), unrewarded);
        assert_eq!(client.reward("v1", 0.5).unwrap(), Ack::Repeated);
        assert_eq!(client.reward(told.id, 0.5).unwrap(), Ack::Repeated);
        refused(client.reward("v1", 0.25), &["already has reward 0.5", "0.25"]);
        assert_eq!(client.abandon("given up").unwrap(), Taken::Repeated);
        refused(client.reward("given up", 1.0), &["unknown"]);
        refused(client.abandon("v1"), &["has its reward"]);
    }
    assert_eq!(client.reward("v2", 1.0).unwrap(), Ack::Learned);
    assert_eq!(client.ask(&visit("v3")).unwrap().model, 3, "two rewards and a decision that was given up");
}

#[test]
fn names_that_nobody_knows_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&linear(folder.path()));
    refused(client.reward("v1", 1.0), &["\"v1\"", "unknown", "10,000"]);
    refused(client.abandon("v1"), &["unknown"]);
    refused(client.activate("v1"), &["unknown"]);
    refused(client.ask(&visit("")), &["an event is empty"]);
    let long = "x".repeat(257);
    refused(client.ask(&visit(&long)), &["257 bytes"]);
    // What is said back of others' texts is short and on one line.
    let long = format!("two\nlines{long}");
    let error = client.reward(&*long, 1.0).unwrap_err().to_string();
    assert!(error.len() < 400 && !error.contains('\n'), "{error}");
}

/// What was answered and not flushed may be lost in a crash: then the name is free again, and nothing of it is left.
#[test]
fn a_decision_that_was_lost_has_left_no_ticket() {
    let folder = tempfile::tempdir().unwrap();
    let config = ClientConfig { tick: Duration::from_secs(3600), ..linear(folder.path()) };
    let client = open(&config);
    client.ask(&visit("v1")).unwrap();
    client.reward("v1", 1.0).unwrap();
    let lost = client.ask(&Ask { deferred: true, ..visit("v2") }).unwrap();
    let config = killed(&config, &folder.path().join("killed"));
    let client = open(&config);
    refused(client.reward("v2", 1.0), &["unknown"]);
    refused(client.reward(lost.id, 1.0), &["unknown"]);
    let again = client.ask(&visit("v2")).unwrap();
    assert_ne!(again.id, lost.id);
    assert_eq!(client.reward("v2", 1.0).unwrap(), Ack::Learned, "not deferred: that one is gone");
}

#[test]
fn ten_thousand_closed_events_are_remembered_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let config = ClientConfig {
        limits: ClientLimits { batch: 1000, ..ClientLimits::default() },
        ..linear(folder.path())
    };
    let client = open(&config);
    let names: Vec<String> = (0..10_050).map(|n| format!("event {n}")).collect();
    for chunk in names.chunks(1000) {
        let asks: Vec<Ask<'_>> = chunk.iter().map(|name| visit(name)).collect();
        client.decide_all(&asks).unwrap();
        let rewards: Vec<_> =
            chunk.iter().map(|name| cahoots_node::client::Reward::of(&**name, 0.5)).collect();
        assert!(client.reward_all(&rewards).unwrap().iter().all(Result::is_ok));
    }
    let check = |client: &Client| {
        assert_eq!(client.reward(&*names[50], 0.5).unwrap(), Ack::Repeated);
        assert_eq!(client.reward(&*names[10_049], 0.5).unwrap(), Ack::Repeated);
        refused(client.reward(&*names[49], 0.5), &["unknown"]);
    };
    check(&client);
    client.stop();
    let stored = cahoots_node::store::Look::at(&config.store).unwrap();
    let tickets = stored.values.keys().filter(|name| name.starts_with("ticket/")).count();
    assert_eq!(tickets, 10_000);
    check(&open(&config));
}

#[test]
fn what_is_kept_for_the_app_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let limits = ClientLimits { kept_bytes: 3000, ..ClientLimits::default() };
    let client = open(&ClientConfig { limits, ..linear(folder.path()) });
    let mut taken = 0;
    let error = loop {
        match client.ask(&visit(&format!("v{taken}"))) {
            Ok(_) => taken += 1,
            Err(error) => break error.to_string(),
        }
        assert!(taken < 100, "they are not bounded");
    };
    assert!(error.contains("limits.kept_bytes") && taken > 3, "{taken}: {error}");
    // Bare decisions cost nothing here, and what closes makes room.
    client.ask(&Ask::of(Arms::Named(&COLOURS))).unwrap();
    client.reward("v0", 1.0).unwrap();
    client.ask(&visit("more")).unwrap();
}

#[test]
fn bare_decisions_leave_nothing_in_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let config = linear(folder.path());
    let client = open(&config);
    let rows = [vec![1.0, 0.0], vec![0.0, 1.0]];
    for _ in 0..3 {
        let decision = client.decide(None, Arms::Features(&rows)).unwrap();
        client.reward(decision.id, 1.0).unwrap();
        let named = client.ask(&Ask { top: 2, ..Ask::of(Arms::Named(&COLOURS)) }).unwrap();
        client.reward(named.id, 1.0).unwrap();
    }
    client.stop();
    let stored = cahoots_node::store::Look::at(&config.store).unwrap();
    let app = |name: &&String| name.starts_with("ticket/") || name.starts_with("arm/");
    assert_eq!(stored.values.keys().filter(app).count(), 0, "{:?}", stored.values.keys());
}
