//! What a node refuses, as Python's exceptions: `InputError` where asking again will not help, `CahootsError` where it may.

use cahoots_core::decision::RewardError;
use cahoots_node::NodeError;
use pyo3::prelude::*;

use crate::error::{CahootsError, InputError};

/// Whether what was asked makes no sense or contradicts what is known: nothing has happened, and will not.
fn is_input(error: &NodeError) -> bool {
    match error {
        NodeError::OneOf { error, .. } => is_input(error),
        NodeError::Config(_)
        | NodeError::Arms(_)
        | NodeError::Request(_)
        | NodeError::Ticket(_)
        | NodeError::Reward(_)
        | NodeError::Apprentice(_) => true,
        NodeError::TooManyOpen { .. }
        | NodeError::TooMuchKept { .. }
        | NodeError::NotJoined
        | NodeError::Declined(_)
        | NodeError::Lockstep
        | NodeError::Stopped(_)
        | NodeError::Store(_)
        | NodeError::Network(_) => false,
    }
}

/// In the words of Python's side, where the node's are those of HTTP or of files.
fn words(error: &NodeError) -> String {
    let text = error.to_string().replace("(POST /arms)", "(`register`)");
    match error {
        NodeError::NotJoined => {
            format!(
                "{text} (`wait`), or give `algorithm`, `params` and `setting`, with which a client decides before it is"
            )
        }
        NodeError::Reward(RewardError::Unknown(_)) => {
            format!("{text}. If that is the name of an event and not an id, say `event=`")
        }
        _ => text,
    }
}

/// The exception for what a node refuses.
pub(super) fn refused(error: &NodeError) -> PyErr {
    if is_input(error) { InputError::new_err(words(error)) } else { CahootsError::new_err(words(error)) }
}
