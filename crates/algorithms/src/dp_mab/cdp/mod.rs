//! cdp-mab: clients around a server (Algorithm 1).

mod client;

pub use client::Client;
