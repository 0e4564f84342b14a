//! Errors that name the guilty: the disk, the configuration, the app, the peer.

use cahoots_core::apprentice::OutsideRange;
use cahoots_core::arms::ArmError;
use cahoots_core::decision::RewardError;

use crate::client::TicketError;
use crate::store::StoreError;

/// Why a node did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The configuration file.
    #[error("{0}")]
    Config(String),
    /// The arms that the app offered.
    #[error("{0}")]
    Arms(#[from] ArmError),
    /// The app asked for what this client does not do.
    #[error("{0}")]
    Request(String),
    /// More decisions wait for their reward than this client keeps.
    #[error(
        "{open} decisions wait for their reward, the most that this client keeps (limits.open_decisions): give rewards, \
         abandon those that will get none, or shorten `expiry`"
    )]
    TooManyOpen {
        /// How many wait.
        open: usize,
    },
    /// More is kept of decisions for the app than this client keeps.
    #[error(
        "{bytes} bytes are kept of decisions with an event, a ranking or a deferral that wait for their reward, about as many as \
         this client keeps (limits.kept_bytes): give rewards, abandon those that will get none, or shorten `expiry`"
    )]
    TooMuchKept {
        /// How many.
        bytes: usize,
    },
    /// One of several decisions cannot be taken.
    #[error("decision {index} of the {of} (counted from 0): {error}; none of them was taken")]
    OneOf {
        /// Which.
        index: usize,
        /// How many were asked for.
        of: usize,
        /// Why.
        error: Box<NodeError>,
    },
    /// What the app said of a decision that has a name or parts.
    #[error(transparent)]
    Ticket(#[from] TicketError),
    /// The reward that the app sent.
    #[error(transparent)]
    Reward(#[from] RewardError),
    /// The reward, where this client is an apprentice.
    #[error(transparent)]
    Apprentice(#[from] OutsideRange),
    /// The federation's terms are not known yet.
    #[error(
        "this client has not reached its coordinator yet and does not know the federation's terms: try again once it is connected"
    )]
    NotJoined,
    /// The federation asks for more than this client gives.
    #[error("{0}")]
    Declined(String),
    /// A lockstep run decides for itself.
    #[error(
        "this client is part of a lockstep run, which makes its decisions itself: start it without [lockstep] to use it"
    )]
    Lockstep,
    /// The node has stopped taking inputs.
    #[error("{0}")]
    Stopped(String),
    /// The network.
    #[error("{0}")]
    Network(String),
}

impl NodeError {
    /// Why nobody can listen there, in these words. An address that is taken, or not this machine's yet, may be free the
    /// next time; any other is the configuration's fault.
    pub(crate) fn listening(error: &std::io::Error, words: String) -> NodeError {
        use std::io::ErrorKind::{AddrInUse, AddrNotAvailable};
        match error.kind() {
            AddrInUse | AddrNotAvailable => NodeError::Network(words),
            _ => NodeError::Config(words),
        }
    }
}
