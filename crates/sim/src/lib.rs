//! A federation in memory: worlds with an oracle, arrivals, a network with
//! faults, and the driver that runs machines to their last bit of determinism.

pub mod draw;
pub mod world;
