//! How a learner turns what it knows into a choice. Policies hold no data: they
//! read a model and draw from the stream of the decision.

mod linear;
mod pick;
mod radius;
mod ucb1;

pub use linear::{LinearModel, LinearPolicy, PolicyKind, pick_open};
pub use pick::pick;
pub use radius::{Confidence, Radius};
pub use ucb1::Ucb1;
