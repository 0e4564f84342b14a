//! Clients and coordinators that pretend: what nobody may say to a machine does not reach it, and costs
//! whoever is spoken to neither its connection nor anything that it keeps.

use std::sync::Arc;

use cahoots_algorithms::dp_mab::{Labels, MabMsg};
use cahoots_algorithms::kit::arms::ArmMsg;
use cahoots_algorithms::kit::linear::LinearMsg;
use cahoots_core::{LinearStats, NodeId, Setting, View, message};
use cahoots_node::Terms;
use cahoots_node::client::{Arms, Client};
use cahoots_node::limits::ServeLimits;
use cahoots_node::transport::proto::{Confirm, Welcome};
use cahoots_node::transport::{self, Inbound, Kind, frame};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::common::{Federation, Raw, envelope, known, open, runtime, saved, terms, until};

const VICTIM: NodeId = NodeId(0);

/// ddp-mab's signal "explored", as it is on the wire.
const READY: u32 = 2;

/// Two clients who hear nobody but their server.
fn linear() -> Terms {
    terms(&known(), "async-linucb", "ratio = 1.0", Setting::linear(2, 2, 2))
}

/// Four clients in a ring: 0 hears 1 and 3, and not 2.
fn ring() -> Terms {
    let params = "topology = \"ring\"\nrounds = 3\ngap = 0.8\nprivacy = \"local\"\ndp_epsilon = 20.0";
    terms(&known(), "ddp-mab", params, Setting::k_armed(4, 3))
}

/// A view as a server would send it: well formed, and not what anyone has learned.
fn view() -> Vec<u8> {
    let mut stats = LinearStats::empty(2);
    stats.observe(&[0.6, 0.8], 100.0);
    message::encode(&LinearMsg::Download { view: View::new(1, stats), merged: 0 })
}

/// A message between clients as a neighbour would send it.
fn advertisement() -> Vec<u8> {
    message::encode(&MabMsg::Advertise(Labels { phase: 1, nodes: vec![NodeId(1)] }))
}

/// What a client says to the server that sets the clock of ddp-mab: the first round can be exchanged.
fn ready() -> Vec<u8> {
    message::encode(&MabMsg::Arms(ArmMsg::Signal { signal: READY, phase: 1 }))
}

fn confirm(sequence: u64, peer: NodeId) -> Kind {
    Kind::Confirm(Confirm { sequence, peer: Some(peer.0), kept: None })
}

/// The state of a client to whom nobody has said anything.
fn untouched(terms: Terms) -> Vec<u8> {
    let federation = Federation::start(&known(), terms);
    federation.client(VICTIM.0).stop();
    saved(federation.folder.path(), VICTIM.0)
}

fn undisturbed(victim: &Client) {
    let status = victim.status();
    assert!(status.connected && status.attempts == 1, "it keeps its connection: {status:?}");
}

#[test]
fn a_view_from_another_client_is_not_passed_on() {
    let federation = Federation::start(&known(), linear());
    let victim = federation.client(VICTIM.0);
    let reason = federation.runtime.block_on(async {
        let forger = Raw::connect(&federation.url, 1).await;
        forger.send(forger.own(VICTIM, 1, view())).await;
        forger.reset().await
    });
    assert!(reason.contains("client 0") && reason.contains("does not hear client 1"), "{reason}");
    let status = federation.status();
    assert_eq!((status.refused, status.relayed, status.connected), (1, 0, 1), "{status:?}");
    undisturbed(&victim);
    let seen = victim.status();
    assert_eq!((seen.downloads, seen.refused), (0, 0), "{seen:?}");
    victim.stop();
    assert!(saved(federation.folder.path(), VICTIM.0) == untouched(linear()), "its machine has changed");
    // The forger was reset, not banned.
    federation.runtime.block_on(Raw::connect(&federation.url, 1));
}

#[test]
fn nobody_writes_under_another_name() {
    for terms in [linear(), ring()] {
        let federation = Federation::start(&known(), terms);
        let victim = federation.client(VICTIM.0);
        let names = [
            (NodeId::SERVER, VICTIM),
            (NodeId::SERVER, NodeId::SERVER),
            (VICTIM, NodeId::SERVER),
            (VICTIM, VICTIM),
        ];
        for (forgeries, (from, to)) in (1..).zip(names) {
            federation.runtime.block_on(async {
                let forger = Raw::connect(&federation.url, 1).await;
                forger.send(forger.envelope(from, to, 1, view())).await;
                forger.reset().await
            });
            let status = federation.status();
            assert_eq!((status.refused, status.relayed), (forgeries, 0), "from {from} to {to}: {status:?}");
            assert_eq!((status.received, status.connected), (0, 1), "from {from} to {to}: {status:?}");
        }
        undisturbed(&victim);
        assert_eq!(victim.status().refused, 0, "the coordinator keeps it from the victim");
    }
}

