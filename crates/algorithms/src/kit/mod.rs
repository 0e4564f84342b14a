//! Kits: what two or more algorithms share. An algorithm's own folder holds what its paper says.

mod alone;
pub mod arms;
pub mod clusters;
mod groups;
pub mod linear;
mod patience;

pub use alone::{ALONE, Alone, Solitary};
pub use groups::GroupParams;
pub use patience::PatienceParams;
