//! Text or code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whom to follow where a paper's text and its authors' code differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fidelity {
    /// The text.
    #[default]
    Paper,
    /// The code behind the published curves.
    Authors,
}
