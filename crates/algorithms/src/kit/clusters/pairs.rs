//! The homogeneity test of HetoFedBandit as users write it, and what it and the formulas for T0 and D_k are about.

use cahoots_core::homogeneity::{HomogeneityTest, Noncentrality};
use cahoots_core::{ParamError, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::linear::LinearParams;

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

/// What the test and the formulas for T0 and D_k are about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constants {
    pub clients: f64,
    pub dim: f64,
    pub horizon: f64,
    pub variance: f64,
    pub failure_prob: f64,
}

impl Constants {
    /// Refuses rewards without noise.
    pub(crate) fn of(linear: &LinearParams, setting: &Setting) -> Result<Constants, ParamError> {
        let noise = linear.reward_noise.unwrap_or(setting.reward_noise);
        if noise <= 0.0 {
            let problem = "the homogeneity test divides by it: give a number above 0";
            return Err(ParamError::new("reward_noise", problem));
        }
        Ok(Constants {
            clients: setting.users as f64,
            dim: setting.dim as f64,
            horizon: setting.horizon as f64,
            variance: noise * noise,
            failure_prob: linear.failure_prob,
        })
    }

    /// 1 / (sigma^2 N^2).
    pub(crate) fn proof(&self) -> f64 {
        1.0 / (self.variance * self.clients * self.clients)
    }

    /// delta / N^2: all pairs together fail with probability delta.
    pub(crate) fn cut(&self) -> f64 {
        self.failure_prob / (self.clients * self.clients)
    }
}

impl TestParams {
    /// `usual`: psi^c where none is given.
    pub(crate) fn check(
        &self,
        usual: NamedBound,
        paper: bool,
        c: &Constants,
    ) -> Result<HomogeneityTest, ParamError> {
        let cut = match self.cut {
            Some(cut) => ParamError::open_unit("test.cut", cut)?,
            None if paper => c.cut(),
            None => 0.01,
        };
        let noncentrality = match self.noncentrality.unwrap_or(Bound::Named(usual)) {
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
