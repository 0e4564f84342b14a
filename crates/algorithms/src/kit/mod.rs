//! Kits: what two or more algorithms share. An algorithm's own folder holds what its paper says.

pub mod arms;
pub mod clusters;
mod groups;
pub mod linear;
mod patience;

pub use groups::GroupParams;
pub use patience::PatienceParams;

/// [`cahoots_core::Algorithm::MEMBERSHIP`] of those who exchange nothing.
pub const ALONE: &str = "Nobody waits for anybody: learners exchange nothing. One that comes back with a fresh machine starts from nothing.";
