//! Policies whose worth is asked for.

use super::log::{Event, Shape};
use super::models::{Fitted, Ridge};
use super::refusal::Refusal;

/// A policy as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The policy that logged: a check, since its worth is the mean reward.
    Logged,
    /// Every arm as likely.
    Uniform,
    /// Always this arm.
    Constant(String),
    /// What columns of the log say, one for each arm.
    Columns,
    /// Always the arm of the highest mean, in each position; found in one half of the log.
    BestOfLog,
    /// The arm that a model for each arm thinks best, or any arm with probability `epsilon`; fitted to one half of the
    /// log.
    GreedyLinear {
        /// How often any arm is taken.
        epsilon: f64,
    },
}

impl Target {
    /// Reads `uniform`, `constant:ARM`, `epsilon-greedy:0.1` and the like; `None` if it is none of these.
    pub fn parse(text: &str) -> Option<Result<Target, Refusal>> {
        let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        Some(Ok(match (kind, rest) {
            ("logged", None) => Target::Logged,
            ("uniform", None) => Target::Uniform,
            ("best-of-log", None) => Target::BestOfLog,
            ("greedy-linear", None) => Target::GreedyLinear { epsilon: 0.0 },
            ("constant", Some(arm)) if !arm.is_empty() => Target::Constant(arm.into()),
            ("columns", Some(prefix)) if !prefix.is_empty() => Target::Columns,
            ("epsilon-greedy", Some(epsilon)) => match epsilon.parse::<f64>() {
                Ok(epsilon) if (0.0..=1.0).contains(&epsilon) => Target::GreedyLinear { epsilon },
                _ => return Some(Err(Refusal::Question("epsilon-greedy:E takes an E from 0 to 1".into()))),
            },
            ("constant", _) => return Some(Err(Refusal::Question("constant:ARM names an arm".into()))),
            ("columns", _) => {
                let how = "columns:PREFIX names the columns by what stands before the arm in their names";
                return Some(Err(Refusal::Question(how.into())));
            }
            ("epsilon-greedy", None) => return Some(Err(Refusal::Question("say epsilon-greedy:0.1".into()))),
            _ => return None,
        }))
    }

    /// Whether it is made from one half of the log and evaluated on the other.
    pub fn is_fitted(&self) -> bool {
        matches!(self, Target::BestOfLog | Target::GreedyLinear { .. })
    }

    /// The policy, ready; a fitted one is made from one fold of these sums.
    pub(crate) fn ready(&self, shape: &Shape, sums: &Ridge, fold: usize) -> Result<Policy, Refusal> {
        Ok(match self {
            Target::Logged => Policy::Logged,
            Target::Uniform => Policy::Uniform,
            Target::Columns if shape.has_target => Policy::Columns,
            Target::Columns => {
                return Err(Refusal::Question(
                    "the log has no columns with the probabilities of the policy".into(),
                ));
            }
            Target::Constant(name) => match shape.arms.iter().position(|arm| arm == name) {
                Some(arm) => Policy::Fixed(vec![arm; shape.positions.len()]),
                None => {
                    let few: Vec<&str> = shape.arms.iter().take(8).map(String::as_str).collect();
                    let more = if shape.arms.len() > few.len() { ", ..." } else { "" };
                    return Err(Refusal::Question(format!(
                        "constant:{name}: the log has no such arm; it has {}{more}",
                        few.join(", ")
                    )));
                }
            },
            Target::BestOfLog => {
                let best = |position| {
                    let mean = |arm: usize| {
                        let (count, mean) = sums.seen(fold, shape.cell(position as u32, arm));
                        if count > 0.0 { mean } else { f64::NEG_INFINITY }
                    };
                    first_highest((0..shape.arms.len()).map(mean))
                };
                Policy::Fixed((0..shape.positions.len()).map(best).collect())
            }
            Target::GreedyLinear { epsilon } => {
                Policy::Linear { model: sums.fit(|other| other == fold), epsilon: *epsilon }
            }
        })
    }
}

/// A policy that can say how likely it takes each arm.
pub enum Policy {
    /// Whatever was logged.
    Logged,
    /// Every arm as likely.
    Uniform,
    /// What the log says.
    Columns,
    /// One arm in each position.
    Fixed(Vec<usize>),
    /// The best by a model, or any.
    Linear {
        /// What arms pay.
        model: Fitted,
        /// How often any arm is taken.
        epsilon: f64,
    },
}

impl Policy {
    /// Fills in how likely each arm is, given what was known (`features` begin with a 1). The logging policy is known at
    /// the arm that it took alone: it gets all of the probability, and its weight is 1.
    pub fn probabilities(&self, event: &Event<'_>, features: &[f64], out: &mut [f64]) {
        match self {
            Policy::Columns => return out.copy_from_slice(event.target),
            Policy::Uniform => return out.fill(1.0 / out.len() as f64),
            _ => out.fill(0.0),
        }
        match self {
            Policy::Fixed(arms) => out[arms[event.position as usize]] = 1.0,
            Policy::Linear { model, epsilon } => {
                let first = event.position as usize * out.len();
                let best = first_highest((0..out.len()).map(|arm| model.predict(first + arm, features)));
                out.fill(epsilon / out.len() as f64);
                out[best] += 1.0 - epsilon;
            }
            _ => out[event.arm as usize] = 1.0,
        }
    }

    /// The weight of a logged decision.
    pub fn weight(&self, event: &Event<'_>, probabilities: &[f64]) -> f64 {
        match self {
            Policy::Logged => 1.0,
            _ => probabilities[event.arm as usize] / event.propensity,
        }
    }

    /// The largest weight there can be where no propensity is below `least`.
    pub(crate) fn largest_weight(&self, arms: usize, least: f64) -> f64 {
        match self {
            Policy::Logged => 1.0,
            Policy::Uniform => 1.0 / (arms as f64 * least),
            Policy::Columns | Policy::Fixed(_) => 1.0 / least,
            Policy::Linear { epsilon, .. } => (1.0 - epsilon + epsilon / arms as f64) / least,
        }
    }
}

/// The first of the highest.
fn first_highest(values: impl Iterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (index, value) in values.enumerate() {
        if value > best.1 {
            best = (index, value);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read_as_they_are_written() {
        let read = |text| Target::parse(text).map(Result::unwrap);
        assert_eq!(read("uniform"), Some(Target::Uniform));
        assert_eq!(read("constant:a:b"), Some(Target::Constant("a:b".into())));
        assert_eq!(read("epsilon-greedy:0.25"), Some(Target::GreedyLinear { epsilon: 0.25 }));
        assert_eq!(read("linucb-alone"), None);
        for wrong in ["constant", "constant:", "epsilon-greedy:2", "epsilon-greedy", "columns:"] {
            assert!(Target::parse(wrong).unwrap().is_err(), "{wrong}");
        }
    }
}
