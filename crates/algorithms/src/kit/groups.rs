//! Keys of sums over a group, of which nobody sees more than the sum.

use cahoots_core::ParamError;
use cahoots_privacy::aggregation::Terms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a group must be like for its sum to be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupParams {
    /// The smallest group whose sum may be seen (5 when absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 3, max = 128))]
    pub group_least: Option<u32>,
    /// The part of a group that may fail in mid-round without the round being lost (when absent 0.2, and 0 in `cdp-mab`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub missing: Option<f64>,
    /// The part of a group that may tell the coordinator all they know without the promise being broken (when absent 0.2, and 0 in `cdp-mab`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub colluding: Option<f64>,
}

impl GroupParams {
    /// The first key that was written.
    pub fn first_given(&self) -> Option<&'static str> {
        let GroupParams { group_least, missing, colluding } = self;
        let given = [
            ("group_least", group_least.is_some()),
            ("missing", missing.is_some()),
            ("colluding", colluding.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(key, _)| key)
    }

    /// Refuses groups that could not be summed, or not hidden, or that so many clients are too few for.
    /// What is not given is as `usual`.
    pub fn check(&self, usual: Terms, clients: usize) -> Result<Terms, ParamError> {
        let terms = Terms {
            least: self.group_least.unwrap_or(usual.least),
            most: usual.most,
            missing: self.missing.unwrap_or(usual.missing),
            colluding: self.colluding.unwrap_or(usual.colluding),
        };
        let terms = terms.check()?;
        if clients < terms.least as usize {
            let problem = format!(
                "{} is the least, and there are {clients} clients: nothing would ever be summed. Have more, or say 3 or more here",
                terms.least
            );
            return Err(ParamError::new("group_least", problem));
        }
        Ok(terms)
    }
}
