//! What the paper says, checked on single machines with scripted inputs.

mod machines;
mod membership;

use cahoots_core::{Algorithm, LinearStats, Machine, Membership, NodeId, Seating, Setting};

use super::{Client, Hetofed, HetofedDr, HetofedE, HetofedPq, Server, Valid};
use crate::kit::linear::{LinearMsg, Signal};
use crate::testing::{released, step};

const DIM: usize = 2;

fn setting(users: usize) -> Setting {
    Setting::linear(users, DIM, 2).with_horizon(100)
}

fn valid<A: Algorithm<Valid = Valid>>(users: usize, params: serde_json::Value) -> Valid {
    A::check(serde_json::from_value(params).unwrap(), &setting(users)).unwrap()
}

fn client(valid: &Valid, id: u32) -> Client {
    Hetofed::client(valid, &Seating::PerUser.seat(&setting(valid.users as usize), NodeId(id)))
}

/// A server that everyone has joined.
fn server(valid: &Valid) -> Server {
    let mut server = Server::new(valid);
    for id in 0..valid.users {
        step(&mut server, 0, |s, cx| s.on_membership(Membership::Joined(NodeId(id)), cx));
    }
    server
}

fn message(server: &mut Server, from: u32, now: u64, message: LinearMsg) -> Vec<(NodeId, LinearMsg)> {
    step(server, now, |s, cx| s.on_message(NodeId(from), message, cx).unwrap())
}

fn wake(server: &mut Server, now: u64) -> Vec<(NodeId, LinearMsg)> {
    step(server, now, |s, cx| s.on_wake(cx))
}

fn request(server: &mut Server, from: u32, now: u64, number: u64) {
    let sent = message(server, from, now, LinearMsg::signal(Signal::Request, number));
    assert!(sent.is_empty(), "requests wait for the end of the step");
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

fn asked(sent: &[(NodeId, LinearMsg)]) -> Vec<u32> {
    let ask = |(to, message): &(NodeId, LinearMsg)| {
        matches!(message, LinearMsg::Signal { signal: Signal::Ask, .. }).then_some(to.0)
    };
    sent.iter().filter_map(ask).collect()
}

/// Receivers of views, with the observations in them.
fn downloads(sent: &[(NodeId, LinearMsg)]) -> Vec<(u32, u64)> {
    let download = |(to, message): &(NodeId, LinearMsg)| match message {
        LinearMsg::Download { view, .. } => Some((to.0, view.stats().count)),
        _ => None,
    };
    sent.iter().filter_map(download).collect()
}
