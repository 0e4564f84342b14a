//! Parameters of sync-linucb.

use cahoots_core::{ParamError, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::linear::{Fidelity, LinearParams, LinearValid};

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Common keys.
    #[serde(flatten)]
    pub linear: LinearParams,
    /// D: synchronise when steps since the last time times gain in log-det exceed this.
    #[serde(default = "ten")]
    #[schemars(range(min = 0.0))]
    pub sync_threshold: f64,
    /// Does a download show in the very next decision? `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<bool>,
    /// Who is synchronised.
    #[serde(default)]
    pub serve: Serve,
    /// Ticks after which a round goes on without those that did not answer; for ever when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub deadline: Option<u64>,
}

fn ten() -> f64 {
    10.0
}

/// Who is synchronised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Serve {
    /// Clients that have been seen.
    #[default]
    Seen,
    /// All clients from the start: another algorithm.
    All,
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(super) linear: LinearValid,
    pub(super) threshold: f64,
    pub(super) inclusive: bool,
    pub(super) refresh: bool,
    pub(super) everyone: Option<u32>,
    pub(super) deadline: Option<u64>,
}

impl Params {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        let paper = self.linear.fidelity == Fidelity::Paper;
        if self.sync_threshold.is_nan() || self.sync_threshold < 0.0 {
            let problem = format!("must be 0 or more (inf: never), not {}", self.sync_threshold);
            return Err(ParamError::new("sync_threshold", problem));
        }
        if self.deadline == Some(0) {
            return Err(ParamError::new("deadline", "must be at least 1 tick; leave the key out to wait for ever"));
        }
        Ok(Valid {
            linear: self.linear.check(setting)?,
            threshold: self.sync_threshold,
            inclusive: !paper,
            refresh: self.refresh.unwrap_or(paper),
            everyone: (self.serve == Serve::All).then_some(setting.users as u32),
            deadline: self.deadline,
        })
    }
}
