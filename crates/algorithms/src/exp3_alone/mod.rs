#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

use cahoots_core::policy::{Distribution, Exp3};
use cahoots_core::{
    ArmIndex, ArmSet, Choice, Cx, Learner, ParamError, Picked, Setting, Silence, Stream, UserId,
    hears_nothing,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::arms::plain_arms;
use crate::kit::{Alone, Solitary};

/// Exp3 per client.
pub type Exp3Alone = Alone<ExponentialWeights>;

/// What is Exp3's own.
pub struct ExponentialWeights;

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// gamma: the share of arms at random; that of Corollary 3.2 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub mixing: Option<f64>,
    /// g of Corollary 3.2: no arm earns more in all, and the pulls that a client will make are enough; the horizon of the experiment when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub pulls: Option<u64>,
}

/// Weights, and nothing else.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    exp3: Exp3,
}

/// What a decision keeps until its reward comes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// The arm.
    pub arm: ArmIndex,
    /// What it was drawn with.
    pub probability: f64,
}

hears_nothing!(Client);

impl Learner for Client {
    type Pending = Drawn;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Drawn> {
        let distribution = self.exp3.distribution(arms);
        let picked = Picked::drawn(&distribution, rng);
        picked.keeping(Drawn { arm: picked.arm, probability: distribution.of(picked.arm) })
    }

    fn odds(&mut self, _user: UserId, arms: ArmSet<'_>, _rng: &mut Stream) -> Option<Distribution> {
        Some(self.exp3.distribution(arms))
    }

    fn observe(&mut self, drawn: Drawn, reward: f64, _cx: &mut Cx<'_, Silence>) {
        self.exp3.learn(drawn.arm, drawn.probability, reward);
    }
}

impl Solitary for ExponentialWeights {
    const NAME: &'static str = "exp3-alone";
    const SUMMARY: &'static str = "one Exp3 per client over plain arms with rewards in [0, 1] that nobody need have drawn, no communication";
    type Params = Params;
    type Valid = (usize, f64);
    type Client = Client;

    fn check(params: Params, setting: &Setting) -> Result<(usize, f64), ParamError> {
        let arms = plain_arms(setting)?;
        if params.pulls == Some(0) {
            return Err(ParamError::new("pulls", "must be at least 1"));
        }
        let most = params.pulls.unwrap_or(setting.horizon).max(1) as f64;
        let mixing = params.mixing.unwrap_or_else(|| Exp3::mixing_for(arms, most));
        if !(mixing > 0.0 && mixing <= 1.0) {
            return Err(ParamError::new("mixing", format!("must be above 0 and at most 1, not {mixing}")));
        }
        Ok((arms, mixing))
    }

    fn clips(_valid: &(usize, f64)) -> Option<(f64, f64)> {
        Some((0.0, 1.0))
    }

    fn client(&(arms, mixing): &(usize, f64)) -> Client {
        Client { exp3: Exp3::new(arms, mixing) }
    }
}
