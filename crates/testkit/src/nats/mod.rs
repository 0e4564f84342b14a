//! Coordinators whose log NATS servers keep: the servers as processes, lines between the two that lose what they are told to lose, and
//! rounds of faults over all of it. Everything is started and stopped here, on loopback or at addresses that a test gives.

mod apps;
mod asker;
mod audit;
mod client;
mod clock;
mod cluster;
pub mod command;
mod coordinators;
mod disaster;
mod fault;
mod frames;
mod monitor;
mod outputs;
mod program;
mod proxy;
mod round;
mod routes;
mod trouble;
mod watch;

use std::net::SocketAddr;

pub use apps::{Apps, POWERS, merged, serve};
pub use asker::{Asker, Digest, Replica};
pub use audit::{balance, same_state};
pub use client::{Heard, RawClient};
pub use cluster::{NatsCluster, Place};
pub use coordinators::{Coordinators, Serving};
pub use fault::{Fault, Server};
pub use monitor::{Peer, StreamView};
pub use outputs::{Outputs, Said};
pub use program::program;
pub use proxy::{NatsProxy, Passed};
pub use round::{NatsRound, Outcome};
pub use trouble::Harm;
pub use watch::{Seen, Watch};

/// Addresses of servers, or of proxies before them, as `log` in a coordinator's file has them.
pub fn log_url(addresses: impl Iterator<Item = SocketAddr>) -> String {
    let addresses: Vec<String> = addresses.map(|address| address.to_string()).collect();
    format!("nats://{}", addresses.join(","))
}
