//! What the papers say, checked on small federations with scripted inputs; propensities against frequencies.

use cahoots_core::{
    Algorithm, ArmBuffer, ArmSet, Keys, Learner, LinearStats, Machine, Membership, NodeId, Prior, Ruling,
    Seat, Seating, Setting, Tiles, UserId, View,
};
use serde_json::json;

use super::{Client, FedIgw, Server, Taken, Valid};
use crate::kit::linear::{LinearMsg, Signal};
use crate::testing::{released, step};

mod client;
mod federation;
mod rules;
mod server;

const DIM: usize = 3;
const ARMS: usize = 4;

fn setting() -> Setting {
    Setting::linear(3, DIM, ARMS).with_horizon(100)
}

fn valid(params: serde_json::Value) -> Valid {
    FedIgw::check(serde_json::from_value(params).unwrap(), &setting()).unwrap()
}

fn client(valid: &Valid, id: u32) -> Client {
    FedIgw::client(valid, &Seating::PerUser.seat(&setting(), NodeId(id)))
}

fn server(valid: &Valid, joined: u32) -> Server {
    let mut server = FedIgw::server(valid, &Seating::PerUser.seat(&setting(), NodeId::SERVER));
    (0..joined).for_each(|id| assert!(join(&mut server, id).is_empty()));
    server
}

fn join(server: &mut Server, id: u32) -> Vec<(NodeId, LinearMsg)> {
    step(server, 1, |s, cx| s.on_membership(Membership::Joined(NodeId(id)), cx))
}

fn leave(server: &mut Server, id: u32) -> Vec<(NodeId, LinearMsg)> {
    step(server, 1, |s, cx| s.on_membership(Membership::Left(NodeId(id)), cx))
}

fn say(server: &mut Server, from: u32, now: u64, message: LinearMsg) -> Vec<(NodeId, LinearMsg)> {
    step(server, now, |s, cx| s.on_message(NodeId(from), message, cx).unwrap())
}

fn take(client: &mut Client, message: LinearMsg) -> Vec<(NodeId, LinearMsg)> {
    step(client, 1, |c, cx| c.on_message(NodeId::SERVER, message, cx).unwrap())
}

fn over(epoch: u64) -> LinearMsg {
    LinearMsg::signal(Signal::Request, epoch)
}

fn stats(x: [f64; DIM], reward: f64, times: u32) -> LinearStats {
    let mut stats = LinearStats::empty(DIM);
    (0..times).for_each(|_| stats.observe(&x, reward));
    stats
}

fn upload(number: u64, stats: LinearStats) -> LinearMsg {
    LinearMsg::Upload { number, stats: released(stats) }
}

/// A model of so many observations, by which arms along the first axis pay more.
fn model(version: u64, observations: u32) -> LinearMsg {
    LinearMsg::Download { view: View::new(version, stats([0.6, 0.3, 0.1], 0.7, observations)), merged: 0 }
}

fn observe(client: &mut Client, epoch: u64, x: [f64; DIM], reward: f64) -> Vec<(NodeId, LinearMsg)> {
    let taken = Taken { context: x.as_slice().into(), epoch };
    step(client, 1, |c, cx| c.observe(taken, reward, cx))
}

/// What was sent, in short: `Ask 1`, `view of 4`, `Phase 2`.
fn short(sent: &[(NodeId, LinearMsg)]) -> Vec<(u32, String)> {
    let words = |message: &LinearMsg| match message {
        LinearMsg::Signal { signal, number } => format!("{signal:?} {number}"),
        LinearMsg::Download { view, .. } => format!("view of {}", view.stats().count),
        LinearMsg::Upload { stats, .. } => format!("upload of {}", stats.get().count),
        other => format!("{other:?}"),
    };
    sent.iter().map(|(to, message)| (to.0, words(message))).collect()
}

fn to_all(clients: &[u32], words: &[&str]) -> Vec<(u32, String)> {
    clients.iter().flat_map(|&client| words.iter().map(move |word| (client, (*word).to_owned()))).collect()
}

fn arms() -> Tiles {
    let mut arms = Tiles::new(DIM);
    [[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]]
        .iter()
        .for_each(|arm| arms.push(arm));
    arms
}

/// A client in the second epoch, by a model of so many observations.
fn in_second_epoch(params: serde_json::Value, observations: u32) -> Client {
    let mut client = client(&valid(params), 0);
    take(&mut client, model(1, observations));
    take(&mut client, LinearMsg::signal(Signal::Phase, 2));
    client
}
