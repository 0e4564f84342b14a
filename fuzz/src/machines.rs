//! What machines are told by others, and what they are restored from.

use cahoots_core::NodeId;
use cahoots_core::drive::{Event, Node};
use cahoots_core::link::Ends;

use crate::federation::{Federation, KEYS, chosen, take};

/// A payload from a client at a server that has run for a while.
pub fn server(bytes: &[u8]) {
    let Some((federation, payload)) = chosen(bytes) else { return };
    let made = |state: &[u8]| federation.server(Some(state)).expect("it was saved");
    tell(&mut *made(&federation.server), &mut *made(&federation.server), NodeId(0), payload);
}

/// A payload from the server at a client that has run for a while.
pub fn client(bytes: &[u8]) {
    let Some((federation, payload)) = chosen(bytes) else { return };
    let made = |state: &[u8]| federation.client(Some(state)).expect("it was saved");
    tell(&mut *made(&federation.client), &mut *made(&federation.client), NodeId::SERVER, payload);
}

/// Whatever comes of a message, a replay of the log does the same.
fn tell<N: Node + ?Sized>(told: &mut N, replayed: &mut N, from: NodeId, payload: &[u8]) {
    let Ends { received, .. } = told.ends(from);
    let message = Event::Message { from, sequence: received + 1, skipped: 0, message: payload.to_vec() };
    let mut log = Vec::new();
    take(told, 50, message, &mut log);
    for entry in &log {
        replayed.replay(entry, &KEYS).expect("what was logged can be replayed");
    }
    assert!(told.save() == replayed.save(), "a replay comes out elsewhere");
}

/// A state that a server or a client is to be restored from: what it makes of it, it can save.
pub fn snapshot(bytes: &[u8]) {
    let Some((federation, state)) = chosen(bytes) else { return };
    if let Some(server) = federation.server(Some(state)) {
        let _ = server.save();
    }
    if let Some(client) = federation.client(Some(state)) {
        let _ = client.save();
    }
}

/// A log entry.
pub fn entry(bytes: &[u8]) {
    let Some((federation, entry)) = chosen(bytes) else { return };
    let nodes = |Federation { server, client, .. }: &Federation| {
        (federation.server(Some(server)), federation.client(Some(client)))
    };
    let (server, client) = nodes(federation);
    let _ = server.expect("it was saved").replay(entry, &KEYS);
    let _ = client.expect("it was saved").replay(entry, &KEYS);
}
