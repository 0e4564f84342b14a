//! cdp-mab: clients around a server (Algorithm 1).

mod client;
mod grouped;

pub use client::Client;
