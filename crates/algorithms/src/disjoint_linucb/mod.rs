#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use cahoots_core::{LinearStats, ParamError, Setting, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use client::{Client, Pulled};

use crate::kit::linear::tenth;
use crate::kit::{Alone, Solitary};

/// A LinUCB for each arm.
pub type DisjointLinucb = Alone<Disjoint>;

/// What is its own.
pub struct Disjoint;

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Regularisation of each arm's ridge estimate: 1 in the paper.
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub ridge: f64,
    /// delta of the paper's alpha = 1 + sqrt(ln(2 / delta) / 2).
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub failure_prob: f64,
    /// alpha, the confidence radius; from failure_prob when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub alpha: Option<f64>,
}

fn one() -> f64 {
    1.0
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    ridge: f64,
    alpha: f64,
    /// No data yet: shared by all arms until they learn something.
    nothing: Arc<View>,
}

impl Solitary for Disjoint {
    const NAME: &'static str = "disjoint-linucb";
    const SUMMARY: &'static str = "a LinUCB for each arm, one learner per client, for arms that are the same at every decision; no communication";
    const BY_POSITION: bool = true;
    type Params = Params;
    type Valid = Valid;
    type Client = Client;

    fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
        if setting.dim == 0 {
            return Err(ParamError::new(
                "kind",
                "needs arms with features; this environment has plain arms (try ucb-alone)",
            ));
        }
        let ridge = ParamError::positive("ridge", params.ridge)?;
        let failure_prob = ParamError::open_unit("failure_prob", params.failure_prob)?;
        let alpha = params.alpha.unwrap_or_else(|| 1.0 + (0.5 * libm::log(2.0 / failure_prob)).sqrt());
        let nothing = View::new(0, LinearStats::empty(setting.dim));
        nothing.check(ridge).map_err(|e| ParamError::new("ridge", e.to_string()))?;
        Ok(Valid { ridge, alpha: ParamError::not_negative("alpha", alpha)?, nothing })
    }

    fn models(_valid: &Valid, setting: &Setting) -> usize {
        setting.arms
    }

    fn client(valid: &Valid) -> Client {
        Client::new(valid.ridge, valid.alpha, valid.nothing.clone())
    }
}
