//! One decision of the record.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How a decision ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Its reward came.
    Rewarded,
    /// None came in time, and the client's file says what that is worth.
    Default,
    /// None came, and nothing was learned.
    Abandoned,
}

impl Outcome {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Rewarded => "rewarded",
            Outcome::Default => "default",
            Outcome::Abandoned => "abandoned",
        }
    }
}

/// What an app says that was known before a decision, for the record alone: a number or a word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Known {
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
}

/// A decision that has closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// When it was taken: milliseconds since 1970.
    pub time: i64,
    /// When it closed.
    pub closed: i64,
    /// Whose client.
    pub client: u32,
    /// Whose decision, where a client has many users.
    pub user: Option<u32>,
    /// Its name.
    pub decision: String,
    /// The app's name for it.
    pub event: Option<String>,
    /// The arm that was taken: its id, or its place.
    pub arm: String,
    /// How likely it was, where the policy can tell.
    pub propensity: Option<f64>,
    /// What it earned.
    pub reward: Option<f64>,
    /// How it ended.
    pub outcome: Outcome,
    /// All arms that could be taken.
    pub offered: Vec<String>,
    /// What the app would have taken itself, if it said so.
    pub baseline: Option<String>,
    /// Who decided: "federated", "alone" or "baseline".
    pub decided: String,
    /// The model's version.
    pub model: u64,
    /// Features of the arm that was taken.
    pub features: Vec<f64>,
    /// What the app says that was known.
    pub context: BTreeMap<String, Known>,
}
