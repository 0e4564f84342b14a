//! The key `robust`.

use cahoots_core::ParamError;
use cahoots_core::policy::LinearPolicy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a server merges where clients may lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Robust {
    /// Those whose contributions do not fit the others' are left out; at most this share of them while the fit is found.
    Trim(#[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 0.5))] f64),
    /// The estimate is the geometric median of the clients', and who is far from it counts for less.
    GeometricMedian,
}

/// Of how many a geometric median's caps assume that they lie.
const MEDIAN_SHARE: f64 = 0.45;

impl Robust {
    /// Share of the clients that may lie.
    pub(super) fn share(self) -> f64 {
        match self {
            Robust::Trim(share) => share,
            Robust::GeometricMedian => MEDIAN_SHARE,
        }
    }
}

/// The key of algorithms whose server can merge robustly.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RobustParams {
    /// Merge so that a share of lying clients does little harm: `{ trim = 0.3 }` or `"geometric-median"`. The server then
    /// keeps what each client contributes apart. For clients that share one model; absent: everyone is believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robust: Option<Robust>,
}

impl RobustParams {
    /// Refuses shares that nobody can trim, and policies that draw on what nobody holds against anything.
    pub fn check(&self, policy: &LinearPolicy) -> Result<Option<Robust>, ParamError> {
        match self.robust {
            Some(_) if policy.needs_contexts() => Err(ParamError::new(
                "robust",
                "cannot be with policy = \"linphe\": that needs sums of contexts, which no rewards speak for and a liar can make up; \
                 take \"linucb\" or \"lints\"",
            )),
            Some(Robust::Trim(share)) if !(share > 0.0 && share < 0.5) => {
                let problem = format!(
                    "trim must lie between 0 and 0.5, not {share}: where half of them lie, no rule tells who"
                );
                Err(ParamError::new("robust", problem))
            }
            other => Ok(other),
        }
    }
}
