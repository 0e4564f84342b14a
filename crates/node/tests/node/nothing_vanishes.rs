//! What was acknowledged is merged, or kept and said to be kept: whatever the scale, whatever is refused, whenever
//! the client stops.

use std::path::Path;
use std::time::Duration;

use crate::common::{Federation, PATIENCE, Raw, known, open, store_of, terms, until};
use cahoots_core::{NodeId, Setting};
use cahoots_node::client::{Ack, Arms, Client};

fn federation(ratio: &str) -> Federation {
    let known = known();
    let terms = terms(&known, "async-linucb", &format!("ratio = {ratio}"), Setting::linear(3, 2, 2));
    Federation::start(&known, terms)
}

/// A decision between two arms, and its reward.
fn learn(client: &Client, scale: f64, reward: f64) {
    let arms = [vec![scale, 0.3 * scale], vec![0.5 * scale, -scale]];
    let decision = client.decide(None, Arms::Features(&arms)).unwrap();
    assert_eq!(client.reward(decision.id, reward).unwrap(), Ack::Learned);
}

fn copy_store(from: &Path, to: &Path) {
    let name = from.file_name().unwrap().to_str().unwrap();
    for file in std::fs::read_dir(from.parent().unwrap()).unwrap().map(Result::unwrap) {
        let found = file.file_name().into_string().unwrap();
        if let Some(rest) = found.strip_prefix(name)
            && (rest.is_empty() || rest.starts_with('.'))
        {
            let copy = format!("{}{rest}", to.file_name().unwrap().to_str().unwrap());
            std::fs::copy(file.path(), to.with_file_name(copy)).unwrap();
        }
    }
}

#[test]
fn rewards_of_every_legal_scale_are_merged_even_if_it_changes_in_mid_run() {
    let federation = federation("1.5");
    let client = federation.client(0);
    let mut learned = 0;
    for scale in [1.0, 1e8, 1.7e9, 1.0, 1e15, 6e29, 0.1] {
        for i in 0..60 {
            learn(&client, scale * (1.0 + f64::from(i) / 60.0), 1e9);
            learned += 1;
        }
    }
    assert_eq!(client.drain(PATIENCE).unwrap().unconfirmed, 0);
    until("merged", || federation.merged().count == learned);
    let status = client.status();
    assert_eq!((status.refusals.uploads, status.problems), (0, vec![]));
    client.stop();
    federation.stop();
}

#[test]
fn inputs_that_cannot_work_are_refused_with_the_bound_and_cost_nothing() {
    let federation = federation("1.0");
    let client = federation.client(0);
    learn(&client, 1.0, 0.5);
    for bad in [1e200, f64::MAX, f64::INFINITY, f64::NAN] {
        let refused = client.decide(None, Arms::Features(&[vec![1.0, bad], vec![0.0, 1.0]])).unwrap_err();
        assert!(refused.to_string().contains("1.2676506002282294e30"), "{refused}");
        let decision = client.decide(None, Arms::Features(&[vec![1.0, 0.0], vec![0.0, 1.0]])).unwrap();
        let refused = client.reward(decision.id, bad).unwrap_err();
        assert!(refused.to_string().contains("between -1.2676506002282294e30"), "{refused}");
        assert_eq!(client.reward(decision.id, 0.25).unwrap(), Ack::Learned, "it is open still");
    }
    client.drain(PATIENCE).unwrap();
    until("merged", || federation.merged().count == 5);
    client.stop();
    federation.stop();
}

#[test]
fn a_drain_leaves_nothing_behind() {
    let federation = federation("5.0");
    let client = federation.client(0);
    (0..300).for_each(|i| learn(&client, 1.0, f64::from(i % 2)));
    assert!(client.status().unsent > 0, "a test of nothing");
    let drained = client.drain(PATIENCE).unwrap();
    assert!(drained.sent > 0 && (drained.left, drained.unconfirmed) == (0, 0), "{drained:?}");
    assert_eq!(federation.merged().count, 300);
    assert_eq!(client.drain(PATIENCE).unwrap().sent, 0, "nothing is sent twice");
    assert_eq!(federation.merged().count, 300);
    client.stop();
    federation.stop();
}

#[test]
fn an_old_copy_of_a_store_is_refused_and_issues_no_id_twice() {
    let federation = federation("1e9");
    let arms = [vec![1.0, 0.0], vec![0.0, 1.0]];
    let client = federation.client(0);
    learn(&client, 1.0, 1.0);
    client.stop();
    let store = store_of(federation.folder.path(), 0);
    let copy = federation.folder.path().join("put-aside");
    copy_store(&store, &copy);
    // Nothing is uploaded since, and yet it is not forgotten.
    let client = federation.client(0);
    let newer = client.decide(None, Arms::Features(&arms)).unwrap();
    client.reward(newer.id, 1.0).unwrap();
    client.stop();
    copy_store(&copy, &store);
    let old = open(&federation.known, federation.folder.path(), &federation.url, 0);
    until("refused", || old.problems().iter().any(|problem| problem.contains("an old copy was put back")));
    // It goes on alone, and knows nothing of what it was not told.
    let decision = old.decide(None, Arms::Features(&arms)).unwrap();
    assert_ne!(decision.id, newer.id);
    assert!(old.reward(newer.id, 1.0).unwrap_err().to_string().contains("is unknown"));
    assert_eq!(old.reward(decision.id, 1.0).unwrap(), Ack::Learned);
    old.stop();
    federation.stop();
}

