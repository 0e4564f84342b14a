//! Kits: what two or more algorithms share. An algorithm's own folder holds what its paper says.

pub mod arms;
pub mod clusters;
pub mod linear;
mod patience;

pub use patience::PatienceParams;
