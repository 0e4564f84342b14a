//! What the linear algorithms share: their common parameters, their messages,
//! and a learner that keeps to itself.

mod alone;
mod message;
mod params;
mod ratio;

pub use alone::AloneClient;
pub use message::{LinearMsg, Signal};
pub use params::{Fidelity, LinearParams, LinearValid};
pub use ratio::{Ratio, Ratios};

use cahoots_core::Context;
use serde::{Deserialize, Serialize};

/// What a linear decision keeps until its reward comes: the chosen context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// Features of the chosen arm.
    pub context: Context,
}
