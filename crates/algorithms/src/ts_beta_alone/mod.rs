#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

use cahoots_core::policy::BetaSampling;
use cahoots_core::{ParamError, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::arms::{AloneArms, plain_arms};
use crate::kit::{Alone, Solitary};

/// Thompson sampling with Beta posteriors, per client.
pub type TsBetaAlone = Alone<TsBeta>;

/// What is its own.
pub struct TsBeta;

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Draw all arms so many times and then one of the winners, so that its probability can be stated; once, and no probability, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub samples: Option<u32>,
}

/// Draws of arms that fit into one decision's part of its stream: each takes 16 words on average, and there are 2^20.
const MOST_DRAWS: u64 = 1 << 15;

impl Solitary for TsBeta {
    const NAME: &'static str = "ts-beta-alone";
    const SUMMARY: &'static str = "one Thompson sampler per client over plain arms with rewards in [0, 1] (Beta posteriors), no communication";
    type Params = Params;
    type Valid = (usize, BetaSampling);
    type Client = AloneArms<BetaSampling>;

    fn check(params: Params, setting: &Setting) -> Result<(usize, BetaSampling), ParamError> {
        let arms = plain_arms(setting)?;
        if arms as u64 > MOST_DRAWS {
            let problem =
                format!("has {arms}: ts-beta-alone draws one number for each, at most {MOST_DRAWS}");
            return Err(ParamError::new("arms", problem));
        }
        let most = (MOST_DRAWS / arms.max(1) as u64).max(1);
        match params.samples {
            Some(samples) if !(1..=most).contains(&u64::from(samples)) => {
                let problem = format!("must be 1 to {most} with {arms} arms, not {samples}");
                Err(ParamError::new("samples", problem))
            }
            samples => Ok((arms, BetaSampling { samples })),
        }
    }

    fn clips(_valid: &(usize, BetaSampling)) -> Option<(f64, f64)> {
        Some((0.0, 1.0))
    }

    fn client(&(arms, policy): &(usize, BetaSampling)) -> AloneArms<BetaSampling> {
        AloneArms::new(arms, policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_arms_as_a_decision_has_numbers_for() {
        let check = |arms| TsBeta::check(Params { samples: None }, &Setting::k_armed(1, arms)).map(|_| ());
        assert_eq!(check(MOST_DRAWS as usize), Ok(()));
        assert_eq!(check(MOST_DRAWS as usize + 1).unwrap_err().key, "arms");
    }
}
