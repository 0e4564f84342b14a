#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
mod params;
#[cfg(test)]
mod tests;

use cahoots_core::{ParamError, Setting};

pub use client::{Client, Kept};
pub use params::{EpsilonGreedyParams, GreedyParams, IgwParams, SoftmaxParams, Valid};

use crate::kit::{Alone, Solitary};

/// The best estimate, always.
pub type Greedy = Alone<Best>;
/// The best estimate, and now and then any arm.
pub type EpsilonGreedy = Alone<BestMostly>;
/// In proportion to the exponential of estimates.
pub type Softmax = Alone<Boltzmann>;
/// Inverse-gap weighting.
pub type Igw = Alone<InverseGap>;

/// What is greedy's own.
pub struct Best;
/// What is epsilon-greedy's own.
pub struct BestMostly;
/// What is softmax's own.
pub struct Boltzmann;
/// What is inverse-gap weighting's own.
pub struct InverseGap;

macro_rules! by_estimate {
    ($type:ty, $name:literal, $params:ty, $summary:literal) => {
        impl Solitary for $type {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            type Params = $params;
            type Valid = Valid;
            type Client = Client;

            fn check(params: $params, setting: &Setting) -> Result<Valid, ParamError> {
                params.check(setting)
            }

            fn client(valid: &Valid) -> Client {
                Client::new(valid)
            }
        }
    };
}

by_estimate!(
    Best,
    "greedy",
    GreedyParams,
    "the arm of the highest estimate, one learner per client, no communication"
);
by_estimate!(
    BestMostly,
    "epsilon-greedy",
    EpsilonGreedyParams,
    "the arm of the highest estimate and now and then any, one learner per client, no communication"
);
by_estimate!(
    Boltzmann,
    "softmax",
    SoftmaxParams,
    "arms as likely as exp(estimate / temperature), one learner per client, no communication"
);
by_estimate!(
    InverseGap,
    "igw",
    IgwParams,
    "inverse-gap weighting (SquareCB) on estimates, one learner per client, no communication"
);
