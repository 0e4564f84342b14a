//! Parameters of the hetofed family.

use cahoots_core::homogeneity::HomogeneityTest;
use cahoots_core::{ParamError, Patience, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Variant;
use crate::Fidelity;
use crate::kit::PatienceParams;
use crate::kit::clusters::{
    Constants, Exploration, NamedBound, Plan, SyncThreshold, TestParams, Threshold, Unit,
};
use crate::kit::linear::{LinearParams, LinearValid, some_noise};

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = some_noise)]
pub struct Params {
    /// Common keys.
    #[serde(flatten)]
    pub linear: LinearParams,
    /// T0: random pulls before the clusters are estimated, a number, { theory = {...} } or { doubling = {...} }; 50 when absent (authors: 70), 0 for hetofed-dr and hetofed-e.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exploration: Option<Exploration>,
    /// What T0 counts.
    #[serde(default)]
    pub exploration_unit: Unit,
    /// D: a client asks for its clusters when steps since the last exchange times gain in log-det reach this; a number, or { clusters = M } for T / ((N/M) d ln T); the paper's D_k = T ln(|C_k| T) / (d |C_k|) when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_threshold: Option<SyncThreshold>,
    /// The test that decides who may share.
    #[serde(default)]
    pub test: TestParams,
    /// What members of a cluster are given.
    #[serde(default)]
    pub sharing: Sharing,
    /// Does a download show in the very next decision? `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<bool>,
    /// Clusters served per step; the papers' federation can broadcast one model at a time.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub clusters_per_step: usize,
    /// How long a cluster waits for its members.
    #[serde(flatten)]
    pub patience: PatienceParams,
    /// Maximal cliques, at most; beyond that as many as it takes to have every client in one.
    #[serde(default = "thousand")]
    #[schemars(range(min = 1))]
    pub max_clusters: usize,
}

fn one() -> usize {
    1
}

fn thousand() -> usize {
    1000
}

/// What members of a cluster are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// The sum of all that the members have observed: nothing is lost where clusters overlap.
    #[default]
    Full,
    /// Algorithm 2 as printed: the members' buffers, which are then empty for their other clusters.
    Buffers,
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(super) variant: Variant,
    pub(super) linear: LinearValid,
    pub(super) users: u32,
    pub(super) plan: Plan,
    pub(super) threshold: Threshold,
    pub(super) test: HomogeneityTest,
    pub(super) sharing: Sharing,
    pub(super) refresh: bool,
    pub(super) clusters_per_step: usize,
    pub(super) patience: Patience,
    pub(super) max_clusters: usize,
}

impl Params {
    pub(super) fn check(self, variant: Variant, setting: &Setting) -> Result<Valid, ParamError> {
        let linear = self.linear.check(setting)?;
        let paper = self.linear.fidelity == Fidelity::Paper;
        let constants = Constants::of(&self.linear, setting)?;
        let at_least_one = |key, value: usize| {
            if value == 0 { Err(ParamError::new(key, "must be at least 1, not 0")) } else { Ok(value) }
        };
        let default = match (variant.recluster, paper) {
            (true, _) => 0,
            (false, true) => 50,
            (false, false) => 70,
        };
        let exploration = self.exploration.unwrap_or(Exploration::Steps(default));
        let usual = if variant.recluster { NamedBound::Data } else { NamedBound::Proof };
        Ok(Valid {
            variant,
            users: setting.users as u32,
            plan: exploration.check(self.exploration_unit, &constants)?,
            threshold: SyncThreshold::check(self.sync_threshold, &constants)?,
            test: self.test.check(usual, paper, &constants)?,
            sharing: self.sharing,
            refresh: self.refresh.unwrap_or(paper),
            clusters_per_step: at_least_one("clusters_per_step", self.clusters_per_step)?,
            patience: self.patience.check()?,
            max_clusters: at_least_one("max_clusters", self.max_clusters)?,
            linear,
        })
    }
}
