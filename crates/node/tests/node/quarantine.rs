//! Members that go on lying: counted, quarantined after a limit, told so, not waited for; restored when whoever runs
//! the federation says so. Nobody else notices.

use std::sync::Arc;

use crate::common;
use crate::common::{FEDERATION, Federation, PATIENCE, Raw, until};
use cahoots_algorithms::{registry, sync_linucb};
use cahoots_core::drive::saved_server;
use cahoots_core::wire::payload::Shape;
use cahoots_core::{NodeId, Setting, wire};
use cahoots_node::client::{Arms, Client};
use cahoots_node::coordinator::CoordinatorStatus;
use cahoots_node::limits::ServeLimits;
use cahoots_node::store::{Store, Sync};
use cahoots_node::transport::Kind;
use cahoots_node::transport::proto::{Confirm, Hello};
use cahoots_node::{Known, Terms};
use prost::Message as _;

const LIAR: u32 = 2;
const LIMIT: u64 = 3;

fn known() -> Arc<Known> {
    Arc::new(Known::new(registry::ours()))
}

fn terms(algorithm: &str, params: &str, setting: Setting) -> Terms {
    common::terms(&known(), algorithm, params, setting)
}

fn federation(terms: Terms) -> Federation {
    let limits = ServeLimits { implausible: LIMIT, ..ServeLimits::default() };
    Federation::start_within(&known(), terms, limits)
}

fn upload(number: u64, gram: f64) -> Vec<u8> {
    let stats = wire::LinearStats {
        dim: 2,
        count: 1,
        gram: vec![gram, 0.0, 0.0],
        moment: vec![0.5, 0.0],
        contexts: vec![],
    };
    let upload = wire::LinearUpload { number, stats: Some(stats), ..Default::default() };
    wire::Payload { shape: Some(Shape::LinearUpload(upload)) }.encode_to_vec()
}

fn lie(number: u64) -> Vec<u8> {
    upload(number, 1e308)
}

fn truth(number: u64) -> Vec<u8> {
    upload(number, 1.0)
}

/// Sends a message of its own and waits until it came: `true` if it was refused.
fn send(federation: &Federation, member: &Raw, sequence: u64, payload: Vec<u8>) -> bool {
    let before = federation.status();
    federation.runtime.block_on(member.send(member.own(NodeId::SERVER, sequence, payload)));
    let came = |status: &CoordinatorStatus| status.received + status.not_merged;
    until("it came", || came(&federation.status()) == came(&before) + 1);
    federation.status().refused > before.refused
}

/// Sends the upload whose number is that of the message; gives what is said if it is refused.
fn say(federation: &Federation, member: &mut Raw, number: u64, payload: Vec<u8>) -> Option<String> {
    send(federation, member, number, payload).then(|| {
        federation.runtime.block_on(async {
            loop {
                let Some(Kind::Envelope(envelope)) = member.next().await else { continue };
                let confirmed = Confirm { sequence: envelope.sequence, peer: None, kept: None };
                member.send(Kind::Confirm(confirmed)).await;
                member.received = envelope.sequence;
                let payload = wire::Payload::decode(&envelope.payload[..]).unwrap();
                if let Some(Shape::Refused(refused)) = payload.shape
                    && refused.number == number
                {
                    return refused.reason;
                }
            }
        })
    })
}

fn learn(client: &Client, i: u32) {
    // One arm: what is learned does not depend on when a view comes.
    let turn = f64::from(i);
    let decision = client.decide(None, Arms::Features(&[vec![turn.cos(), turn.sin()]])).unwrap();
    client.reward(decision.id, f64::from(i % 2)).unwrap();
}

#[test]
fn after_a_limit_nothing_of_a_liar_is_merged_until_it_is_restored() {
    let terms = terms("async-linucb", "ratio = 1.0", Setting::linear(3, 2, 2));
    let federation = federation(terms.clone());
    let mut liar = federation.runtime.block_on(Raw::connect(&federation.url, LIAR));
    assert_eq!(say(&federation, &mut liar, 1, truth(1)), None);
    for i in 0..LIMIT {
        assert_eq!(federation.status().quarantined, [] as [u32; 0]);
        let reason = say(&federation, &mut liar, i + 2, lie(i + 2)).unwrap();
        assert!(reason.contains("a trace of 1e308"), "{reason}");
    }
    let told = |reason: String| {
        assert!(reason.starts_with("client 2 is quarantined: 3 of its messages"), "{reason}");
        assert!(reason.contains("`cahoots members FILE restore 2`"), "{reason}");
    };
    told(say(&federation, &mut liar, 5, truth(5)).unwrap());
    let status = federation.status();
    assert_eq!((status.implausible, status.quarantined), (LIMIT, vec![LIAR]));
    let member = federation.members().into_iter().find(|member| member.client == LIAR).unwrap();
    assert!(member.quarantined && member.connected && member.implausible == LIMIT);
    assert!(member.reason.contains("a trace of 1e308"), "{}", member.reason);
    assert_eq!(federation.merged().count, 1);

    // A restart changes nothing about it, and what is replayed is what was.
    let replayed = federation.saved();
    let received = liar.received;
    drop(liar);
    let (address, folder) = (federation.address(), federation.folder.clone());
    federation.stop();
    let owner = format!("the coordinator of federation {FEDERATION:?}");
    let (store, recovered) = Store::open(&folder.path().join("coordinator"), &owner, Sync::Memory).unwrap();
    assert!(recovered.snapshot.unwrap() == replayed, "a replay ends elsewhere");
    drop(store);
    let federation = Federation::resume(&known(), terms, folder, &address);
    let again = |sent, received| Hello { sent, received, ..Raw::hello(LIAR) };
    let mut liar = federation.runtime.block_on(Raw::greet(&federation.url, again(5, received))).unwrap();
    assert_eq!(federation.status().quarantined, [LIAR]);
    told(say(&federation, &mut liar, 6, truth(6)).unwrap());
    assert_eq!(federation.merged().count, 1);
    // Nor does starting anew.
    let received = liar.received;
    drop(liar);
    let anew = Hello { rejoins: true, epochs: vec![77], ..Raw::hello(LIAR) };
    until("it is gone", || federation.status().connected == 0);
    let refused = federation.runtime.block_on(Raw::greet(&federation.url, anew)).err().unwrap();
    assert!(refused.contains("cannot start anew before that is lifted"), "{refused}");

    let mut liar = federation.runtime.block_on(Raw::greet(&federation.url, again(6, received))).unwrap();
    assert!(federation.restore(LIAR).unwrap(), "it goes on as it is");
    assert!(federation.restore(LIAR).unwrap_err().contains("is not quarantined"));
    assert_eq!(say(&federation, &mut liar, 7, truth(7)), None);
    assert_eq!(federation.merged().count, 2);
    assert_eq!((federation.status().implausible, federation.status().quarantined), (0, vec![]));
    // It is given as many chances as anyone.
    for i in 8..8 + 8 {
        assert_eq!(federation.status().quarantined, [] as [u32; 0]);
        say(&federation, &mut liar, i, lie(i)).unwrap();
    }
    assert_eq!(federation.status().quarantined, [LIAR]);
    federation.stop();
}

