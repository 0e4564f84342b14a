//! The contract between learners, coordinators and the drivers around them, and
//! the mathematics that all algorithms share.
//!
//! Nothing here reads a clock, a socket, a file or a global source of
//! randomness: a [`Machine`] takes an input and writes its effects into a
//! [`Cx`]. Drivers (the simulator, the deployment) do the rest.

pub mod apprentice;
pub mod buffered;
mod components;
pub mod contract;
pub mod drive;
pub mod error;
pub mod exchanged;
pub mod fingerprint;
pub mod gain;
pub mod gather;
pub mod graph;
pub mod homogeneity;
pub mod ids;
pub mod linalg;
pub mod plan;
pub mod plausible;
pub mod policy;
pub mod rng;
pub mod stats;
pub mod topology;
pub mod view;
pub mod wire;

pub use buffered::Buffered;
pub use cahoots_kernel::{Factor, LARGEST, Rows, Scores, Tiles};
pub use contract::arms::{self, ArmBuffer, ArmName, ArmSet, Context};
pub use contract::choice::{Choice, Picked};
pub use contract::context::{Cx, Effects};
pub use contract::custom::{self, Custom};
pub use contract::fact::Fact;
pub use contract::learnt::{ArmMean, Estimate, KnownArm, Learnt, Sure};
pub use contract::machine::{Algorithm, Learner, Machine, Membership, ReadFile, Ruling, Silent, Traffic};
pub use contract::message::{self, Kind, Message, Silence};
pub use contract::prior::Prior;
pub use contract::private::{
    Arrived, Claim, Composition, Mechanism, Noise, Private, ReleaseFact, Unit, Unprotected,
};
pub use contract::registry::{Erase, Registry};
pub use contract::setting::{Seat, Seating, Seats, Setting};
pub use drive::decision::{self, DecisionId, Outstanding};
pub use drive::link;
pub use drive::snapshot;
pub use error::{Misbehaviour, ParamError};
pub use exchanged::Exchanged;
pub use fingerprint::fingerprint;
pub use gain::Alone;
pub use gather::{Gather, Patience};
pub use ids::{ArmIndex, NodeId, Tick, UserId};
pub use linalg::Symmetric;
pub use plausible::Plausible;
pub use rng::{Keys, Positions, Stream};
pub use stats::{ArmStats, LinearStats};
pub use topology::Topology;
pub use view::View;
