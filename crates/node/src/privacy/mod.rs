//! What a client lets go of its users' data: the most that its owner allows ([`Ceiling`]), what has been spent
//! ([`Account`]), and both in words ([`PrivacyStatus`]). The coordinator is not believed in any of this: it may name other
//! terms, change parameters, or ask again and again.

mod account;
mod ceiling;
mod status;

use cahoots_core::{Claim, Unit};

pub use account::Account;
pub use ceiling::Ceiling;
pub use status::{PrivacyStatus, PromiseStatus};

/// What terms promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Promised {
    /// What the algorithm claims; none where it claims nothing.
    pub claim: Option<Claim>,
    /// What one protected unit is.
    pub unit: Unit,
}

impl Promised {
    /// The delta at which losses are stated.
    pub fn delta(&self) -> f64 {
        self.claim.as_ref().map_or(ceiling::USUAL_DELTA, |claim| claim.delta)
    }
}
