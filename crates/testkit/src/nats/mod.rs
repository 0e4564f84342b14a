//! Coordinators whose log NATS servers keep: the servers as processes, lines between the two that lose what they are told to lose, and
//! rounds of faults over all of it. Everything is started and stopped here, on loopback or at addresses that a test gives.

mod client;
mod cluster;
mod frames;
mod monitor;
mod program;
mod proxy;

pub use client::{Heard, RawClient};
pub use cluster::{NatsCluster, Place};
pub use monitor::{Replica, StreamView};
pub use program::program;
pub use proxy::{NatsProxy, Passed};

use std::net::SocketAddr;

/// Addresses of servers, or of proxies before them, as `log` in a coordinator's file has them.
pub fn log_url(addresses: impl Iterator<Item = SocketAddr>) -> String {
    let addresses: Vec<String> = addresses.map(|address| address.to_string()).collect();
    format!("nats://{}", addresses.join(","))
}
