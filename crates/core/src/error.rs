//! Errors that name the guilty: the user's parameters, or a peer's message.
//! Drivers add their own (a broken store, a lost connection).

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;

/// A parameter that cannot be used. The user's to mend.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key}{}{problem}", if key.is_empty() { "" } else { ": " })]
pub struct ParamError {
    /// The key as it is written in an experiment file; empty where it is about all of them.
    pub key: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl ParamError {
    /// A complaint about one key.
    pub fn new(key: &str, problem: impl Into<String>) -> Self {
        ParamError { key: key.to_string(), problem: problem.into() }
    }

    /// A complaint about parameters that cannot be read at all.
    pub fn unreadable(problem: impl Into<String>) -> Self {
        ParamError::new("", problem)
    }

    /// Refuses anything but a finite number above zero.
    pub fn positive(key: &str, value: f64) -> Result<f64, ParamError> {
        if value.is_finite() && value > 0.0 {
            Ok(value)
        } else {
            Err(ParamError::new(key, format!("must be a number above 0, not {value}")))
        }
    }

    /// Refuses anything but a finite number of at least zero.
    pub fn not_negative(key: &str, value: f64) -> Result<f64, ParamError> {
        if value.is_finite() && value >= 0.0 {
            Ok(value)
        } else {
            Err(ParamError::new(key, format!("must be 0 or more, not {value}")))
        }
    }

    /// Refuses anything outside the open interval (0, 1).
    pub fn open_unit(key: &str, value: f64) -> Result<f64, ParamError> {
        if value > 0.0 && value < 1.0 {
            Ok(value)
        } else {
            Err(ParamError::new(key, format!("must lie between 0 and 1, not {value}")))
        }
    }
}

/// A message that no honest, correct peer would send. The machine that reports
/// it has not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Misbehaviour {
    /// Statistics of another dimension.
    #[error("statistics of dimension {got}, expected {expected}")]
    Dimension {
        /// What this federation uses.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// A value that is not a finite number.
    #[error("a value that is not a finite number in {0}")]
    NotFinite(String),
    /// A Gram matrix that no data can have led to.
    #[error("statistics that are not positive definite: {0}")]
    Indefinite(String),
    /// An upload or a link message that is not the next one.
    #[error("number {got} came where {expected} was due")]
    Gap {
        /// The next number.
        expected: u64,
        /// What came.
        got: u64,
    },
    /// A message from a node that this machine does not hear.
    #[error("a message from {0}, whom this machine does not hear")]
    Stranger(NodeId),
    /// A message that this machine never takes.
    #[error("unexpected message: {0}")]
    Unexpected(String),
    /// Bytes that are no message.
    #[error("unreadable message: {0}")]
    Unreadable(String),
    /// Numbers that no data within the terms can have led to.
    #[error("what no honest data give: {0}")]
    Implausible(String),
}

impl Misbehaviour {
    /// Whether it is what was in the message that no honest, correct peer would have sent, not when or to whom it
    /// was sent: those who come back or are late may be wrong about that.
    pub fn is_implausible(&self) -> bool {
        match self {
            Misbehaviour::Dimension { .. }
            | Misbehaviour::NotFinite(_)
            | Misbehaviour::Indefinite(_)
            | Misbehaviour::Unreadable(_)
            | Misbehaviour::Implausible(_) => true,
            Misbehaviour::Gap { .. } | Misbehaviour::Stranger(_) | Misbehaviour::Unexpected(_) => false,
        }
    }
}
