//! What can be wrong with a decision that has a name, or with parts of a reward.

use cahoots_core::DecisionId;

use crate::limits::{NAME, cut};

/// Parts of one reward.
pub(in crate::client) const MOST_PARTS: usize = 64;

/// Why something was not taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TicketError {
    /// Never asked for, lost, or long forgotten.
    #[error(
        "event {0:?} is unknown: nothing was decided under this name here, it was lost in a crash, or more than 10,000 have closed since"
    )]
    UnknownEvent(String),
    /// The name stands for another value.
    #[error(
        "part {part:?} of decision {id} already has {before}; {now} is refused: give each part a name of its own"
    )]
    OtherPart {
        /// Of which decision.
        id: DecisionId,
        /// Which part.
        part: String,
        /// What was taken.
        before: f64,
        /// What came now.
        now: f64,
    },
    /// The reward is complete.
    #[error(
        "decision {id} has its reward, and part {part:?} came after it: send parts before the reward without one"
    )]
    TooLate {
        /// Of which decision.
        id: DecisionId,
        /// Which part.
        part: String,
    },
    /// More than are kept.
    #[error(
        "decision {0} has {MOST_PARTS} parts of its reward, the most there can be: add some up before sending them"
    )]
    TooManyParts(DecisionId),
}

impl TicketError {
    pub(super) fn unknown(event: &str) -> TicketError {
        TicketError::UnknownEvent(cut(event, NAME).into_owned())
    }
}
