//! Parameters of fed2-ucb.

use cahoots_core::{ParamError, Patience, Setting, plausible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::Rules;
use crate::kit::{PatienceParams, PhaseLengths};

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// What the global model is: what clients are drawn from (approximate: Fed2-UCB), or their exact average
    /// (exact: Fed1-UCB, with all clients from the first phase on).
    #[serde(default)]
    pub model: Model,
    /// sigma_c: the sub-Gaussian scale of clients' means around the global ones (0: all alike). The approximate
    /// model must know it, the exact one has no use for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub client_spread: Option<f64>,
    /// g(p), how many clients are admitted at phase p in the approximate model: a formula such as "2^p" or
    /// "1.5^p", a number, or { table = [...] } with g(1), g(2), ... (the last one stays); rounded up.
    #[serde(default = "doubling")]
    pub admit: PhaseLengths,
    /// f(p), how often each client pulls each active arm in phase p: a number, a formula such as "10 log T", or
    /// { table = [...] } with f(1), f(2), ... (the last one stays); rounded up.
    #[serde(default = "hundred")]
    pub schedule: PhaseLengths,
    /// C: what a client loses each time it communicates (once per phase). It is part of the regret.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0))]
    pub communication_loss: f64,
    /// The constant of the bound for rewards, sqrt(c sigma^2 eta_p log T).
    #[serde(default = "six")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub confidence_constant: f64,
    /// The constant of the bound for the sample of clients, sqrt(c sigma_c^2 log T / M(p)).
    #[serde(default = "six")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub client_constant: f64,
    /// Sub-Gaussian scale sigma of the rewards around a client's own means; the environment's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub reward_noise: Option<f64>,
    /// How long phases wait.
    #[serde(flatten)]
    pub patience: PatienceParams,
}

fn doubling() -> PhaseLengths {
    PhaseLengths::Formula("2^p".into())
}

fn hundred() -> PhaseLengths {
    PhaseLengths::Constant(100.0)
}

fn one() -> f64 {
    1.0
}

fn six() -> f64 {
    6.0
}

/// What the global model is to the clients' own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// What they are drawn from: Fed2-UCB.
    #[default]
    Approximate,
    /// Their average: Fed1-UCB.
    Exact,
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(super) rules: Rules,
    pub(super) patience: Patience,
}

impl Params {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        if setting.dim != 0 {
            return Err(ParamError::new("kind", "needs plain arms (environment kind = \"arms\")"));
        }
        if setting.horizon < 2 {
            return Err(ParamError::new("horizon", "must be at least 2: bounds grow with log T"));
        }
        let log_horizon = libm::log(setting.horizon as f64);
        let noise =
            ParamError::not_negative("reward_noise", self.reward_noise.unwrap_or(setting.reward_noise))?;
        let constant = ParamError::positive("confidence_constant", self.confidence_constant)?;
        let client_constant = ParamError::positive("client_constant", self.client_constant)?;
        let spread = self.spread()?;
        let patience = self.patience.check()?;
        Ok(Valid {
            rules: Rules {
                clients: setting.users as u32,
                arms: setting.arms as u32,
                exact: self.model == Model::Exact,
                admit: self.admit.check("admit", log_horizon, 1.0)?,
                lengths: self.schedule.check("schedule", log_horizon, 1.0)?,
                rewards_radius: constant * noise * noise * log_horizon,
                sample_radius: client_constant * spread * spread * log_horizon,
                chance: chance(log_horizon, constant) - (1.0 - chance(log_horizon, client_constant)),
                communication_loss: ParamError::not_negative("communication_loss", self.communication_loss)?,
                patient: patience.deadline.is_some(),
                rewards: plausible::rewards(setting)?,
            },
            patience,
        })
    }

    /// sigma_c, where the model knows it.
    fn spread(&self) -> Result<f64, ParamError> {
        match (self.model, self.client_spread) {
            (Model::Approximate, Some(spread)) => ParamError::not_negative("client_spread", spread),
            (Model::Approximate, None) => Err(ParamError::new(
                "client_spread",
                "must say how far clients' means are from the global ones (0: not at all), or set model = \"exact\"",
            )),
            (Model::Exact, None) => Ok(0.0),
            (Model::Exact, Some(_)) => Err(ParamError::new(
                "client_spread",
                "is for model = \"approximate\": the average over all clients is exact, however they differ",
            )),
        }
    }
}

/// How likely a mean is within sqrt(c log T) of its scales: 1 - 2 T^(-c / 2).
fn chance(log_horizon: f64, constant: f64) -> f64 {
    1.0 - 2.0 * libm::exp(-0.5 * constant * log_horizon)
}
