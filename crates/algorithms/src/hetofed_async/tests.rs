//! What is promised, checked on single machines with scripted inputs.

mod membership;
mod serving;

use cahoots_core::drive::snapshot;
use cahoots_core::{Algorithm, Learner, LinearStats, Machine, Membership, NodeId, Ruling, Seating, Setting};
use serde_json::{Value, json};

use super::{Client, HetofedAsync, Server, Valid};
use crate::kit::linear::{Chosen, LinearMsg, Signal};
use crate::testing::{released, step};

const DIM: usize = 2;

type Sent = Vec<(NodeId, LinearMsg)>;

fn setting(users: usize) -> Setting {
    Setting::linear(users, DIM, 2).with_horizon(100)
}

fn valid(users: usize, params: Value) -> Valid {
    HetofedAsync::check(serde_json::from_value(params).unwrap(), &setting(users)).unwrap()
}

fn client(params: Value) -> Client {
    HetofedAsync::client(&valid(3, params), &Seating::PerUser.seat(&setting(3), NodeId(0)))
}

fn observe(client: &mut Client, x: [f64; DIM], reward: f64) -> Sent {
    let pending = Chosen { context: x.as_slice().into() };
    let mut sent = step(client, 1, |c, cx| c.commit(&pending, cx));
    sent.extend(step(client, 1, |c, cx| c.observe(pending, reward, cx)));
    sent
}

fn tell(client: &mut Client, message: LinearMsg) -> Sent {
    step(client, 1, |c, cx| c.on_message(NodeId::SERVER, message, cx).unwrap())
}

fn join(server: &mut Server, id: u32, now: u64) -> Sent {
    step(server, now, |s, cx| s.on_membership(Membership::Joined(NodeId(id)), cx))
}

fn leave(server: &mut Server, id: u32, now: u64) -> Sent {
    step(server, now, |s, cx| s.on_membership(Membership::Left(NodeId(id)), cx))
}

fn rule(server: &mut Server, ruling: Ruling, now: u64) -> Sent {
    step(server, now, |s, cx| s.on_ruling(ruling, cx))
}

fn say(server: &mut Server, from: u32, now: u64, message: LinearMsg) -> Sent {
    step(server, now, |s, cx| s.on_message(NodeId(from), message, cx).unwrap())
}

fn wake(server: &mut Server, now: u64) -> Sent {
    step(server, now, |s, cx| s.on_wake(cx))
}

/// `n` observations of each axis, rewards 1 on the first and `second` on the other.
fn data(n: u32, second: f64) -> LinearStats {
    let mut stats = LinearStats::empty(DIM);
    for _ in 0..n {
        stats.observe(&[1.0, 0.0], 1.0);
        stats.observe(&[0.0, 1.0], second);
    }
    stats
}

fn upload(number: u64, stats: LinearStats) -> LinearMsg {
    LinearMsg::Upload { number, stats: released(stats) }
}

/// An upload, and the wish to be found clusters by it.
fn enter(server: &mut Server, id: u32, now: u64, number: u64, stats: LinearStats) -> Sent {
    let mut sent = say(server, id, now, upload(number, stats));
    sent.extend(say(server, id, now, LinearMsg::signal(Signal::Request, number)));
    sent
}

/// A server whose clients have explored: `data(20, second)` of each. The rewards decide who is similar.
fn clustered(seconds: &[f64]) -> Server {
    clustered_with(json!({}), seconds)
}

fn clustered_with(params: Value, seconds: &[f64]) -> Server {
    let valid = valid(seconds.len(), params);
    let mut server = HetofedAsync::server(&valid, &Seating::PerUser.seat(&setting(3), NodeId::SERVER));
    for (id, &second) in seconds.iter().enumerate() {
        join(&mut server, id as u32, 1);
        enter(&mut server, id as u32, 1, 1, data(20, second));
    }
    wake(&mut server, 2);
    server
}

/// 0 and 1 are similar, 1 and 2 are, 0 and 2 are not: two clusters that overlap in client 1.
const CHAIN: [f64; 3] = [0.0, 0.12, 0.24];

/// Receivers of views, the observations in them, and the last of the receiver's uploads among these.
fn downloads(sent: &Sent) -> Vec<(u32, u64, u64)> {
    let download = |(to, message): &(NodeId, LinearMsg)| match message {
        LinearMsg::Download { view, merged } => Some((to.0, view.stats().count, *merged)),
        _ => None,
    };
    sent.iter().filter_map(download).collect()
}

fn sizes_told(sent: &Sent) -> Vec<(u32, Vec<u32>)> {
    let told = |(to, message): &(NodeId, LinearMsg)| match message {
        LinearMsg::Clusters { sizes, .. } => Some((to.0, sizes.clone())),
        _ => None,
    };
    sent.iter().filter_map(told).collect()
}

/// Uploads by the observations in them, and requests by their number.
fn said(sent: &Sent) -> (Vec<u64>, Vec<u64>) {
    let (mut uploads, mut requests) = (Vec::new(), Vec::new());
    for (_, message) in sent {
        match message {
            LinearMsg::Upload { stats, .. } => uploads.push(stats.get().count),
            LinearMsg::Signal { signal: Signal::Request, number } => requests.push(*number),
            other => panic!("{other:?}"),
        }
    }
    (uploads, requests)
}
