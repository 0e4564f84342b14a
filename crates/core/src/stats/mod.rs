//! Sufficient statistics: what learners add up and federations merge.

mod arms;
mod linear;

pub use arms::ArmStats;
pub use linear::LinearStats;
