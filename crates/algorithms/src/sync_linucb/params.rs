//! Parameters of sync-linucb.

use cahoots_core::{ParamError, Patience, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fidelity;
use crate::kit::PatienceParams;
use crate::kit::linear::{LinearParams, LinearValid, Robust, RobustParams};

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Common keys.
    #[serde(flatten)]
    pub linear: LinearParams,
    /// D: synchronise when steps since the last time times gain in log-det exceed this; a number (inf: never), or DisLinUCB's by name.
    #[serde(default)]
    pub sync_threshold: SyncThreshold,
    /// Does a download show in the very next decision? `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<bool>,
    /// Who is synchronised.
    #[serde(default)]
    pub serve: Serve,
    /// How long rounds wait.
    #[serde(flatten)]
    pub patience: PatienceParams,
    /// Whom the server believes.
    #[serde(flatten)]
    pub robust: RobustParams,
}

/// A synchronisation threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SyncThreshold {
    /// A number.
    Value(#[schemars(range(min = 0.0), extend("x-infinite" = true))] f64),
    /// By name.
    Named(NamedThreshold),
}

impl Default for SyncThreshold {
    fn default() -> Self {
        SyncThreshold::Value(10.0)
    }
}

/// DisLinUCB's thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NamedThreshold {
    /// T ln(N T) / (d N), the order that its paper sets.
    Dislinucb,
    /// T / (N d ln T), what the authors of HetoFedBandit run it with.
    DislinucbAuthors,
}

impl SyncThreshold {
    fn check(self, setting: &Setting) -> Result<f64, ParamError> {
        let (clients, dim) = (setting.users as f64, setting.dim as f64);
        let horizon = setting.horizon as f64;
        match self {
            SyncThreshold::Value(value) if value >= 0.0 => Ok(value),
            SyncThreshold::Value(value) => {
                let problem = format!("must be 0 or more (inf: never), not {value}");
                Err(ParamError::new("sync_threshold", problem))
            }
            SyncThreshold::Named(NamedThreshold::Dislinucb) => {
                Ok(horizon * libm::log(clients * horizon) / (dim * clients))
            }
            SyncThreshold::Named(NamedThreshold::DislinucbAuthors) => {
                Ok(horizon / (clients * dim * libm::log(horizon)))
            }
        }
    }
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
    pub(super) patience: Patience,
    pub(super) robust: Option<Robust>,
}

impl Params {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        let paper = self.linear.fidelity == Fidelity::Paper;
        let linear = self.linear.check(setting)?;
        Ok(Valid {
            threshold: self.sync_threshold.check(setting)?,
            inclusive: !paper,
            refresh: self.refresh.unwrap_or(paper),
            everyone: (self.serve == Serve::All).then_some(setting.users as u32),
            patience: self.patience.check()?,
            robust: self.robust.check(&linear.policy)?,
            linear,
        })
    }
}
