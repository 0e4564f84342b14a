//! Suites that every algorithm must pass, whatever it computes: the promises of
//! the contract, checked in small federations; and federations of real processes, in the simulator's order
//! or under kills.

pub mod crash;
pub mod crowd;
pub mod faults;
pub mod lockstep;
pub mod nats;
pub mod numbers;
pub mod probe;
pub mod proxy;
pub mod scenarios;
pub mod soak;
pub mod stream;
pub mod suite;
pub mod trail;
pub mod verdict;
pub mod witness;

use cahoots_algorithms::registry::ours;
use cahoots_core::Registry;
use cahoots_sim::catalogue::Catalogue;

/// The suites of our algorithms. Compiled here, once for all tests.
pub fn suites() -> Registry<suite::Suite> {
    ours()
}

/// Our algorithms in the simulator, and our worlds. Compiled here, once for all tests.
pub fn catalogue() -> Catalogue {
    Catalogue::new(ours())
}
