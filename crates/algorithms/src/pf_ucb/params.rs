//! Parameters of pf-ucb and pf-ucb-enhanced.

use cahoots_core::{ParamError, Patience, Setting, plausible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::Rules;
use crate::Fidelity;
use crate::kit::{PatienceParams, PhaseLengths};

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// alpha: how much of the objective is the client's own reward, the rest being the average of all
    /// clients' (0: no personalisation, 1: nothing else).
    #[serde(default = "half")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub personalization: f64,
    /// f(p), the exploration length of phase p: a formula such as "2^p log T", "2^p", "10 log T", a
    /// number, or { table = [...] } with f(1), f(2), ... (the last one stays).
    #[serde(default)]
    pub schedule: PhaseLengths,
    /// C: what one client loses each time it communicates (twice per phase). It is part of the regret.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0))]
    pub communication_loss: f64,
    /// Whether f(p) has a factor of C.
    #[serde(default)]
    pub loss_factor: LossFactor,
    /// Divides both exploration lengths by the number of clients (remark of Section 4.2).
    #[serde(default)]
    pub divide_by_clients: bool,
    /// What the confidence bound takes the logarithm of.
    #[serde(default)]
    pub radius: Radius,
    /// The constant c of the bound B_p = sqrt(c log T / (M F(p))); `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub confidence_constant: Option<f64>,
    /// Sub-Gaussian scale sigma of the rewards, a factor of the bound. When absent: the paper's 1, or the
    /// environment's where that is larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub reward_noise: Option<f64>,
    /// How long phases wait.
    #[serde(flatten)]
    pub patience: PatienceParams,
    /// Follow the paper's text or its authors' code where they differ.
    #[serde(default)]
    pub fidelity: Fidelity,
}

fn half() -> f64 {
    0.5
}

fn one() -> f64 {
    1.0
}

/// Whether f(p) depends on the communication loss C (remark of Appendix C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LossFactor {
    /// It does not.
    #[default]
    #[serde(rename = "none")]
    None,
    /// f(p) is divided by C, as the remark writes it.
    #[serde(rename = "1/C")]
    Divided,
    /// f(p) is multiplied by C, as the remark's reason for it asks.
    #[serde(rename = "C")]
    Multiplied,
}

/// What the confidence bound takes the logarithm of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Radius {
    /// The horizon T.
    #[default]
    LogT,
    /// Clients times horizon, M T (remark after Theorem 2).
    LogMt,
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(super) rules: Rules,
    pub(super) communication_loss: f64,
    pub(super) patience: Patience,
}

impl Params {
    pub(super) fn check(self, setting: &Setting, enhanced: bool) -> Result<Valid, ParamError> {
        if setting.dim != 0 {
            return Err(ParamError::new("kind", "needs plain arms (environment kind = \"arms\")"));
        }
        if setting.horizon < 2 {
            return Err(ParamError::new("horizon", "must be at least 2: bounds and lengths grow with log T"));
        }
        let alpha = self.personalization;
        if !(0.0..=1.0).contains(&alpha) {
            let problem = format!("must lie between 0 and 1, not {alpha}");
            return Err(ParamError::new("personalization", problem));
        }
        let loss = ParamError::not_negative("communication_loss", self.communication_loss)?;
        let clients = setting.users as f64;
        let log_horizon = libm::log(setting.horizon as f64);
        let log = match self.radius {
            Radius::LogT => log_horizon,
            Radius::LogMt => libm::log(clients * setting.horizon as f64),
        };
        let paper = self.fidelity == Fidelity::Paper;
        let constant = self.confidence_constant.unwrap_or(if paper { 4.0 } else { 1.0 });
        let constant = ParamError::positive("confidence_constant", constant)?;
        let noise = self.reward_noise.unwrap_or(setting.reward_noise.max(1.0));
        let noise = ParamError::positive("reward_noise", noise)?;
        let patience = self.patience.check()?;
        Ok(Valid {
            rules: Rules {
                clients: setting.users as u32,
                arms: setting.arms as u32,
                alpha,
                lengths: self.schedule.check("schedule", log_horizon, self.factor(clients)?)?,
                radius: constant * noise * noise * log / clients,
                enhanced,
                authors: !paper,
                patient: patience.deadline.is_some(),
                rewards: plausible::rewards(setting)?,
            },
            communication_loss: loss,
            patience,
        })
    }

    /// What f(p) is multiplied by.
    fn factor(&self, clients: f64) -> Result<f64, ParamError> {
        let loss = self.communication_loss;
        let by_loss = match self.loss_factor {
            LossFactor::None => 1.0,
            _ if loss == 0.0 => {
                return Err(ParamError::new("loss_factor", "needs a communication_loss above 0"));
            }
            LossFactor::Divided => 1.0 / loss,
            LossFactor::Multiplied => loss,
        };
        Ok(if self.divide_by_clients { by_loss / clients } else { by_loss })
    }
}
