//! A client that is its app's apprentice: nobody better is displaced, whoever is worse is; over kills, late rewards and lost ones.

mod keeping;
mod odds;
mod over_http;
mod promise;
mod refusals;

use std::path::Path;

use cahoots_core::{Keys, NodeId, Setting, Stream};
use cahoots_node::client::{
    ApprenticeConfig, ApprenticeStatus, ArmRef, Arms, Ask, Client, ClientConfig, Decider, Mode, Reply,
};
use cahoots_node::{NodeError, Terms};

use super::{config, killed, known, open, refused};

/// Three arms: what they earn on average is the world's to know.
const ARMS: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// An apprentice with this seed, on its own.
fn apprentice(folder: &Path, seed: u64) -> ClientConfig {
    let setting = Setting::linear(1, 3, 3).with_reward_range((0.0, 1.0)).with_reward_noise(0.5);
    let params = "upload_ratio = inf".parse().unwrap();
    let terms = Terms::new(&known(), "async-linucb", &params, setting.clone(), seed).unwrap();
    let usual = config(folder, "async-linucb", "upload_ratio = inf", setting);
    let apprentice = ApprenticeConfig { explore: 0.3, ..ApprenticeConfig::default() };
    ClientConfig { terms: Some(terms), apprentice: Some(apprentice), ..usual }
}

/// One decision of an app that would take this arm.
fn ask(client: &Client, baseline: u32) -> Result<Reply, NodeError> {
    let rows = ARMS.map(|row| row.to_vec());
    client.ask(&Ask { baseline: Some(&ArmRef::Position(baseline)), ..Ask::of(Arms::Features(&rows)) })
}

fn taken(reply: &Reply) -> usize {
    match reply.taken.arm {
        ArmRef::Position(position) => position as usize,
        ArmRef::Id(_) => panic!("no ids were offered"),
    }
}

/// Decides and rewards, by what arms earn on average.
fn live(client: &Client, world: &mut Stream, means: [f64; 3], baseline: u32) -> Reply {
    let reply = ask(client, baseline).unwrap();
    let reward = f64::from(world.uniform() < means[taken(&reply)]);
    client.reward(reply.id, reward).unwrap();
    reply
}

fn world(seed: u64) -> Stream {
    Keys::from_seed(seed).policy(NodeId(7), 0)
}

fn status(client: &Client) -> ApprenticeStatus {
    client.apprentice().expect("it is one")
}

fn in_charge(client: &Client) -> bool {
    status(client).mode == Mode::InCharge
}
