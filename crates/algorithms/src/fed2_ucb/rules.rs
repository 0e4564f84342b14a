//! The paper's schedules and bounds, as functions: how many clients, how many pulls, how sure one is, what to
//! eliminate.

use cahoots_core::{ArmIndex, Misbehaviour, plausible};
use serde::{Deserialize, Serialize};

use crate::kit::Lengths;

/// More than any client pulls: sums of so many stay exact.
const MOST: f64 = (1u64 << 52) as f64;

/// What everyone knows before anything was learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rules {
    /// How many clients there are to admit.
    pub(super) clients: u32,
    /// K.
    pub(super) arms: u32,
    /// The global model is the average of all clients' (Fed1-UCB).
    pub(super) exact: bool,
    /// g(p).
    pub(super) admit: Lengths,
    /// f(p).
    pub(super) lengths: Lengths,
    /// c sigma^2 log T.
    pub(super) rewards_radius: f64,
    /// c sigma_c^2 log T; 0 in the exact model.
    pub(super) sample_radius: f64,
    /// How likely one mean is within both bounds, at the least.
    pub(super) chance: f64,
    /// C.
    pub(super) communication_loss: f64,
    /// Phases may go on without some clients.
    pub(super) patient: bool,
    /// The smallest and the largest reward.
    pub(super) rewards: (f64, f64),
}

impl Rules {
    /// All arms.
    pub(super) fn all_arms(&self) -> Vec<ArmIndex> {
        (0..self.arms).map(ArmIndex).collect()
    }

    /// g(p).
    pub(super) fn newcomers(&self, phase: u64) -> u64 {
        if self.exact { u64::from(self.clients) } else { whole(self.admit.at(phase)) }
    }

    /// f(p).
    pub(super) fn pulls(&self, phase: u64) -> u64 {
        whole(self.lengths.at(phase))
    }

    /// B_p, of the average over clients whose means of an arm are made of `pulls` pulls each. The variance of their
    /// noise is sigma^2 times eta_p, (1 / M^2) sum over clients of one over their pulls; that of the sample
    /// sigma_c^2 / M.
    pub(super) fn bound(&self, pulls: impl Iterator<Item = u64>) -> f64 {
        let (clients, sum) =
            pulls.fold((0.0, 0.0), |(clients, sum), pulls| (clients + 1.0, sum + 1.0 / pulls as f64));
        let eta = sum / (clients * clients);
        (self.rewards_radius * eta).sqrt() + (self.sample_radius / clients).sqrt()
    }

    /// What is left: all whose upper bound is not below the largest lower bound. `means` has a value for each of
    /// `active`.
    pub(super) fn keep(active: &[ArmIndex], means: &[f64], bound: f64) -> Vec<ArmIndex> {
        let best = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let pairs = active.iter().zip(means);
        pairs.filter(|(_, mean)| **mean + bound >= best - bound).map(|(arm, _)| *arm).collect()
    }

    /// Refuses means that rewards cannot have.
    pub(super) fn check_means(&self, means: &[f64]) -> Result<(), Misbehaviour> {
        plausible::check_values("a mean", means, self.rewards)
    }
}

/// Rounded up.
fn whole(value: f64) -> u64 {
    value.ceil().clamp(1.0, MOST) as u64
}
