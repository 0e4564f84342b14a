#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

use cahoots_core::policy::Ucb1;
use cahoots_core::{ParamError, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::arms::{AloneArms, plain_arms};
use crate::kit::{Alone, Solitary};

/// UCB1 per client.
pub type UcbAlone = Alone<Ucb>;

/// What is UCB1's own.
pub struct Ucb;

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Exploration: mean + scale * sqrt(ln t / n). sqrt(2) is UCB1 for rewards in [0, 1].
    #[serde(default = "sqrt_two")]
    #[schemars(range(min = 0.0))]
    pub scale: f64,
}

fn sqrt_two() -> f64 {
    std::f64::consts::SQRT_2
}

impl Solitary for Ucb {
    const NAME: &'static str = "ucb-alone";
    const SUMMARY: &'static str = "one UCB1 per client over plain arms, no communication";
    type Params = Params;
    type Valid = (usize, Ucb1);
    type Client = AloneArms<Ucb1>;

    fn check(params: Params, setting: &Setting) -> Result<(usize, Ucb1), ParamError> {
        let arms = plain_arms(setting)?;
        Ok((arms, Ucb1 { scale: ParamError::not_negative("scale", params.scale)? }))
    }

    fn client(&(arms, policy): &(usize, Ucb1)) -> AloneArms<Ucb1> {
        AloneArms::new(arms, policy)
    }
}
