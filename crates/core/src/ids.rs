//! Names for the things that take part: small integers with a meaning.

use serde::{Deserialize, Serialize};

/// A machine of a federation: clients are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The coordinator.
    pub const SERVER: NodeId = NodeId(u32::MAX);

    /// Position in a list of clients.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            NodeId::SERVER => f.write_str("the server"),
            NodeId(n) => write!(f, "client {n}"),
        }
    }
}

/// Whom a decision is for. Most algorithms have one user per client; a local
/// server has many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UserId(pub u32);

impl UserId {
    /// Position in a list of users.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Position of an arm in the set that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ArmIndex(pub u32);

impl ArmIndex {
    /// Position in a list of arms.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A step of the papers' time in simulation, a configured interval in a deployment.
pub type Tick = u64;
