//! Errors that name the guilty: the disk, the configuration, the app, the peer.

use cahoots_core::arms::ArmError;
use cahoots_core::decision::RewardError;

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
    /// The reward that the app sent.
    #[error(transparent)]
    Reward(#[from] RewardError),
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
