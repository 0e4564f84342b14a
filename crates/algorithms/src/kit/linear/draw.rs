//! Keys of the policies that draw arms from a distribution that is known.

use cahoots_core::ParamError;
use cahoots_core::policy::{Base, Leaning, Mixture, PolicyKind, Rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How arms are drawn. All of it may be left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrawParams {
    /// Probability of any arm instead of the policy's, so that no arm is impossible; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub epsilon: Option<f64>,
    /// LinTS: draw this many models and then one of them, so that the probability of the arm can be stated; one model, and no probability, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub samples: Option<u32>,
    /// Softmax: an arm is as likely as exp(estimate / temperature); 0.1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub temperature: Option<f64>,
    /// Inverse-gap weighting: gamma after the first observation; 10 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub gap_weight: Option<f64>,
    /// Inverse-gap weighting: after n observations gamma is gap_weight n^gap_exponent; 0.5 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gap_exponent: Option<f64>,
}

/// Normal draws that fit into one decision's part of its stream: each takes 16 / pi words on average, and there are 2^20.
const MOST_NORMALS: u64 = 1 << 17;

impl DrawParams {
    /// The rule of a policy in so many dimensions.
    pub(super) fn rule(&self, policy: PolicyKind, dim: usize) -> Result<Rule, ParamError> {
        self.belongs(policy)?;
        let epsilon = unit("epsilon", self.epsilon.unwrap_or(0.0))?;
        let mixture = |base| Ok(Rule::Drawn(Mixture { base, epsilon }));
        match policy {
            PolicyKind::LinUcb if epsilon == 0.0 => Ok(Rule::LinUcb),
            PolicyKind::LinUcb => mixture(Base::Bound),
            PolicyKind::LinTs => match self.samples {
                Some(samples) => mixture(Base::Models { samples: models(samples, dim)? }),
                None if epsilon == 0.0 => Ok(Rule::LinTs),
                None => Err(ParamError::new(
                    "epsilon",
                    "with policy = \"lints\" needs `samples` too (20, say): without, no probability can be stated",
                )),
            },
            PolicyKind::LinPhe if epsilon > 0.0 => Err(ParamError::new(
                "epsilon",
                "is not for policy = \"linphe\", whose probabilities are unknown; lints with `samples` states them",
            )),
            PolicyKind::LinPhe => Ok(Rule::LinPhe),
            PolicyKind::Uniform => Ok(Rule::Uniform),
            _ => mixture(Base::Estimates(self.leaning(policy)?)),
        }
    }

    /// How a policy tells arms apart by their estimates; greedy where it does not say.
    pub(crate) fn leaning(&self, policy: PolicyKind) -> Result<Leaning, ParamError> {
        Ok(match policy {
            PolicyKind::Softmax => Leaning::Softmax {
                temperature: ParamError::positive("temperature", self.temperature.unwrap_or(0.1))?,
            },
            PolicyKind::Igw => Leaning::InverseGap {
                weight: ParamError::not_negative("gap_weight", self.gap_weight.unwrap_or(10.0))?,
                exponent: unit("gap_exponent", self.gap_exponent.unwrap_or(0.5))?,
            },
            _ => Leaning::Greedy,
        })
    }

    /// A key that another policy reads would have no effect: nobody means that.
    pub(crate) fn belongs(&self, policy: PolicyKind) -> Result<(), ParamError> {
        let keys = [
            ("samples", self.samples.is_some(), PolicyKind::LinTs, "lints"),
            ("temperature", self.temperature.is_some(), PolicyKind::Softmax, "softmax"),
            ("gap_weight", self.gap_weight.is_some(), PolicyKind::Igw, "igw"),
            ("gap_exponent", self.gap_exponent.is_some(), PolicyKind::Igw, "igw"),
        ];
        match keys.into_iter().find(|(_, given, reader, _)| *given && *reader != policy) {
            Some((key, _, _, reader)) => {
                Err(ParamError::new(key, format!("is for policy = \"{reader}\" alone: leave it out")))
            }
            None => Ok(()),
        }
    }
}

/// Refuses anything but a number from 0 to 1.
pub(crate) fn unit(key: &str, value: f64) -> Result<f64, ParamError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(ParamError::new(key, format!("must be from 0 to 1, not {value}")))
}

fn models(samples: u32, dim: usize) -> Result<u32, ParamError> {
    let most = (MOST_NORMALS / dim.max(1) as u64).max(1);
    if (1..=most).contains(&u64::from(samples)) {
        return Ok(samples);
    }
    Err(ParamError::new("samples", format!("must be 1 to {most} with {dim} features, not {samples}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(policy: PolicyKind, keys: serde_json::Value) -> Result<Rule, String> {
        let params: DrawParams = serde_json::from_value(keys).unwrap();
        params.rule(policy, 5).map_err(|e| e.to_string())
    }

    #[test]
    fn without_keys_policies_are_what_they_were() {
        let none = serde_json::json!({});
        assert_eq!(rule(PolicyKind::LinUcb, none.clone()), Ok(Rule::LinUcb));
        assert_eq!(rule(PolicyKind::LinUcb, serde_json::json!({ "epsilon": 0.0 })), Ok(Rule::LinUcb));
        assert_eq!(rule(PolicyKind::LinTs, none.clone()), Ok(Rule::LinTs));
        assert_eq!(rule(PolicyKind::LinPhe, none.clone()), Ok(Rule::LinPhe));
        assert_eq!(rule(PolicyKind::Uniform, none), Ok(Rule::Uniform));
        assert_eq!(serde_json::to_string(&DrawParams::default()).unwrap(), "{}");
    }

    #[test]
    fn keys_that_cannot_hold_are_refused_by_name() {
        use serde_json::json;
        for (policy, keys, says) in [
            (PolicyKind::LinUcb, json!({ "temperature": 0.1 }), "temperature: is for policy = \"softmax\""),
            (PolicyKind::Softmax, json!({ "gap_weight": 2.0 }), "gap_weight: is for policy = \"igw\""),
            (PolicyKind::Softmax, json!({ "temperature": 0.0 }), "temperature: must be"),
            (PolicyKind::Softmax, json!({ "samples": 5 }), "samples: is for policy = \"lints\""),
            (PolicyKind::Igw, json!({ "gap_weight": -1.0 }), "gap_weight: must be"),
            (PolicyKind::Igw, json!({ "gap_exponent": 1.5 }), "gap_exponent: must be"),
            (PolicyKind::Greedy, json!({ "epsilon": 1.01 }), "epsilon: must be from 0 to 1"),
            (PolicyKind::LinTs, json!({ "epsilon": 0.1 }), "needs `samples`"),
            (PolicyKind::LinPhe, json!({ "epsilon": 0.1 }), "epsilon: is not for"),
            (PolicyKind::LinTs, json!({ "samples": 0 }), "samples: must be 1 to 26214"),
            (PolicyKind::LinTs, json!({ "samples": 26_215 }), "samples: must be 1 to 26214"),
        ] {
            let refusal = rule(policy, keys.clone()).expect_err("refused");
            assert!(refusal.contains(says), "{keys}: {refusal}");
        }
    }

    /// The most models that are taken do not reach into the next decision's part of the stream.
    #[test]
    fn a_decision_stays_within_its_part_of_the_stream() {
        let keys = cahoots_core::Keys::from_seed(3);
        let mut rng = keys.choice(cahoots_core::NodeId(0), 0);
        for _ in 0..MOST_NORMALS {
            rng.normal();
        }
        assert!(rng.position() < 1 << 20, "{} words", rng.position());
        assert!(rng.position() > 1 << 19, "far more would fit");
    }
}
