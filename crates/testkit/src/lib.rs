//! Suites that every algorithm must pass, whatever it computes: the promises of
//! the contract, checked in small federations; and federations of real processes, in the simulator's order
//! or under kills.

pub mod crash;
pub mod lockstep;
pub mod numbers;
pub mod probe;
pub mod scenarios;
pub mod soak;
pub mod suite;
pub mod trail;
