//! What an evaluation says.

use serde::Serialize;

use super::diagnostics::Diagnostics;

/// From where to where.
pub type Interval = (f64, f64);

/// What one estimator says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Its name.
    pub estimator: &'static str,
    /// The policy's reward per decision.
    pub value: f64,
    /// Standard error.
    pub standard_error: f64,
    /// By the normal law: holds as logs grow (asymptotic).
    pub normal: Interval,
    /// By the bootstrap's percentiles: holds as logs grow (asymptotic).
    pub bootstrap: Option<Interval>,
    /// Holds for logs of any length, and at all lengths at once. None for snips and dr where weights are clipped, nor for
    /// switch unless a stated tau keeps every weight there can be: what they estimate then moves with the models.
    pub anytime: Option<Interval>,
    /// Threshold of SWITCH.
    pub tau: Option<f64>,
    /// What it rests on.
    pub assumes: &'static str,
}

/// What a policy would have earned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// One for each estimator.
    pub estimates: Vec<Estimate>,
    /// Mean reward of the decisions that were evaluated, as logged.
    pub logged: f64,
    /// Whether the log can answer.
    pub diagnostics: Diagnostics,
    /// Decisions that the policy was made from, where it was; they are not evaluated.
    pub fitted_on: u64,
    /// What is to be known before it is believed.
    pub warnings: Vec<String>,
}

/// What each estimator rests on.
pub(crate) mod assumes {
    pub(crate) const IPS: &str = "propensities are right, and above 0 wherever the policy goes; no model";
    pub(crate) const SNIPS: &str =
        "as ips; a small bias that vanishes as the log grows, never outside of the rewards";
    pub(crate) const DM: &str = "the models are right; propensities are not used. Its intervals show how the models' mean \
                                 would vary, not how wrong the models are";
    pub(crate) const DR: &str = "as ips, with less spread where the models are good; if propensities are wrong, the models \
                                 must be right";
    pub(crate) const SWITCH: &str = "as dr where weights are at most tau; beyond, the models are trusted. Its intervals do \
                                     not hold the bias that this brings";
}
