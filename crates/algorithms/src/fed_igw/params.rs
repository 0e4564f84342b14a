//! Parameters of fed-igw.

use cahoots_core::policy::PolicyKind;
use cahoots_core::{ParamError, Patience, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::{Epochs, Gamma};
use crate::Fidelity;
use crate::kit::PatienceParams;
use crate::kit::linear::{DrawParams, LinearParams, LinearValid, some_noise, tenth, unit};

/// c of FALCON+.
const USUAL_WEIGHT: f64 = 0.5;
/// What the authors' code has for Bibtex.
const AUTHORS_GAMMA: f64 = 7000.0;
/// Where epochs stop growing in the authors' code.
const AUTHORS_LONGEST: u64 = 4096;

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = some_noise)]
pub struct Params {
    /// Regularisation lambda of the ridge estimate.
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub ridge: f64,
    /// delta: the probability that a model may be worse than gamma takes it to be.
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub failure_prob: f64,
    /// Sub-Gaussian scale sigma of the reward noise; the environment's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub reward_noise: Option<f64>,
    /// c: in epoch m, gamma is c sqrt(K n / (sigma^2 (d + ln(2 m^2 / delta)))) for a model of n observations and K arms; 0.5 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub gap_weight: Option<f64>,
    /// The same gamma in every epoch, instead of that; `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub gamma: Option<f64>,
    /// Rewarded decisions of each client in the first epoch; every epoch is twice as long as the one before. `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub first_epoch: Option<u64>,
    /// Epochs grow no longer than this; `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub longest_epoch: Option<u64>,
    /// What a model is learned from.
    #[serde(default)]
    pub data: Data,
    /// Probability of any arm instead of the policy's.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub epsilon: f64,
    /// Follow the paper's text or its authors' code where they differ.
    #[serde(default)]
    pub fidelity: Fidelity,
    /// How long the end of an epoch waits.
    #[serde(flatten)]
    pub patience: PatienceParams,
}

/// What a model is learned from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// The epoch before it.
    #[default]
    Epoch,
    /// All epochs before it: another algorithm.
    All,
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(super) linear: LinearValid,
    pub(super) gamma: Gamma,
    pub(super) epochs: Epochs,
    pub(super) data: Data,
    pub(super) epsilon: f64,
    pub(super) patience: Patience,
}

impl Params {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        let authors = self.fidelity == Fidelity::Authors;
        let noise = self.reward_noise.unwrap_or(setting.reward_noise);
        let weight = ParamError::not_negative("gap_weight", self.gap_weight.unwrap_or(USUAL_WEIGHT))?;
        let constant = match (self.gamma, self.gap_weight) {
            (Some(_), Some(_)) => {
                return Err(ParamError::new(
                    "gap_weight",
                    "has no effect with `gamma`: leave one of them out",
                ));
            }
            (None, None) if authors => Some(AUTHORS_GAMMA),
            (gamma, _) => gamma,
        };
        let gamma = match constant {
            Some(gamma) => Gamma::Constant(ParamError::not_negative("gamma", gamma)?),
            None if noise > 0.0 => {
                Gamma::Schedule { weight, noise, dim: setting.dim, failure_prob: self.failure_prob }
            }
            None => {
                let problem = format!("must be above 0, not {noise}: gamma is a multiple of its inverse");
                return Err(ParamError::new("reward_noise", problem));
            }
        };
        let whole = |key, value: Option<u64>| match value {
            Some(0) => Err(ParamError::new(key, "must be at least 1 decision")),
            value => Ok(value),
        };
        let first = whole("first_epoch", self.first_epoch)?.unwrap_or(if authors { 1 } else { 2 });
        let longest = whole("longest_epoch", self.longest_epoch)?.or(authors.then_some(AUTHORS_LONGEST));
        let linear = LinearParams {
            ridge: self.ridge,
            failure_prob: self.failure_prob,
            reward_noise: self.reward_noise,
            policy: PolicyKind::Igw,
            draw: DrawParams {
                epsilon: Some(unit("epsilon", self.epsilon)?),
                // How a client would draw by its own data alone: by the first epoch's gamma, growing with every reward.
                gap_weight: Some(gamma.of(1, 1, setting.arms).min(f64::MAX)),
                gap_exponent: Some(if constant.is_some() { 0.0 } else { 0.5 }),
                ..DrawParams::default()
            },
            ..LinearParams::default()
        };
        Ok(Valid {
            linear: linear.check(setting)?,
            gamma,
            epochs: Epochs { first, longest },
            data: self.data,
            epsilon: self.epsilon,
            patience: self.patience.check()?,
        })
    }
}
