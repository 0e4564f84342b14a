//! Parameters of the hetofed family.

use cahoots_core::homogeneity::{HomogeneityTest, Noncentrality};
use cahoots_core::{ParamError, Patience, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Variant;
use super::exploration::{Exploration, Plan, Unit};
use super::threshold::{SyncThreshold, Threshold};
use crate::Fidelity;
use crate::kit::PatienceParams;
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

/// The homogeneity test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TestParams {
    /// Two clients differ if their data are less likely than this; failure_prob / N^2 when absent (authors: 0.01).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub cut: Option<f64>,
    /// How far apart similar clients may be; `proof` when absent, `data` for hetofed-dr and hetofed-e.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noncentrality: Option<Bound>,
}

/// psi^c, the non-centrality that similar clients may lead to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Bound {
    /// By name.
    Named(NamedBound),
    /// As a number; 0 tests for equality.
    Value(#[schemars(range(min = 0.0))] f64),
}

/// The readings of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NamedBound {
    /// 1 / (sigma^2 N^2), the bound that the proof of Lemma C.1 arrives at.
    Proof,
    /// 1 / sigma^2, as the theorem states it.
    Text,
    /// Algorithm 4: from the two clients' data, with epsilon = 1 / (N sqrt T).
    Data,
    /// Section 3.4.1: with epsilon = 1 / (N sqrt(lambda_max)) of the client with more data.
    DataRelative,
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

/// What the test and the formulas for T0 and D_k are about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    pub clients: f64,
    pub dim: f64,
    pub horizon: f64,
    pub variance: f64,
    pub failure_prob: f64,
}

impl Params {
    pub(super) fn check(self, variant: Variant, setting: &Setting) -> Result<Valid, ParamError> {
        let linear = self.linear.check(setting)?;
        let paper = self.linear.fidelity == Fidelity::Paper;
        let noise = self.linear.reward_noise.unwrap_or(setting.reward_noise);
        if noise <= 0.0 {
            let problem = "the homogeneity test divides by it: give a number above 0";
            return Err(ParamError::new("reward_noise", problem));
        }
        let constants = Constants {
            clients: setting.users as f64,
            dim: setting.dim as f64,
            horizon: setting.horizon as f64,
            variance: noise * noise,
            failure_prob: self.linear.failure_prob,
        };
        let at_least_one = |key, value: usize| {
            if value == 0 { Err(ParamError::new(key, "must be at least 1, not 0")) } else { Ok(value) }
        };
        let default = match (variant.recluster, paper) {
            (true, _) => 0,
            (false, true) => 50,
            (false, false) => 70,
        };
        let exploration = self.exploration.unwrap_or(Exploration::Steps(default));
        Ok(Valid {
            variant,
            users: setting.users as u32,
            plan: exploration.check(self.exploration_unit, &constants)?,
            threshold: SyncThreshold::check(self.sync_threshold, &constants)?,
            test: self.test.check(variant, paper, &constants)?,
            sharing: self.sharing,
            refresh: self.refresh.unwrap_or(paper),
            clusters_per_step: at_least_one("clusters_per_step", self.clusters_per_step)?,
            patience: self.patience.check()?,
            max_clusters: at_least_one("max_clusters", self.max_clusters)?,
            linear,
        })
    }
}

impl Constants {
    /// 1 / (sigma^2 N^2).
    pub(super) fn proof(&self) -> f64 {
        1.0 / (self.variance * self.clients * self.clients)
    }

    /// delta / N^2: all pairs together fail with probability delta.
    pub(super) fn cut(&self) -> f64 {
        self.failure_prob / (self.clients * self.clients)
    }
}

impl TestParams {
    fn check(&self, variant: Variant, paper: bool, c: &Constants) -> Result<HomogeneityTest, ParamError> {
        let cut = match self.cut {
            Some(cut) => ParamError::open_unit("test.cut", cut)?,
            None if paper => c.cut(),
            None => 0.01,
        };
        let default = if variant.recluster { NamedBound::Data } else { NamedBound::Proof };
        let noncentrality = match self.noncentrality.unwrap_or(Bound::Named(default)) {
            Bound::Value(value) => {
                Noncentrality::Fixed(ParamError::not_negative("test.noncentrality", value)?)
            }
            Bound::Named(NamedBound::Proof) => Noncentrality::Fixed(c.proof()),
            Bound::Named(NamedBound::Text) => Noncentrality::Fixed(1.0 / c.variance),
            // epsilon^2 / sigma^2 with epsilon = 1 / (N sqrt T); arms of norm 1 keep below the proof's bound.
            Bound::Named(NamedBound::Data) => {
                Noncentrality::Spectral { scale: c.proof() / c.horizon, ceiling: c.proof() }
            }
            Bound::Named(NamedBound::DataRelative) => Noncentrality::Relative { scale: c.proof() },
        };
        Ok(HomogeneityTest::new(c.variance, cut, noncentrality, c.dim as usize))
    }
}