#[test]
fn only_neighbours_are_passed_on_and_only_their_confirmations() {
    let federation = Federation::start(&known(), ring());
    federation.runtime.block_on(async {
        let mut victim = Raw::connect(&federation.url, VICTIM.0).await;
        for forgery in 0..2 {
            let forger = Raw::connect(&federation.url, 2).await;
            let kind = if forgery == 0 { forger.own(VICTIM, 1, advertisement()) } else { confirm(1, VICTIM) };
            forger.send(kind).await;
            forger.reset().await;
        }
        // Whatever had been passed on would have come before these.
        let neighbour = Raw::connect(&federation.url, 1).await;
        neighbour.send(neighbour.own(VICTIM, 1, advertisement())).await;
        neighbour.send(confirm(7, VICTIM)).await;
        match victim.next_of_peers().await {
            Some(Kind::Envelope(envelope)) => assert_eq!((envelope.from, envelope.to), (1, VICTIM.0)),
            other => panic!("{other:?}"),
        }
        assert_eq!(victim.next_of_peers().await, Some(confirm(7, NodeId(1))));
    });
    let status = federation.status();
    assert_eq!((status.refused, status.relayed), (2, 1), "{status:?}");
}

#[test]
fn a_neighbour_that_confirms_what_was_never_sent_is_not_believed() {
    let federation = Federation::start(&known(), ring());
    let victim = federation.client(VICTIM.0);
    // The others are ready to exchange what they have explored; the victim is when it has explored too.
    let mut others = federation.runtime.block_on(async {
        let mut others = Vec::new();
        for client in 1..4 {
            let other = Raw::connect(&federation.url, client).await;
            other.send(other.own(NodeId::SERVER, 1, ready())).await;
            others.push(other);
        }
        others
    });
    let mut neighbour = others.swap_remove(0);
    until("it explores to the end", || {
        let decision = victim.decide(None, Arms::Plain(3)).unwrap();
        victim.reward(decision.id, 0.5).unwrap();
        victim.status().releases > 0
    });
    let first = |neighbour: &mut Raw| {
        federation.runtime.block_on(async {
            loop {
                match neighbour.next_of_peers().await {
                    Some(Kind::Envelope(envelope)) if envelope.sequence == 1 => break,
                    Some(_) => {}
                    None => panic!("its first message never comes"),
                }
            }
        });
    };
    first(&mut neighbour);
    federation.runtime.block_on(neighbour.send(confirm(1_000, VICTIM)));
    until("the confirmation is refused", || victim.status().refused == 1);
    undisturbed(&victim);
    // What it has said stays with it, and is said again until somebody has it.
    for _ in 0..2 {
        first(&mut neighbour);
    }
    undisturbed(&victim);
}

/// A coordinator that lets a client in and then says to it what it likes.
fn coordinator_that_says(known_terms: &Terms, from: NodeId) -> (tokio::runtime::Runtime, String) {
    let runtime = runtime();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (inbound, mut came) = mpsc::channel::<Inbound>(64);
    runtime.spawn(transport::serve(
        listener,
        None,
        inbound,
        ServeLimits::default(),
        Arc::default(),
        std::future::pending(),
    ));
    let (text, parameters) = (known_terms.to_toml(), known_terms.hash());
    runtime.spawn(async move {
        let mut ways_out = Vec::new();
        while let Some(inbound) = came.recv().await {
            match inbound {
                Inbound::Opened(_, _, frames) => ways_out.push(frames),
                Inbound::Frame(_, cahoots_node::transport::proto::Frame { kind: Some(Kind::Hello(_)) }) => {
                    let frames = ways_out.last().expect("opened before");
                    let welcome = Welcome {
                        received: 0,
                        terms: text.clone(),
                        parameters,
                        sent: 1,
                        change: None,
                        replicated: false,
                    };
                    frames.send(frame(Kind::Welcome(welcome.into()))).await.unwrap();
                    frames.send(frame(envelope(parameters, from, VICTIM, 1, view()))).await.unwrap();
                }
                _ => {}
            }
        }
    });
    (runtime, url)
}

#[test]
fn a_coordinator_that_passes_on_a_strangers_view_is_not_heard() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let (_runtime, url) = coordinator_that_says(&linear(), NodeId(1));
    let victim = open(&known(), folder.path(), &url, VICTIM.0);
    until("the view is refused", || victim.status().refused == 1);
    undisturbed(&victim);
    assert_eq!(victim.status().downloads, 0);
    victim.stop();
    let untouched = untouched(linear());
    assert!(saved(folder.path(), VICTIM.0) == untouched, "its machine has changed");

    // The same view from the server is learned from: it is who speaks that makes the difference.
    let folder = tempfile::tempdir().unwrap();
    let (_runtime, url) = coordinator_that_says(&linear(), NodeId::SERVER);
    let client = open(&known(), folder.path(), &url, VICTIM.0);
    until("the view is taken", || client.status().downloads == 1);
    assert_eq!(client.status().refused, 0);
    client.stop();
    assert!(saved(folder.path(), VICTIM.0) != untouched, "a view that changes nothing proves nothing");
}
