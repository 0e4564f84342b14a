//! How a learner turns what it knows into a choice. Policies hold no data: they
//! read a model and draw from the stream of the decision.

mod linear;
mod pick;
mod radius;
mod ucb1;

pub use linear::{LinearModel, LinearPolicy, PolicyKind};
pub use pick::pick;
pub use radius::{Confidence, Radius};
pub use ucb1::Ucb1;

use crate::ids::ArmIndex;
use crate::rng::Stream;

/// Any arm, each as likely.
pub fn uniform(arms: usize, rng: &mut Stream) -> ArmIndex {
    ArmIndex(rng.below(arms as u64) as u32)
}