#[test]
fn whoever_is_honest_ends_as_if_nobody_had_lied_or_been_quarantined() {
    let run = |lies: u32| {
        let federation = federation(terms("async-linucb", "ratio = 1.5", Setting::linear(3, 2, 2)));
        let liar = federation.runtime.block_on(Raw::connect(&federation.url, LIAR));
        let clients = [federation.client(0), federation.client(1)];
        for i in 0..40 {
            for client in &clients {
                learn(client, i);
                client.drain(PATIENCE).unwrap();
            }
            if i < lies {
                let number = u64::from(i) + 1;
                let said = if i < 5 { lie(number) } else { truth(number) };
                assert!(send(&federation, &liar, number, said), "{i}");
            }
        }
        let merged = federation.merged();
        clients.into_iter().for_each(Client::stop);
        federation.stop();
        merged
    };
    assert_eq!(run(0), run(20), "bit for bit");
}

/// A round that waits for a liar goes on without it.
#[test]
fn nobody_waits_for_who_is_quarantined() {
    let federation = federation(terms("sync-linucb", "sync_threshold = 0.0", Setting::linear(3, 2, 2)));
    let mut liar = federation.runtime.block_on(Raw::connect(&federation.url, LIAR));
    let clients = [federation.client(0), federation.client(1)];
    learn(&clients[0], 1);
    until("all are waited for, and two have answered", || federation.status().waiting_for == [LIAR]);
    for i in 1..=LIMIT {
        assert_eq!((federation.status().rounds, federation.status().waiting_for), (0, vec![LIAR]));
        say(&federation, &mut liar, i, lie(i)).unwrap();
    }
    until("the round is over", || federation.status().rounds == 1);
    learn(&clients[1], 2);
    until("so is the next", || federation.status().rounds == 2);
    let merged = || saved_server::<sync_linucb::Server>(&federation.saved()).unwrap().view().stats().count;
    assert_eq!(merged(), 2);
    // Restored, it is one of them again: a round is opened that asks it.
    assert!(federation.restore(LIAR).unwrap());
    until("it is waited for", || federation.status().waiting_for == [LIAR]);
    assert_eq!(say(&federation, &mut liar, LIMIT + 1, truth(LIMIT + 1)), None);
    until("with its data", || merged() == 3);
    clients.into_iter().for_each(Client::stop);
    federation.stop();
}

/// Where the others have gone on for good, a pardon is a new beginning.
#[test]
fn in_epochs_that_went_on_a_restored_client_starts_anew() {
    let params = "privacy = \"none\"\nrounds = 3\ngap = 0.8";
    let federation = federation(terms("cdp-mab", params, Setting::k_armed(3, 3)));
    let means = |value: f64| {
        let values =
            wire::ArmValues { number: 1, phase: 1, arms: vec![0, 1, 2], values: vec![value, 0.5, 0.5] };
        wire::Payload { shape: Some(Shape::ArmValues(values)) }.encode_to_vec()
    };
    let mut members: Vec<Raw> =
        (0..3).map(|me| federation.runtime.block_on(Raw::connect(&federation.url, me))).collect();
    send(&federation, &members[0], 1, means(0.6));
    send(&federation, &members[1], 1, means(0.7));
    for i in 1..=LIMIT {
        assert_eq!(federation.status().rounds, 0);
        send(&federation, &members[LIAR as usize], i, means(-5.0));
    }
    assert_eq!((federation.status().rounds, federation.status().quarantined), (1, vec![LIAR]));
    assert!(!federation.restore(LIAR).unwrap(), "it cannot go on as it is");
    let liar = members.pop().unwrap();
    let told = federation.runtime.block_on(liar.last_refusal());
    assert!(told.contains("`cahoots rejoin` the client"), "{told}");
    let again = Hello { sent: LIMIT, ..Raw::hello(LIAR) };
    let refused = federation.runtime.block_on(Raw::greet(&federation.url, again)).err().unwrap();
    assert!(refused.contains("`cahoots rejoin` the client"), "{refused}");
    let anew = Hello { rejoins: true, epochs: vec![77], ..Raw::hello(LIAR) };
    federation.runtime.block_on(Raw::greet(&federation.url, anew)).unwrap();
    assert_eq!((federation.status().implausible, federation.status().quarantined), (0, vec![]));
    federation.stop();
}
