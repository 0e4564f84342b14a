//! The app's side: its own names for arms and decisions, several at once, parts of rewards, what comes late or never.

mod apprentice;
mod by_id;
mod credit;
mod events;
mod over_http;
mod personalizer;
mod ranking;
mod record;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cahoots_algorithms::async_linucb::AsyncLinucb;
use cahoots_algorithms::disjoint_linucb::DisjointLinucb;
use cahoots_algorithms::dp_mab::DdpMab;
use cahoots_algorithms::exp3_alone::Exp3Alone;
use cahoots_algorithms::linucb_alone::LinucbShared;
use cahoots_algorithms::ucb_alone::UcbAlone;
use cahoots_core::Setting;
use cahoots_node::client::{Arms, Ask, Client, ClientConfig, NamedArm, NewArm, Registered, Reply};
use cahoots_node::store::Sync;
use cahoots_node::{Known, NodeError};

use crate::common::{FEDERATION, terms};

/// Of all kinds: with features and without, with masks and without, for one user and for many.
fn known() -> Arc<Known> {
    let known = Known::default().algorithm::<AsyncLinucb>().algorithm::<DdpMab>().algorithm::<Exp3Alone>();
    Arc::new(known.algorithm::<UcbAlone>().algorithm::<DisjointLinucb>().algorithm::<LinucbShared>())
}

/// A client on its own, with its store in this folder.
fn config(folder: &Path, algorithm: &str, params: &str, setting: Setting) -> ClientConfig {
    let terms = terms(&known(), algorithm, params, setting);
    let builder = Client::builder(known(), FEDERATION, 0).store(folder.join("client")).sync(Sync::Memory);
    builder.terms(terms).tick(Duration::from_millis(5)).config()
}

/// Two features, rewards between 0 and 1.
fn linear(folder: &Path) -> ClientConfig {
    let setting = Setting::linear(1, 2, 3).with_reward_range((0.0, 1.0));
    config(folder, "async-linucb", "upload_ratio = inf", setting)
}

fn open(config: &ClientConfig) -> Client {
    Client::open(config.clone()).unwrap()
}

/// What a kill leaves, in a folder of its own: all files of the store as they lie there.
fn killed(config: &ClientConfig, to: &Path) -> ClientConfig {
    let folder = config.store.parent().unwrap();
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    ClientConfig { store: to.join(config.store.file_name().unwrap()), ..config.clone() }
}

const RED: NamedArm<'_> = NamedArm { id: "red", features: Some(&[1.0, 0.0]) };
const BLUE: NamedArm<'_> = NamedArm { id: "blue", features: Some(&[0.0, 1.0]) };
const COLOURS: [NamedArm<'_>; 2] = [RED, BLUE];

/// One of the colours, under this name.
fn visit<'a>(event: &'a str) -> Ask<'a> {
    Ask { event: Some(event), ..Ask::of(Arms::Named(&COLOURS)) }
}

fn features<'a>(id: &'a str, features: &'a [f64]) -> NewArm<'a> {
    NewArm { id, is: Registered::Features(features) }
}

fn index(id: &str, index: u32) -> NewArm<'_> {
    NewArm { id, is: Registered::Index(index) }
}

/// The words of a refusal, which must hold all of these.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, NodeError>, words: &[&str]) {
    let error = result.expect_err("it should be refused").to_string();
    for word in words {
        assert!(error.contains(word), "{word:?} is not in {error:?}");
    }
}

fn arm(reply: &Reply) -> String {
    reply.taken.arm.to_string()
}
