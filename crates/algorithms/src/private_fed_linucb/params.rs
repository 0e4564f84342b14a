//! What a user writes for `private-fed-linucb`, and what becomes of it.

use cahoots_core::{ParamError, Setting, Unit};
use cahoots_privacy::calibration::{self, Stated};
use cahoots_privacy::{Batches, Calibration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::clusters::users_by_host;
use crate::kit::linear::LinearParams;
use crate::private::Decide;
use crate::private::rules::{Noising, Rewards, Rules, Times, Valid, released_alone};

/// Keys of `private-fed-linucb`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PrivateFedLinucbParams {
    /// Common keys of linear algorithms.
    #[serde(flatten)]
    pub linear: LinearParams,
    /// What is promised.
    #[serde(flatten)]
    pub stated: Stated,
    /// B: ticks from one synchronisation to the next; ceil(sqrt(T / M)) for T ticks and M clients when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub batch: Option<u64>,
    /// lambda is this many times a bound on the spectral norm of the noise in the sum of all clients, or `ridge` if that
    /// is more.
    #[serde(default = "two")]
    #[schemars(range(min = 0.0))]
    pub shift: f64,
    /// What decisions are made with: all that was released and, with "own", the client's own exact data since then.
    #[serde(default)]
    pub decide: Decide,
    /// The smallest and the largest reward; what lies outside is clipped. The setting's when absent, or [-1, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward_range: Option<(f64, f64)>,
    /// Learn rewards less the middle of their range, which needs less noise: for contexts that have a feature that is
    /// always the same.
    #[serde(default)]
    pub centred: bool,
}

fn two() -> f64 {
    2.0
}

impl PrivateFedLinucbParams {
    pub(super) fn check(&self, setting: &Setting) -> Result<Valid, ParamError> {
        let plain = self.linear.check(setting)?;
        released_alone(&plain.policy)?;
        let shift = ParamError::not_negative("shift", self.shift)?;
        let users = users_by_host(setting);
        let times = self.times(setting.horizon, users.len())?;
        let rewards = Rewards::new(self.reward_range.or(setting.reward_range), self.centred)?;
        let budget = self.stated.budget(Calibration::Analytic)?;
        let sensitivity = calibration::sensitivity(rewards.largest());
        let batches = Batches::new(&budget, times.releases(), sensitivity, setting.dim)?;
        let bound = spectral_bound(&batches, users.len(), setting.dim, self.linear.failure_prob);
        let ridge = self.linear.ridge.max(shift * bound);
        // The radius is that of a ridge estimate with lambda.
        let linear = LinearParams { ridge, ..self.linear.clone() }.check(setting)?;
        let rules = Rules {
            dim: setting.dim,
            ridge,
            policy: linear.policy,
            noise: Noising::Batches(batches),
            times,
            decide: self.decide,
            per_user: u64::MAX,
            unit: Unit::Event,
            rewards,
            weighing: None,
            apart: None,
            budget,
        };
        // Who keeps to its own data needs no ridge above the noise.
        let alone = plain.alone().filter(|_| !self.centred);
        Ok(Valid { rules, users, alone })
    }

    /// Every B ticks; the paper's B, for which regret and communication balance, when none is stated.
    fn times(&self, horizon: u64, clients: usize) -> Result<Times, ParamError> {
        let batch = self.batch.unwrap_or_else(|| {
            let (horizon, clients) = (horizon.max(1) as f64, clients.max(1) as f64);
            libm::ceil((horizon / clients).sqrt()) as u64
        });
        if batch == 0 {
            return Err(ParamError::new("batch", "must be at least 1, not 0"));
        }
        let too_often = || ParamError::new("batch", format!("{batch} is too short for {horizon} ticks"));
        Times::every(batch, horizon).ok_or_else(too_often)
    }
}

/// What no sum's noise is above, but with the stated probability: M clients, each with a node per level. A symmetric
/// Gaussian matrix with variance 1 off and 2 on the diagonal has E|N| <= 2 sqrt d and is a sqrt 2-Lipschitz function of
/// standard normals; a bound for each of the sums.
fn spectral_bound(batches: &Batches, clients: usize, dim: usize, failure_prob: f64) -> f64 {
    let nodes = f64::from(batches.levels()) * clients as f64;
    let tail = 2.0 * libm::log(2.0 * f64::from(batches.releases) / failure_prob).sqrt();
    batches.noise.deviation() * nodes.sqrt() * (2.0 * (dim as f64).sqrt() + tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::linalg::Eigen;
    use cahoots_core::{Keys, LinearStats, Mechanism as _, NodeId, Symmetric};
    use cahoots_privacy::{Batched, Budget};

    /// The noise in the sum of all clients stays below the bound, and comes near it.
    #[test]
    fn noise_is_within_its_bound_and_the_bound_is_not_far() {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, calibration: Calibration::Analytic };
        let (dim, clients, releases) = (6, 4, 15);
        let batches = Batches::new(&budget, releases, 2.0, dim).unwrap();
        let bound = spectral_bound(&batches, clients, dim, 0.1);
        let mut most: f64 = 0.0;
        for run in 0..40 {
            let mut sums: Vec<Batched> = (0..clients).map(|_| Batched::new(batches, dim)).collect();
            let mut rng = Keys::from_seed(run).privacy(NodeId(0), 0);
            for _ in 0..releases {
                let mut total = Symmetric::zero(dim);
                for sum in &mut sums {
                    let released = sum.mechanism("u", "o").release(LinearStats::empty(dim), &mut rng);
                    total.add(&released.gram);
                }
                most = Eigen::of(&total).values.into_iter().fold(most, |most, value| most.max(value.abs()));
            }
        }
        assert!(most < bound && most > 0.4 * bound, "{most} of {bound}");
    }
}
