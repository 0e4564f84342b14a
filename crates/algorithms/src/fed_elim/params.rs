//! Parameters of fed-elim.

use cahoots_core::{ParamError, Patience, Setting, plausible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::Rules;
use crate::kit::PatienceParams;

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// delta: the probability that any of the answers, the clients' or the global one, is wrong is at most this.
    #[serde(default = "usual_failure")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub failure_prob: f64,
    /// After how many pulls of each arm clients and server communicate: "2^t", at 1, 2, 4, 8, ..., or a number H,
    /// at H, 2 H, 3 H, ... (1: at every step, the paper's FedElim0).
    #[serde(default)]
    pub communicate: Communicate,
    /// C: what one number on an uplink costs, in pulls. Downlinks are free.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0))]
    pub communication_cost: f64,
    /// Sub-Gaussian scale sigma of the rewards, a factor of the bounds; the environment's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub reward_noise: Option<f64>,
    /// Which of the two answers a client plays once they are found; regret is measured against it.
    #[serde(default)]
    pub play: Play,
    /// How long rounds wait.
    #[serde(flatten)]
    pub patience: PatienceParams,
}

fn usual_failure() -> f64 {
    0.05
}

fn one() -> f64 {
    1.0
}

/// When there is communication.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "communicate must be \"2^t\" or a whole number of pulls, at least 1")]
pub enum Communicate {
    /// After every so many pulls of each arm.
    Every(#[schemars(range(min = 1))] u64),
    /// "2^t".
    Formula(String),
}

impl Default for Communicate {
    fn default() -> Self {
        Communicate::Formula("2^t".into())
    }
}

/// Which arm a client plays when it need not explore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Play {
    /// The one that is best for itself.
    #[default]
    Local,
    /// The one that is best on average over all clients.
    Global,
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(super) rules: Rules,
    pub(super) communication_cost: f64,
    pub(super) patience: Patience,
}

impl Params {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        if setting.dim != 0 {
            return Err(ParamError::new("kind", "needs plain arms (environment kind = \"arms\")"));
        }
        if !(self.failure_prob > 0.0 && self.failure_prob < 1.0) {
            let problem = format!("must lie between 0 and 1, not {}", self.failure_prob);
            return Err(ParamError::new("failure_prob", problem));
        }
        let period = match &self.communicate {
            Communicate::Formula(text) if text.replace(' ', "") == "2^t" => None,
            Communicate::Every(period @ 1..) => Some(*period),
            other => {
                let problem = format!("must be \"2^t\" or a whole number of at least 1, not {other:?}");
                return Err(ParamError::new("communicate", problem));
            }
        };
        let noise = self.reward_noise.unwrap_or(setting.reward_noise);
        let patience = self.patience.check()?;
        Ok(Valid {
            rules: Rules {
                clients: setting.users as u32,
                arms: setting.arms as u32,
                failure_prob: self.failure_prob,
                noise: ParamError::not_negative("reward_noise", noise)?,
                period,
                play: self.play,
                patient: patience.deadline.is_some(),
                rewards: plausible::rewards(setting)?,
            },
            communication_cost: ParamError::not_negative("communication_cost", self.communication_cost)?,
            patience,
        })
    }
}
