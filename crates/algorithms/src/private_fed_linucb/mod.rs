#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod params;
#[cfg(test)]
mod tests;

pub use params::PrivateFedLinucbParams;

use cahoots_core::{Algorithm, Claim, ParamError, Seat, Seating, Setting, Unit};

crate::private::family!(
    /// Algorithm 1 with silo-level local privacy by trees.
    PrivateFedLinucb, "private-fed-linucb",
    "Zhou and Chowdhury 2024: batches of a fixed length, noise of a tree, a ridge above the noise",
    PrivateFedLinucbParams, |params, setting| params.check(setting)
);