#[test]
fn the_second_process_on_a_copied_store_waits_and_the_first_loses_nothing() {
    let federation = federation("1.0");
    let first = federation.client(0);
    (0..20).for_each(|_| learn(&first, 1.0, 1.0));
    let elsewhere = federation.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    first.drain(PATIENCE).unwrap();
    copy_store(&store_of(federation.folder.path(), 0), &store_of(&elsewhere, 0));
    let second = open(&federation.known, &elsewhere, &federation.url, 0);
    until("told", || second.status().trouble.is_some_and(|reason| reason.contains("is connected already")));
    (0..20).for_each(|_| learn(&first, 1.0, 1.0));
    (0..20).for_each(|_| learn(&second, 1.0, 1.0));
    first.drain(PATIENCE).unwrap();
    assert_eq!(federation.merged().count, 40);
    first.stop();
    // The copy took part in none of that: it never gets in.
    until("refused", || second.status().trouble.is_some_and(|reason| reason.contains("older than what")));
    assert_eq!(federation.merged().count, 40);
    second.stop();
    let first = federation.client(0);
    learn(&first, 1.0, 1.0);
    first.drain(PATIENCE).unwrap();
    assert_eq!(federation.merged().count, 41);
    first.stop();
    federation.stop();
}

#[test]
fn a_flipped_bit_on_the_wire_is_noticed() {
    use cahoots_node::transport::Kind;
    let federation = federation("1.0");
    federation.runtime.block_on(async {
        let raw = Raw::connect(&federation.url, 1).await;
        let Kind::Envelope(mut envelope) = raw.own(NodeId::SERVER, 1, vec![10, 0]) else { unreachable!() };
        envelope.payload[1] ^= 1;
        raw.send(Kind::Envelope(envelope)).await;
        assert!(raw.reset().await.contains("was altered on its way"));
    });
    assert_eq!(federation.status().received, 0);
    federation.stop();
}

#[test]
fn a_coordinator_restored_from_an_older_backup_is_sent_again_what_it_lacks() {
    let known = known();
    let terms = terms(&known, "async-linucb", "ratio = 1.0", Setting::linear(3, 2, 2));
    let federation = Federation::start(&known, terms.clone());
    let backup = federation.folder.path().join("backup");
    let clients = [federation.client(0), federation.client(1)];
    let learn_all = |times: usize| {
        for client in &clients {
            (0..times).for_each(|_| learn(client, 1.0, 1.0));
            client.drain(PATIENCE).unwrap();
        }
    };
    learn_all(10);
    federation.backup(&backup);
    learn_all(10);
    assert_eq!(federation.merged().count, 40);
    let address = federation.address();
    let folder = federation.stop();
    for old in std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
        if old.file_name().to_str().unwrap().starts_with("coordinator") {
            std::fs::remove_file(old.path()).unwrap();
        }
    }
    copy_store(&backup, &folder.path().join("coordinator"));
    let federation = Federation::resume(&known, terms.clone(), folder, &address);
    until("sent again", || federation.merged().count == 40);
    learn_all(5);
    until("it goes on", || federation.merged().count == 50);

    // A coordinator that lost everything gets what its clients still have.
    let folder = federation.stop();
    for old in std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
        if old.file_name().to_str().unwrap().starts_with("coordinator") {
            std::fs::remove_file(old.path()).unwrap();
        }
    }
    let federation = Federation::resume(&known, terms, folder, &address);
    until("sent again", || federation.merged().count == 50);
    learn_all(1);
    until("it goes on", || federation.merged().count == 52);
    clients.into_iter().for_each(Client::stop);
    federation.stop();
}

#[test]
fn a_refused_client_goes_on_deciding_and_joins_when_it_may() {
    let federation = federation("1.0");
    let client = federation.client(0);
    learn(&client, 1.0, 1.0);
    client.drain(PATIENCE).unwrap();
    federation.remove(0).unwrap();
    until("told", || client.problems().iter().any(|problem| problem.contains("decides alone")));
    (0..5).for_each(|_| learn(&client, 1.0, 1.0));
    assert_eq!(client.status().open_decisions, 0);
    client.stop();
    // Released, and started anew by whoever has the number now: what was merged stays merged.
    federation.release(0).unwrap();
    assert!(federation.release(0).unwrap_err().contains("is free"));
    std::thread::sleep(Duration::from_millis(20));
    let elsewhere = federation.folder.path().join("new-disk");
    std::fs::create_dir(&elsewhere).unwrap();
    let heir = open(&federation.known, &elsewhere, &federation.url, 0);
    until("connected", || heir.status().connected);
    learn(&heir, 1.0, 1.0);
    heir.drain(PATIENCE).unwrap();
    until("merged", || federation.merged().count == 2);
    heir.stop();
    federation.stop();
}
