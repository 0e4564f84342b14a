//! hdp-mab: components that collect at a sink, and a server that talks to sinks (Algorithms 4 and 5).

mod client;
pub(super) mod sinks;

pub use client::Client;
