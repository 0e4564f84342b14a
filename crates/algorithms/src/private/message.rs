//! Messages of the private family: sums as they were released up, sums over everyone alike down.

use std::sync::Arc;

use cahoots_core::message::Receipt;
use cahoots_core::{Custom, Kind, LinearStats, Misbehaviour, Private, custom};
use cahoots_privacy::aggregation::{Down, Up};
use serde::{Deserialize, Serialize};

/// What is sent.
pub type PrivateMsg = Custom<Body>;

/// What a message says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Body {
    /// Client to server: its sums, each as a whole.
    Release(Vec<Part>),
    /// Server to client: the sums over all who are like its users.
    Shared {
        /// Counts what the server has sent.
        version: u64,
        /// All sums that the receiver has a part in.
        groups: Vec<Shared>,
    },
    /// Server to client: its last release was not merged.
    Refused {
        /// Why, in words.
        reason: String,
    },
    /// Client to server: its part of a sum over a group.
    Up(Up),
    /// Server to client: how that goes on.
    Down(Down),
    /// Server to client: the sum over all groups.
    Summed {
        /// The round of the last sum: a later one says it all.
        round: u32,
        /// Rounds whose sum the receiver has a part in.
        through: Vec<u32>,
        /// The sum.
        sum: Arc<Summed>,
    },
}

/// One sum of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Which of the client's sums.
    pub stream: u32,
    /// Counts its releases.
    pub number: u32,
    /// All of it, with noise.
    pub stats: Private<LinearStats>,
}

/// A sum over many, and which of the receiver's own releases are in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shared {
    /// The receiver's sums and their releases.
    pub mine: Vec<(u32, u32)>,
    /// The sum.
    pub sum: Arc<Summed>,
}

/// Released sums, added up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summed {
    /// The sum.
    pub stats: LinearStats,
    /// Variance of the noise in it.
    pub variance: f64,
}

impl Body {
    /// The refusal of a message that this machine never takes.
    pub(super) fn unexpected(&self) -> Misbehaviour {
        Misbehaviour::Unexpected(
            match self {
                Body::Release(_) => "a release",
                Body::Shared { .. } => "shared sums",
                Body::Refused { .. } => "the refusal of a release",
                Body::Up(_) => "a part of a sum over a group",
                Body::Down(_) => "a step of a sum over a group",
                Body::Summed { .. } => "a sum over groups",
            }
            .into(),
        )
    }
}

impl custom::Body for Body {
    const NAME: &'static str = "private sums";

    fn kind(&self) -> Kind {
        match self {
            Body::Release(_) | Body::Up(Up::Masked { .. }) => Kind::Upload,
            Body::Shared { .. } | Body::Summed { .. } => Kind::Download,
            Body::Refused { .. } | Body::Up(_) | Body::Down(_) => Kind::Control,
        }
    }

    fn scalars(&self) -> u64 {
        match self {
            Body::Release(parts) => parts.iter().map(|part| part.stats.get().scalars()).sum(),
            Body::Shared { groups, .. } => groups.iter().map(|group| group.sum.stats.scalars()).sum(),
            Body::Summed { sum, .. } => sum.stats.scalars(),
            Body::Up(Up::Masked { values, .. }) => values.get().len() as u64,
            Body::Refused { .. } | Body::Up(_) | Body::Down(_) => 0,
        }
    }

    fn slot(&self) -> Option<u32> {
        // Sums are absolute: newer ones say it all.
        matches!(self, Body::Shared { .. } | Body::Summed { .. }).then_some(0)
    }

    fn receipt(&self) -> Option<Receipt> {
        let Body::Release(parts) = self else { return None };
        let number = parts.iter().map(|part| u64::from(part.number)).max().unwrap_or(0);
        Some(Receipt { number, phase: 0, cluster: 0 })
    }

    fn refused(_receipt: Receipt, reason: String) -> Option<Self> {
        Some(Body::Refused { reason })
    }
}
