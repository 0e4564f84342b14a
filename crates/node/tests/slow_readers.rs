//! Clients that do not read while others upload: what waits for them, in memory and on disk, follows from how many they
//! are and not from how much is uploaded.

mod common;

use cahoots_algorithms::kit::linear::LinearMsg;
use cahoots_core::drive::Queues;
use cahoots_core::{Cx, LinearStats, NodeId, Setting, Unprotected, message};
use cahoots_node::store::{Store, Sync};
use cahoots_node::transport::proto::Confirm;
use cahoots_node::transport::{Kind, WINDOW};

use common::{FEDERATION, Federation, Raw, known, terms};

const DIM: usize = 16;
/// Clients that upload and read.
const LOUD: u32 = 2;
/// Clients that do neither.
const SILENT: u32 = 30;

fn upload(number: u64) -> Vec<u8> {
    let mut stats = LinearStats::empty(DIM);
    let x: Vec<f64> = (0..DIM).map(|j| ((number * 31 + j as u64 * 17) % 97) as f64 / 97.0).collect();
    stats.observe(&x, 0.5);
    let (stats, _) =
        Cx::rehearse(NodeId(0), 0, |cx: &mut Cx<'_, LinearMsg>| cx.release(&mut Unprotected, stats));
    message::encode(&LinearMsg::Upload { number, stats })
}

/// Sends uploads, confirms what comes, until all are confirmed.
async fn speak(mut raw: Raw, uploads: u64) -> Raw {
    let (mut sent, mut confirmed) = (0, 0);
    while confirmed < uploads {
        while sent < uploads && sent - confirmed < WINDOW as u64 {
            sent += 1;
            raw.send(raw.own(NodeId::SERVER, sent, upload(sent))).await;
        }
        match raw.next().await {
            Some(Kind::Confirm(Confirm { sequence, .. })) => confirmed = sequence,
            Some(Kind::Envelope(envelope)) => {
                raw.send(Kind::Confirm(Confirm { sequence: envelope.sequence, peer: None, kept: None }))
                    .await;
            }
            other => panic!("{other:?}"),
        }
    }
    raw
}

fn waiting_bytes(queues: &Queues, client: u32) -> usize {
    queues.after(NodeId(client), 0).map(|message| message.payload().len()).sum()
}

/// The most messages that wait for a silent client, and the bytes of what waits for all of them, in the snapshot.
fn burst(uploads: u64) -> (usize, usize) {
    let (known, clients) = (known(), (LOUD + SILENT) as usize);
    // Every upload makes a view for everyone.
    let terms = terms(&known, "async-linucb", "ratio = 1.0", Setting::linear(clients, DIM, 2));
    let federation = Federation::start(&known, terms);
    let (url, runtime) = (&federation.url, &federation.runtime);
    let open = |client| runtime.block_on(Raw::connect(url, client));
    let mut silent: Vec<Raw> = (LOUD..LOUD + SILENT).map(open).collect();
    let loud: Vec<Raw> = (0..LOUD).map(open).collect();
    let speaking: Vec<_> = loud.into_iter().map(|raw| runtime.spawn(speak(raw, uploads))).collect();
    let loud: Vec<Raw> = speaking.into_iter().map(|part| runtime.block_on(part).unwrap()).collect();
    let status = federation.status();
    assert_eq!((status.received, status.refused), (uploads * u64::from(LOUD), 0));
    assert_eq!(status.connected, clients, "nobody is dropped for being slow");
    assert!(status.sent > uploads * u64::from(SILENT), "each upload made views: {}", status.sent);

    let waiting = federation.members().into_iter().filter(|member| member.client >= LOUD);
    let most = waiting.map(|member| member.waiting).max().unwrap();

    // Whoever begins to read gets few views, the last of them with all that was uploaded.
    let mut reader = silent.pop().unwrap();
    let (mut views, mut count) = (0, 0);
    while count < uploads * u64::from(LOUD) {
        let Some(Kind::Envelope(envelope)) = runtime.block_on(reader.next()) else { panic!("no view") };
        let sequence = envelope.sequence;
        let Ok(LinearMsg::Download { view, .. }) = message::decode(&envelope.payload) else {
            panic!("no view")
        };
        (views, count) = (views + 1, view.stats().count);
        runtime.block_on(reader.send(Kind::Confirm(Confirm { sequence, peer: None, kept: None })));
    }
    assert!(views <= 3, "{views} views for who read none of {}", uploads * u64::from(LOUD));
    let folder = federation.stop();
    drop((silent, loud));
    let owner = format!("the coordinator of federation {FEDERATION:?}");
    let (store, _) = Store::open(&folder.path().join("coordinator"), &owner, Sync::Memory).unwrap();
    let saved = store.get("queues").unwrap().unwrap();
    let queues = Queues::restore(&saved).unwrap();
    // Those who upload are owed what they had not read when they were done: signals between views.
    let owed: usize = (LOUD..LOUD + SILENT).map(|client| waiting_bytes(&queues, client)).sum();
    let longest = (0..LOUD).map(|client| queues.len(NodeId(client))).max().unwrap();
    assert!(longest <= 5 * WINDOW, "{longest} messages wait for who uploads faster than it reads");
    (most, owed)
}

#[test]
fn what_waits_for_silent_clients_is_a_view_each_however_much_others_upload() {
    let (few, many) = (burst(100), burst(1000));
    assert_eq!((few.0, many.0), (1, 1), "messages that wait for a silent client");
    let view = (DIM * (DIM + 1) / 2 + DIM) * 8;
    let bound = SILENT as usize * (view + 100);
    assert!(many.1 <= bound, "{} bytes of queues, at most {bound}", many.1);
    assert!(many.1 <= few.1 + few.1 / 4, "ten times the uploads: {} bytes after {}", many.1, few.1);
}
