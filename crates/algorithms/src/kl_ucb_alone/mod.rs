#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

use cahoots_core::policy::KlUcb;
use cahoots_core::{ParamError, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::arms::{AloneArms, plain_arms};
use crate::kit::{Alone, Solitary};

/// KL-UCB per client.
pub type KlUcbAlone = Alone<Kl>;

/// What is KL-UCB's own.
pub struct Kl;

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// c of the index n d(mean, q) <= ln t + c ln ln t: 0, as the paper recommends, or 3, as its theorem has it.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub confidence_constant: f64,
}

impl Solitary for Kl {
    const NAME: &'static str = "kl-ucb-alone";
    const SUMMARY: &'static str =
        "one KL-UCB per client over plain arms with rewards in [0, 1], no communication";
    type Params = Params;
    type Valid = (usize, KlUcb);
    type Client = AloneArms<KlUcb>;

    fn check(params: Params, setting: &Setting) -> Result<(usize, KlUcb), ParamError> {
        let arms = plain_arms(setting)?;
        let constant = ParamError::not_negative("confidence_constant", params.confidence_constant)?;
        Ok((arms, KlUcb { constant }))
    }

    fn clips(_valid: &(usize, KlUcb)) -> Option<(f64, f64)> {
        Some((0.0, 1.0))
    }

    fn client(&(arms, policy): &(usize, KlUcb)) -> AloneArms<KlUcb> {
        AloneArms::new(arms, policy)
    }
}
