//! Parameters of those who draw by estimates.

use cahoots_core::policy::{ByMeans, PolicyKind};
use cahoots_core::{ParamError, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::linear::{DrawParams, LinearParams, LinearValid, tenth, unit};

/// What a user of `greedy` writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GreedyParams {
    /// Regularisation lambda of the ridge estimate, where arms have features.
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub ridge: f64,
}

/// What a user of `epsilon-greedy` writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EpsilonGreedyParams {
    /// Regularisation lambda of the ridge estimate, where arms have features.
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub ridge: f64,
    /// Probability of any arm.
    #[serde(default = "tenth")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub epsilon: f64,
}

/// What a user of `softmax` writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SoftmaxParams {
    /// Regularisation lambda of the ridge estimate, where arms have features.
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub ridge: f64,
    /// An arm is as likely as exp(estimate / temperature).
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub temperature: f64,
    /// Probability of any arm instead.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub epsilon: f64,
}

/// What a user of `igw` writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IgwParams {
    /// Regularisation lambda of the ridge estimate, where arms have features.
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub ridge: f64,
    /// gamma after the first observation.
    #[serde(default = "ten")]
    #[schemars(range(min = 0.0))]
    pub gap_weight: f64,
    /// After n observations gamma is gap_weight n^gap_exponent; 0 keeps it constant.
    #[serde(default = "half")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gap_exponent: f64,
    /// Probability of any arm instead.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub epsilon: f64,
}

fn ten() -> f64 {
    10.0
}

fn half() -> f64 {
    0.5
}

/// Checked parameters: arms have features, or they have none.
#[derive(Clone, Debug)]
pub enum Valid {
    /// A ridge model.
    Linear(LinearValid),
    /// Means of so many arms.
    Arms(usize, ByMeans),
}

fn checked(ridge: f64, policy: PolicyKind, draw: DrawParams, setting: &Setting) -> Result<Valid, ParamError> {
    ParamError::positive("ridge", ridge)?;
    if setting.dim > 0 {
        let linear = LinearParams { ridge, policy, draw, ..LinearParams::default() };
        return Ok(Valid::Linear(linear.check(setting)?));
    }
    let epsilon = unit("epsilon", draw.epsilon.unwrap_or(0.0))?;
    Ok(Valid::Arms(setting.arms, ByMeans { leaning: draw.leaning(policy)?, epsilon }))
}

impl GreedyParams {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        checked(self.ridge, PolicyKind::Greedy, DrawParams::default(), setting)
    }
}

impl EpsilonGreedyParams {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        let draw = DrawParams { epsilon: Some(self.epsilon), ..DrawParams::default() };
        checked(self.ridge, PolicyKind::Greedy, draw, setting)
    }
}

impl SoftmaxParams {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        let (epsilon, temperature) = (Some(self.epsilon), Some(self.temperature));
        let draw = DrawParams { epsilon, temperature, ..DrawParams::default() };
        checked(self.ridge, PolicyKind::Softmax, draw, setting)
    }
}

impl IgwParams {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        let draw = DrawParams {
            epsilon: Some(self.epsilon),
            gap_weight: Some(self.gap_weight),
            gap_exponent: Some(self.gap_exponent),
            ..DrawParams::default()
        };
        checked(self.ridge, PolicyKind::Igw, draw, setting)
    }
}
