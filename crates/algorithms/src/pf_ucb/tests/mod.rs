//! What the paper says, checked on scripted inputs and on small federations.

mod bounds;
mod client;
mod enhanced;
mod learnt;
mod membership;
mod params;
mod server;
mod wire;

use cahoots_core::{Algorithm, ArmIndex, ArmSet, Keys, Learner, Machine, NodeId, Seating, Setting, UserId};
use serde_json::Value;

use super::{Client, PfUcb, PfUcbEnhanced, Server, Valid};
use crate::kit::arms::{ActiveArms, ArmMsg, ArmValues};
use crate::testing::step;

fn setting(clients: usize, arms: usize, horizon: u64) -> Setting {
    Setting::k_armed(clients, arms).with_horizon(horizon).with_reward_noise(1.0)
}

/// The 4 x 9 game of Appendix E.
fn printed_game() -> Vec<Vec<f64>> {
    vec![
        vec![1.0, 0.0, 0.0, 0.0, 0.9, 0.4, 0.35, 0.35, 0.5],
        vec![0.0, 1.0, 0.0, 0.0, 0.3, 0.9, 0.35, 0.3, 0.5],
        vec![0.0, 0.0, 1.0, 0.0, 0.35, 0.35, 0.9, 0.3, 0.5],
        vec![0.0, 0.0, 0.0, 1.0, 0.4, 0.3, 0.35, 0.9, 0.5],
    ]
}

fn valid(params: Value, setting: &Setting) -> Valid {
    PfUcb::check(serde_json::from_value(params).unwrap(), setting).unwrap()
}

fn valid_enhanced(params: Value, setting: &Setting) -> Valid {
    PfUcbEnhanced::check(serde_json::from_value(params).unwrap(), setting).unwrap()
}

fn client(valid: &Valid, setting: &Setting, id: u32) -> Client {
    PfUcb::client(valid, &Seating::PerUser.seat(setting, NodeId(id)))
}

fn server(valid: &Valid, setting: &Setting) -> Server {
    PfUcb::server(valid, &Seating::PerUser.seat(setting, NodeId::SERVER))
}

/// One decision without its reward.
fn decide(client: &mut Client, arms: usize) -> (ArmIndex, crate::kit::arms::Pull) {
    let mut rng = Keys::from_seed(0).choice(NodeId(0), 1);
    let choice = client.choose(UserId(0), ArmSet::plain(arms).unwrap(), &mut rng);
    step(client, 1, |c, cx| c.commit(&choice.pending, cx));
    (choice.arm(), choice.pending)
}

/// A decision and its reward; what was sent.
fn pull(client: &mut Client, means: &[f64]) -> (u32, Vec<(NodeId, ArmMsg)>) {
    let (arm, pending) = decide(client, means.len());
    (arm.0, step(client, 1, |c, cx| c.observe(pending, means[arm.index()], cx)))
}

/// Pulls until something is sent; the arms that were pulled, and what was sent.
fn explore(client: &mut Client, means: &[f64]) -> (Vec<u32>, Vec<(NodeId, ArmMsg)>) {
    let mut pulled = Vec::new();
    loop {
        let (arm, sent) = pull(client, means);
        pulled.push(arm);
        if !sent.is_empty() {
            return (pulled, sent);
        }
        assert!(pulled.len() < 100_000, "nothing is ever sent");
    }
}

/// The server's answer to a client, which must take it.
fn tell(client: &mut Client, message: ArmMsg) -> Vec<(NodeId, ArmMsg)> {
    step(client, 1, |c, cx| c.on_message(NodeId::SERVER, message, cx).unwrap())
}

fn arms(arms: &[u32]) -> Vec<ArmIndex> {
    arms.iter().map(|arm| ArmIndex(*arm)).collect()
}

fn means(phase: u64, of: &[u32], values: &[f64]) -> ArmMsg {
    ArmMsg::Download(ArmValues::new(phase, arms(of), values.to_vec()).into())
}

fn active(phase: u64, of: &[u32]) -> ArmMsg {
    ArmMsg::DownloadActive(ActiveArms { phase, arms: arms(of) }.into())
}

/// The active set in what a client sent last.
fn reduced(sent: &[(NodeId, ArmMsg)]) -> Vec<u32> {
    let Some((NodeId::SERVER, ArmMsg::UploadActive { active, .. })) = sent.last() else { panic!("{sent:?}") };
    active.get().arms.iter().map(|arm| arm.0).collect()
}
