//! Kits: what two or more algorithms share. An algorithm's own folder holds what its paper says.

mod alone;
pub mod arms;
pub mod clusters;
mod groups;
mod lengths;
pub mod linear;
mod patience;

pub use alone::{ALONE, Alone, Solitary};
pub use groups::GroupParams;
pub(crate) use lengths::Lengths;
pub use lengths::PhaseLengths;
pub use patience::PatienceParams;
