//! ddp-mab: clients on a graph, without a server (Algorithm 3).

mod client;
mod gis;
mod synchroniser;

pub use client::Client;
pub use synchroniser::Synchroniser;
