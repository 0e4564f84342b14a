//! Numbers that both sides know in advance: how long epochs are, and how much gaps weigh in them.

use serde::{Deserialize, Serialize};

/// How many rewarded decisions of a client an epoch takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Epochs {
    pub(super) first: u64,
    /// Epochs grow no longer than this.
    pub(super) longest: Option<u64>,
}

impl Epochs {
    /// E_m = E_1 2^(m - 1).
    pub(super) fn length(self, epoch: u64) -> u64 {
        let doublings = u32::try_from(epoch.saturating_sub(1)).unwrap_or(u32::MAX);
        let doubled = 2u64.checked_pow(doublings).map_or(u64::MAX, |times| self.first.saturating_mul(times));
        doubled.min(self.longest.unwrap_or(u64::MAX))
    }
}

/// gamma, epoch by epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Gamma {
    /// The same in every epoch: what the authors run.
    Constant(f64),
    /// weight sqrt(K / error), by the error of the epoch's model.
    Schedule {
        /// c.
        weight: f64,
        /// sigma.
        noise: f64,
        /// d.
        dim: usize,
        /// delta.
        failure_prob: f64,
    },
}

impl Gamma {
    /// gamma_m, for a model of this many observations and a decision among this many arms.
    pub(super) fn of(self, epoch: u64, observations: u64, arms: usize) -> f64 {
        match self {
            Gamma::Constant(gamma) => gamma,
            // gamma_1: nothing is known, f = 0 has no gaps.
            Gamma::Schedule { .. } if observations == 0 => 1.0,
            Gamma::Schedule { weight, noise, dim, failure_prob } => {
                let error = least_squares_error(noise, dim, failure_prob, epoch, observations);
                weight * libm::sqrt(arms as f64 / error)
            }
        }
    }
}

/// E(n) at confidence delta / (2 m^2): the order of the error of least squares on n observations of d features,
/// sigma^2 (d + ln(2 m^2 / delta)) / n.
fn least_squares_error(noise: f64, dim: usize, failure_prob: f64, epoch: u64, observations: u64) -> f64 {
    let epoch = epoch as f64;
    let logarithm = libm::log(2.0 * epoch * epoch / failure_prob);
    noise * noise * (dim as f64 + logarithm) / observations as f64
}
