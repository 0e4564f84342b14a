//! The contract between learners, coordinators and the drivers around them, and
//! the mathematics that all algorithms share.
//!
//! Nothing here reads a clock, a socket, a file or a global source of
//! randomness: a [`Machine`] takes an input and writes its effects into a
//! [`Cx`]. Drivers (the simulator, the deployment) do the rest.

pub mod arms;
pub mod buffered;
pub mod context;
pub mod decision;
pub mod error;
pub mod fingerprint;
pub mod gather;
pub mod graph;
pub mod homogeneity;
pub mod host;
pub mod ids;
pub mod linalg;
pub mod link;
pub mod machine;
pub mod message;
pub mod plan;
pub mod policy;
pub mod private;
pub mod rng;
pub mod setting;
pub mod snapshot;
pub mod stats;
pub mod topology;
pub mod view;
pub mod wire;

pub use arms::{ArmBuffer, ArmSet, Context};
pub use buffered::Buffered;
pub use cahoots_kernel::{Factor, Scores, Tiles};
pub use context::{Cx, Effects};
pub use decision::{DecisionId, Outstanding};
pub use error::{Misbehaviour, ParamError};
pub use fingerprint::fingerprint;
pub use gather::Gather;
pub use ids::{ArmIndex, NodeId, Tick, UserId};
pub use linalg::Symmetric;
pub use machine::{Algorithm, Learner, Machine, Membership, Silent, Traffic};
pub use message::{Kind, Message, Silence};
pub use private::{Claim, Composition, Mechanism, Noise, Private, ReleaseFact, Unprotected};
pub use rng::{Keys, Positions, Stream};
pub use setting::{Seat, Seating, Setting};
pub use stats::{ArmStats, LinearStats};
pub use topology::Topology;
pub use view::View;
