//! A federation in memory: worlds with an oracle, arrivals, a network with
//! faults, and the driver that runs machines to their last bit of determinism.

pub mod arrivals;
pub mod catalogue;
pub mod draw;
pub mod driver;
pub mod environment;
pub mod files;
pub mod ledger;
pub mod memory;
pub mod network;
pub mod poison;
pub mod rewards;
pub mod run;
pub mod simulated;
pub mod world;
pub mod worlds;
