//! Suites that every algorithm must pass, whatever it computes: the promises of
//! the contract, checked in small federations.

pub mod crash;
pub mod numbers;
pub mod probe;
pub mod scenarios;
pub mod suite;
pub mod trail;
pub mod verdict;
