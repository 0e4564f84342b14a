//! How long rounds wait: the two keys of every algorithm that has rounds.

use cahoots_core::{ParamError, Patience};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys of algorithms whose rounds wait for clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PatienceParams {
    /// Ticks after which a round goes on without those that did not answer, counted from when they were asked (from the first answer, where clients answer unasked); for ever when absent, as the papers do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub deadline: Option<u64>,
    /// The share of those expected that must have answered before the deadline counts, above 0 and at most 1; when absent, those who have answered are enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub quorum: Option<f64>,
}

impl PatienceParams {
    /// Refuses a deadline at once, a share that is none, and a quorum that nothing asks for.
    pub fn check(self) -> Result<Patience, ParamError> {
        match (self.deadline, self.quorum) {
            (Some(0), _) => Err(ParamError::new(
                "deadline",
                "must be at least 1 tick; leave the key out to wait for ever",
            )),
            (_, Some(quorum)) if !(quorum > 0.0 && quorum <= 1.0) => {
                Err(ParamError::new("quorum", format!("must be above 0 and at most 1, not {quorum}")))
            }
            (None, Some(_)) => Err(ParamError::new(
                "quorum",
                "is for rounds with a deadline: set `deadline` too, or leave the key out to wait for all",
            )),
            (deadline, quorum) => Ok(Patience { deadline, quorum: quorum.unwrap_or(0.0) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_meant_is_refused_and_the_key_is_named() {
        let problem = |deadline, quorum| PatienceParams { deadline, quorum }.check().unwrap_err().to_string();
        assert!(problem(Some(0), None).starts_with("deadline: must be at least 1 tick"));
        for quorum in [0.0, -0.5, 1.01, f64::NAN] {
            assert!(problem(Some(3), Some(quorum)).starts_with("quorum: must be above 0 and at most 1"));
        }
        assert!(problem(None, Some(0.5)).starts_with("quorum: is for rounds with a deadline"));
        let checked = PatienceParams { deadline: Some(3), quorum: Some(1.0) }.check().unwrap();
        assert_eq!(checked, Patience { deadline: Some(3), quorum: 1.0 });
        assert_eq!(PatienceParams::default().check().unwrap(), Patience::default());
    }
}
