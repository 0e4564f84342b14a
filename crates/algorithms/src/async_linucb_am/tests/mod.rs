//! What the paper says, on single machines and in a federation driven by hand.

mod eq7;
mod federation;
mod parameters;
mod state0;

use cahoots_core::{
    Algorithm, ArmBuffer, ArmIndex, Keys, Learner, LinearStats, Machine, Membership, NodeId, Seating,
    Setting, Stream, UserId,
};
use serde_json::Value;

use super::{AsyncLinucbAm, Client, Valid};
use crate::async_linucb::Server;
use crate::kit::linear::{Chosen, LinearMsg};
use crate::testing::step;

const RIDGE: f64 = 0.1;

fn setting(dim: usize, local_dims: &[usize]) -> Setting {
    Setting::linear(local_dims.len(), dim, 4).with_local_dims(local_dims).with_horizon(100)
}

fn valid(params: Value, setting: &Setting) -> Valid {
    AsyncLinucbAm::check(serde_json::from_value(params).unwrap(), setting).unwrap()
}

fn client(params: Value, setting: &Setting, id: u32) -> Client {
    AsyncLinucbAm::client(&valid(params, setting), &Seating::PerUser.seat(setting, NodeId(id)))
}

fn random(seed: u64) -> Stream {
    Keys::from_seed(seed).policy(NodeId(0), 0)
}

/// In the unit ball, of random length.
fn vector(rng: &mut Stream, dim: usize) -> Vec<f64> {
    let raw: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
    let scale = rng.uniform() / inner(&raw, &raw).sqrt();
    raw.iter().map(|x| x * scale).collect()
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn observe(client: &mut Client, global: &[f64], local: &[f64], reward: f64) -> Vec<(NodeId, LinearMsg)> {
    let context = [global, local].concat().as_slice().into();
    step(client, 1, |c, cx| c.observe(Chosen { context }, reward, cx))
}

/// Arms with these features, global and local.
fn offer(arms: &[(Vec<f64>, Vec<f64>)]) -> ArmBuffer {
    let mut buffer = ArmBuffer::default();
    buffer.features.fill(arms[0].0.len(), arms.iter().map(|arm| arm.0.as_slice()));
    buffer.local.fill(arms[0].1.len(), arms.iter().map(|arm| arm.1.as_slice()));
    buffer
}

fn random_arms(rng: &mut Stream, dim: usize, local_dim: usize) -> Vec<(Vec<f64>, Vec<f64>)> {
    (0..4).map(|_| (vector(rng, dim), vector(rng, local_dim))).collect()
}

/// What a client would choose. Decisions with LinUCB draw nothing.
fn choice(client: &mut Client, arms: &ArmBuffer, setting: &Setting, id: u32) -> ArmIndex {
    let seat = Seating::PerUser.seat(setting, NodeId(id));
    client.choose(UserId(id), arms.arm_set(&seat).unwrap(), &mut random(0)).arm()
}

/// A federation driven by hand, with a record of all that was sent.
struct Federation {
    setting: Setting,
    clients: Vec<Client>,
    server: Server,
    joined: Vec<bool>,
    sent: Vec<(NodeId, NodeId, LinearMsg)>,
}

impl Federation {
    fn new(params: Value, setting: Setting) -> Self {
        let valid = valid(params, &setting);
        let seat = |id| Seating::PerUser.seat(&setting, id);
        let clients: Vec<Client> =
            (0..setting.users as u32).map(|id| AsyncLinucbAm::client(&valid, &seat(NodeId(id)))).collect();
        let server = AsyncLinucbAm::server(&valid, &seat(NodeId::SERVER));
        Federation { joined: vec![false; clients.len()], clients, server, sent: vec![], setting }
    }

    /// Client `id` chooses among `arms` and is paid; the chosen arm.
    fn pull(
        &mut self,
        id: u32,
        arms: &[(Vec<f64>, Vec<f64>)],
        reward: impl FnOnce(&[f64], &[f64]) -> f64,
    ) -> usize {
        let index = id as usize;
        if !std::mem::replace(&mut self.joined[index], true) {
            let sent = step(&mut self.server, 1, |s, cx| s.on_membership(Membership::Joined(NodeId(id)), cx));
            self.deliver(NodeId::SERVER, sent);
        }
        let arm = choice(&mut self.clients[index], &offer(arms), &self.setting, id).index();
        let (global, local) = &arms[arm];
        let reward = reward(global, local);
        let sent = observe(&mut self.clients[index], global, local, reward);
        self.deliver(NodeId(id), sent);
        arm
    }

    fn deliver(&mut self, from: NodeId, messages: Vec<(NodeId, LinearMsg)>) {
        for (to, message) in messages {
            self.sent.push((from, to, message.clone()));
            let answers = if to == NodeId::SERVER {
                step(&mut self.server, 1, |s, cx| s.on_message(from, message, cx).unwrap())
            } else {
                step(&mut self.clients[to.index()], 1, |c, cx| c.on_message(from, message, cx).unwrap())
            };
            self.deliver(to, answers);
        }
    }

    fn uploads(&self) -> Vec<(NodeId, &LinearStats)> {
        self.sent
            .iter()
            .filter_map(|(from, _, message)| match message {
                LinearMsg::Upload { stats, .. } => Some((*from, stats.get())),
                _ => None,
            })
            .collect()
    }
}
