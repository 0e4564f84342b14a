#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

use cahoots_core::policy::Moss;
use cahoots_core::{ParamError, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::arms::{AloneArms, plain_arms};
use crate::kit::{Alone, Solitary};

/// MOSS per client.
pub type MossAlone = Alone<Minimax>;

/// What is MOSS's own.
pub struct Minimax;

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// n: pulls that a client will make; the horizon of the experiment when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub pulls: Option<u64>,
}

impl Solitary for Minimax {
    const NAME: &'static str = "moss-alone";
    const SUMMARY: &'static str = "one MOSS per client over plain arms, no communication";
    type Params = Params;
    type Valid = (usize, Moss);
    type Client = AloneArms<Moss>;

    fn check(params: Params, setting: &Setting) -> Result<(usize, Moss), ParamError> {
        let arms = plain_arms(setting)?;
        match params.pulls {
            Some(0) => Err(ParamError::new("pulls", "must be at least 1")),
            pulls => Ok((arms, Moss { horizon: pulls.unwrap_or(setting.horizon).max(1) })),
        }
    }

    fn client(&(arms, policy): &(usize, Moss)) -> AloneArms<Moss> {
        AloneArms::new(arms, policy)
    }
}
