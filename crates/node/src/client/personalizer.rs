//! What a client's file says about apps that speak as Personalizer's did.

use serde::{Deserialize, Serialize};

/// `[personalizer]` in a client's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PersonalizerConfig {
    /// How several rewards of one event count.
    pub rewards: Aggregation,
}

/// How several rewards of one event count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregation {
    /// The first one counts.
    #[default]
    Earliest,
    /// All of them, added up when the event expires.
    Sum,
}
