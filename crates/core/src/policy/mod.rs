//! How a learner turns what it knows into a choice. Policies hold no data: they
//! read a model and draw from the stream of the decision.

mod arms;
mod distribution;
mod linear;
mod pick;
mod radius;
mod rule;
#[cfg(test)]
mod tests;

pub use arms::{ArmPolicy, BetaSampling, ByMeans, Exp3, KlUcb, Moss, Ucb1};
pub use distribution::Distribution;
pub use linear::{LinearModel, LinearPolicy};
pub use pick::{pick, pick_open};
pub use radius::{Confidence, Radius};
pub use rule::{Base, Leaning, Mixture, PolicyKind, Rule};
