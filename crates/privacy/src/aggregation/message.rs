//! What is said in a round.

use cahoots_core::{NodeId, Private};
use serde::{Deserialize, Serialize};

use super::keys::{Piece, Public};

/// The public keys of a member for one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advert {
    /// For what members send each other through the coordinator.
    pub sealing: Public,
    /// For the masks that two have in common.
    pub masking: Public,
}

/// Member to coordinator, in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Up {
    /// New keys.
    Keys {
        /// Which round.
        round: u32,
        /// They.
        advert: Advert,
    },
    /// Shares of its secrets, sealed, for each of the roster in its order; its own place is empty.
    Shares {
        /// Which round.
        round: u32,
        /// They.
        sealed: Vec<Vec<u8>>,
    },
    /// What it adds to the sum, under masks.
    Masked {
        /// Which round.
        round: u32,
        /// It.
        values: Private<Vec<u64>>,
    },
    /// Shares that take masks off: of the own mask of each who is in the sum, of the masking key of each who is not.
    Unmasking {
        /// Which round.
        round: u32,
        /// In the order of those who shared their secrets; none where nothing readable came.
        pieces: Vec<Option<Piece>>,
    },
    /// It has left the round, and is not to be waited for: its secrets are gone.
    Left {
        /// Which round.
        round: u32,
    },
}

/// Coordinator to member, in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Down {
    /// A round begins.
    Begin {
        /// Which round.
        round: u32,
    },
    /// Who is in the group, in rising order.
    Roster {
        /// Which round.
        round: u32,
        /// Members and their keys.
        members: Vec<(NodeId, Advert)>,
    },
    /// What others have sealed for the receiver.
    Shares {
        /// Which round.
        round: u32,
        /// Those who shared their secrets, in rising order; the receiver's own entry is empty.
        sealed: Vec<(NodeId, Vec<u8>)>,
    },
    /// Whose values are in the sum; the masks may be taken off.
    Unmask {
        /// Which round.
        round: u32,
        /// They, in rising order.
        survivors: Vec<NodeId>,
    },
}

impl Down {
    /// Its round.
    pub fn round(&self) -> u32 {
        match self {
            Down::Begin { round }
            | Down::Roster { round, .. }
            | Down::Shares { round, .. }
            | Down::Unmask { round, .. } => *round,
        }
    }
}

impl Up {
    /// Its round.
    pub fn round(&self) -> u32 {
        match self {
            Up::Keys { round, .. }
            | Up::Shares { round, .. }
            | Up::Masked { round, .. }
            | Up::Unmasking { round, .. }
            | Up::Left { round } => *round,
        }
    }
}
