//! What algorithms that cluster users share: who sits where, who may be alike, what a cluster knows.

mod alike;
mod knowledge;
mod users;

pub use alike::Alike;
pub use knowledge::Knowledge;
pub use users::{ChosenFor, distance, novelty, reach, users_by_host};
