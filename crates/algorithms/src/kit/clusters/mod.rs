//! What algorithms that cluster users share: who sits where, who may be alike, what a cluster knows.

mod alike;
mod cliques;
mod exploration;
mod knowledge;
mod pairs;
mod threshold;
mod users;

pub use alike::Alike;
pub use cliques::Clusters;
pub use exploration::{Doubling, Exploration, Theory, Unit};
pub(crate) use exploration::{Plan, RandomPulls};
pub use knowledge::Knowledge;
pub(crate) use pairs::Constants;
pub use pairs::{Bound, NamedBound, TestParams};
pub use threshold::SyncThreshold;
pub(crate) use threshold::Threshold;
pub use users::{ChosenFor, distance, novelty, reach, users_by_host};
