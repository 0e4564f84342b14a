//! Which way an arm follows from what is known: what users write, and what has been checked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use crate::contract::arms::ArmSet;

/// Which policy, as users write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PolicyKind {
    /// Optimism: mean plus radius times width.
    #[default]
    LinUcb,
    /// Thompson sampling: a model drawn from N(estimate, scale^2 V^-1).
    LinTs,
    /// Perturbed history: past rewards plus fresh pseudo-rewards (Gaussian limit).
    LinPhe,
    /// Any arm.
    Uniform,
    /// The highest estimate.
    Greedy,
    /// In proportion to exp(estimate / temperature).
    Softmax,
    /// Inverse-gap weighting: 1 / (K + gamma (best - estimate)), the rest on the best.
    Igw,
}

/// How a linear policy picks. Snapshots hold it: the order of what is here stays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Rule {
    /// The highest bound.
    LinUcb,
    /// The best of one drawn model. How likely an arm is to be that is an integral that nobody solves: unknown.
    LinTs,
    /// The best of one model of perturbed history: unknown too.
    LinPhe,
    /// Any arm.
    Uniform,
    /// An arm from a distribution that is known.
    Drawn(Mixture),
}

/// With probability `epsilon` any arm, otherwise one that is drawn from `base`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// What the rest is drawn from.
    pub base: Base,
    /// From 0 to 1.
    pub epsilon: f64,
}

/// A distribution over arms that is known exactly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Base {
    /// By the estimated rewards alone.
    Estimates(Leaning),
    /// The highest bound, for certain.
    Bound,
    /// Draws this many models as LinTS does, and then one of them: an arm is as likely as it is best among them.
    Models {
        /// How many.
        samples: u32,
    },
}

/// How arms are told apart by their estimated rewards alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Leaning {
    /// The highest, for certain.
    Greedy,
    /// In proportion to exp(estimate / temperature).
    Softmax {
        /// Above 0: how little differences count.
        temperature: f64,
    },
    /// Inverse-gap weighting with gamma = weight n^exponent after n observations.
    InverseGap {
        /// gamma after the first observation.
        weight: f64,
        /// How gamma grows.
        exponent: f64,
    },
}

impl Leaning {
    /// How likely each arm is, by its estimate from `count` observations.
    pub fn over(&self, estimates: &[f64], count: u64, arms: ArmSet<'_>) -> Distribution {
        match *self {
            Leaning::Greedy => Distribution::greedy(estimates, arms),
            Leaning::Softmax { temperature } => Distribution::softmax(estimates, temperature, arms),
            Leaning::InverseGap { weight, exponent } => {
                let gamma = weight * libm::pow(count.max(1) as f64, exponent);
                Distribution::inverse_gap(estimates, gamma, arms)
            }
        }
    }
}
