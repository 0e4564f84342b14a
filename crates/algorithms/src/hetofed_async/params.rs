//! Parameters of hetofed-async.

use std::collections::BTreeSet;

use cahoots_core::homogeneity::HomogeneityTest;
use cahoots_core::{NodeId, ParamError, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fidelity;
use crate::kit::clusters::{
    Constants, Exploration, NamedBound, Plan, SyncThreshold, TestParams, Threshold, Unit,
};
use crate::kit::linear::{LinearParams, LinearValid, Ratio, Ratios, some_noise};

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = some_noise)]
pub struct Params {
    /// Common keys.
    #[serde(flatten)]
    pub linear: LinearParams,
    /// T0: random pulls of a client before its clusters are estimated, a number, { theory = {...} } or { doubling = {...} }; 50 when absent (authors: 70).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exploration: Option<Exploration>,
    /// D: a client asks when steps since its last upload times gain in log-det reach this; a number, or { clusters = M } for T / ((N/M) d ln T); the paper's T ln(n T) / (d n) when absent, where n are the clients whose data it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_threshold: Option<SyncThreshold>,
    /// gamma_U, in place of `sync_threshold`: a client asks when its determinant has grown by this factor since its last upload (1: always, inf: never).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_ratio: Option<Ratio>,
    /// The test that decides who may share.
    #[serde(default)]
    pub test: TestParams,
    /// Whose data a client in several clusters is given.
    #[serde(default)]
    pub partners: Partners,
    /// Does a download show in the very next decision? `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<bool>,
    /// Maximal cliques, at most; beyond that as many as it takes to have every client in one.
    #[serde(default = "thousand")]
    #[schemars(range(min = 1))]
    pub max_clusters: usize,
}

fn thousand() -> usize {
    1000
}

/// Whose data a client in several clusters is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Partners {
    /// Those of the members of its largest cluster: few who are like it by mistake are like the others there too.
    #[default]
    Largest,
    /// Those of the members of all its clusters: of all that have passed the test with it.
    All,
}

impl Partners {
    /// The clients whose data this one is given, itself among them, in order; none if it is in no cluster.
    pub(super) fn of(self, client: NodeId, clusters: &[Vec<NodeId>]) -> Vec<NodeId> {
        let own = clusters.iter().filter(|cluster| cluster.binary_search(&client).is_ok());
        match self {
            // Of equals, the first.
            Partners::Largest => own.rev().max_by_key(|cluster| cluster.len()).cloned().unwrap_or_default(),
            Partners::All => own.flatten().copied().collect::<BTreeSet<_>>().into_iter().collect(),
        }
    }
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(super) linear: LinearValid,
    pub(super) plan: Plan,
    pub(super) trigger: Trigger,
    pub(super) test: HomogeneityTest,
    pub(super) partners: Partners,
    pub(super) refresh: bool,
    pub(super) max_clusters: usize,
}

/// When clients ask.
#[derive(Clone, Debug)]
pub(super) enum Trigger {
    /// Line 12 of Algorithm 2.
    Weight(Threshold),
    /// Eq. (3) of async-linucb's paper.
    Gain(Ratios),
}

/// When one client asks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Due {
    /// When steps times gain in log-det reach the threshold.
    Weight(Threshold),
    /// When the gain in log-det passes this.
    Gain(f64),
}

impl Trigger {
    pub(super) fn of(&self, client: NodeId) -> Due {
        match self {
            Trigger::Weight(threshold) => Due::Weight(*threshold),
            Trigger::Gain(ratios) => Due::Gain(ratios.ln(client)),
        }
    }
}

impl Params {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        let linear = self.linear.check(setting)?;
        let paper = self.linear.fidelity == Fidelity::Paper;
        let constants = Constants::of(&self.linear, setting)?;
        let trigger = match (self.sync_threshold, self.upload_ratio) {
            (Some(_), Some(_)) => {
                let problem = "is another rule for when clients ask: leave out this key or `sync_threshold`";
                return Err(ParamError::new("upload_ratio", problem));
            }
            (None, Some(ratio)) => Trigger::Gain(ratio.check("upload_ratio", setting.users)?),
            (threshold, None) => Trigger::Weight(SyncThreshold::check(threshold, &constants)?),
        };
        if self.max_clusters == 0 {
            return Err(ParamError::new("max_clusters", "must be at least 1, not 0"));
        }
        let exploration = self.exploration.unwrap_or(Exploration::Steps(if paper { 50 } else { 70 }));
        Ok(Valid {
            plan: exploration.check(Unit::PerClient, &constants)?,
            trigger,
            test: self.test.check(NamedBound::Proof, paper, &constants)?,
            partners: self.partners,
            refresh: self.refresh.unwrap_or(paper),
            max_clusters: self.max_clusters,
            linear,
        })
    }
}
