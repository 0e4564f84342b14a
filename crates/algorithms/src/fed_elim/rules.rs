//! The paper's rules, as functions: when to communicate, how sure one is, what to eliminate.

use cahoots_core::{ArmIndex, Misbehaviour, plausible};
use serde::{Deserialize, Serialize};

use super::params::Play;

/// What everyone knows before anything was learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rules {
    /// M.
    pub(super) clients: u32,
    /// K.
    pub(super) arms: u32,
    /// delta.
    pub(super) failure_prob: f64,
    /// sigma.
    pub(super) noise: f64,
    /// H; powers of two where there is none.
    pub(super) period: Option<u64>,
    /// What is played when there is nothing to explore.
    pub(super) play: Play,
    /// Rounds may go on without some clients.
    pub(super) patient: bool,
    /// The smallest and the largest reward.
    pub(super) rewards: (f64, f64),
}

impl Rules {
    /// All arms.
    pub(super) fn all_arms(&self) -> Vec<ArmIndex> {
        (0..self.arms).map(ArmIndex).collect()
    }

    /// The n of round `round`, rounds counting from 1: how many pulls of each arm are in its means.
    pub(super) fn pulls_at(&self, round: u64) -> u64 {
        match self.period {
            Some(period) => period.saturating_mul(round),
            None => 1u64.checked_shl((round - 1).try_into().unwrap_or(u32::MAX)).unwrap_or(u64::MAX),
        }
    }

    /// alpha_l(n): every own mean of n pulls lies within this of what it estimates, for all clients, arms and n at
    /// once, with a probability of at least 1 - delta / 2.
    pub(super) fn local_bound(&self, n: u64) -> f64 {
        let cases = 8.0 * f64::from(self.arms) * f64::from(self.clients);
        self.noise * (2.0 * self.log(cases, n) / n as f64).sqrt()
    }

    /// alpha_g(n): the same of the averages over so many clients' means of n pulls each.
    pub(super) fn global_bound(&self, n: u64, clients: usize) -> f64 {
        let cases = 8.0 * f64::from(self.arms);
        self.noise * (2.0 * self.log(cases, n) / (clients as f64 * n as f64)).sqrt()
    }

    fn log(&self, cases: f64, n: u64) -> f64 {
        let n = n as f64;
        libm::log(cases * n * n / self.failure_prob)
    }

    /// How sure a global bound is, at the least (n = 1), for one arm.
    pub(super) fn chance(&self) -> f64 {
        1.0 - self.failure_prob / (4.0 * f64::from(self.arms))
    }

    /// What is left: all that is not more than two bounds below the best. `means` has a value for each of `active`.
    pub(super) fn keep(active: &[ArmIndex], means: &[f64], bound: f64) -> Vec<ArmIndex> {
        let best = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let pairs = active.iter().zip(means);
        pairs.filter(|(_, mean)| best - **mean <= 2.0 * bound).map(|(arm, _)| *arm).collect()
    }

    /// Refuses means that rewards cannot have.
    pub(super) fn check_means(&self, means: &[f64]) -> Result<(), Misbehaviour> {
        plausible::check_values("a mean", means, self.rewards)
    }
}
