//! What learning together has gained a client: its choices beside those that its own data alone would have made.
//!
//! A [`Shadow`] is a ridge model of the client's own rewards and nothing else. At every decision it picks one of the same
//! arms by the same kind of rule. With `D` the sum of (features taken - features that the shadow picked), the expected
//! reward gained is `D' theta`. `theta` lies in the ellipsoid of the client's own data (Abbasi-Yadkori, Pal and Szepesvari
//! 2011, Theorem 2) at all times at once with probability 1 - delta, so that
//!
//! `D' theta_hat - beta |D|_{V^-1} <= D' theta <= D' theta_hat + beta |D|_{V^-1}`,
//! `beta = noise sqrt(ln det V / det(ridge I) + 2 ln(1 / delta)) + sqrt(ridge) norm`
//!
//! holds at all times at once too, whatever `D` depends on: one may look, and stop, whenever one likes. It is no matter that
//! the data were collected by choices of the federation.

use cahoots_kernel::{Factor, Tiles};
use serde::{Deserialize, Serialize};

use crate::contract::arms::ArmSet;
use crate::contract::choice::Picked;
use crate::ids::ArmIndex;
use crate::policy::{Distribution, LinearModel, LinearPolicy};
use crate::rng::Stream;
use crate::stats::LinearStats;

/// How a client of an algorithm would choose by its own data alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alone {
    policy: LinearPolicy,
    ridge: f64,
    norm: f64,
}

impl Alone {
    /// By this policy on a model with this ridge; `None` where the policy needs more than such a model.
    pub fn new(policy: LinearPolicy, ridge: f64) -> Option<Alone> {
        (!policy.needs_contexts()).then_some(Alone { policy, ridge, norm: 1.0 })
    }

    /// Where what is learned is no longer than `norm`, and not 1.
    pub fn with_norm(self, norm: f64) -> Alone {
        Alone { norm, ..self }
    }

    /// What the algorithm was told of the noise of rewards, and takes what is learned to be no longer than; at this confidence.
    pub fn assumed(&self, confidence: f64) -> Assumed {
        Assumed { noise: self.policy.confidence.noise(), norm: self.norm, confidence }
    }
}

/// What an interval rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assumed {
    /// Rewards are their expectation and sub-Gaussian noise of this scale.
    pub noise: f64,
    /// What is learned is no longer than this.
    pub norm: f64,
    /// How sure the interval is to be: 0.95.
    pub confidence: f64,
}

/// What was gained: an expectation over the noise of rewards, given the arms that were offered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Decisions that were compared.
    pub decisions: u64,
    /// Those where the shadow picked other features.
    pub differed: u64,
    /// Not less than this was gained.
    pub low: f64,
    /// By the best estimate.
    pub estimate: f64,
    /// Not more than this was gained: below 0, federation hurts.
    pub high: f64,
    /// With this probability, at all times at once.
    pub confidence: f64,
}

/// A model of a client's own data, and what its choices would have been.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shadow {
    /// Of ridge I + sum x x', and sum x reward.
    model: Factor,
    ridge: f64,
    rewards: u64,
    /// Sum of squared rewards.
    squares: f64,
    decisions: u64,
    differed: u64,
    /// Features taken less features picked, summed.
    difference: Vec<f64>,
}

/// The probability with which rewards as noisy as was assumed are called noisier.
const FALSE_ALARM: f64 = 1e-3;

impl Shadow {
    /// Knows nothing yet; arms have `dim` features, shared and own.
    pub fn new(alone: &Alone, dim: usize) -> Shadow {
        Shadow {
            model: Factor::ridge(dim, alone.ridge),
            ridge: alone.ridge,
            rewards: 0,
            squares: 0.0,
            decisions: 0,
            differed: 0,
            difference: vec![0.0; dim],
        }
    }

    /// Features of an arm, shared and own.
    pub fn dim(&self) -> usize {
        self.difference.len()
    }

    /// Decisions that were compared.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// The arm that own data alone would take. `rng` may be the stream of the decision itself: what is drawn is then the
    /// same, and choices differ by what is known alone.
    pub fn choose(&self, alone: &Alone, arms: ArmSet<'_>, rng: &mut Stream) -> Picked {
        match self.joined(arms) {
            None => alone.policy.choose(self.model(), arms, rng),
            Some(joined) => alone.policy.choose(self.model(), arms.with_features(&joined), rng),
        }
    }

    /// How likely that is to be each arm, where it is known.
    pub fn odds(&self, alone: &Alone, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        match self.joined(arms) {
            None => alone.policy.distribution(self.model(), arms, rng),
            Some(joined) => alone.policy.distribution(self.model(), arms.with_features(&joined), rng),
        }
    }

    fn model(&self) -> LinearModel<'_, impl FnOnce() -> LinearStats> {
        let stats = || unreachable!("policies that ask are refused");
        LinearModel { factor: &self.model, count: self.rewards, stats }
    }

    /// Shared features and own ones as one row, where there are own ones.
    fn joined(&self, arms: ArmSet<'_>) -> Option<Tiles> {
        arms.local()?;
        let mut joined = Tiles::new(self.dim());
        for arm in (0..arms.len() as u32).map(ArmIndex) {
            let mut row = arms.context(arm);
            row.extend(arms.local_context(arm));
            joined.push(&row);
        }
        Some(joined)
    }

    /// The reward that own data expect of these features.
    pub fn expects(&self, x: &[f64]) -> f64 {
        self.model.mean_and_width2(x).0
    }

    /// A decision was taken; gives whether own data alone would have taken other features.
    pub fn compare(&mut self, taken: &[f64], alone: &[f64]) -> bool {
        self.decisions += 1;
        if taken == alone {
            return false;
        }
        self.differed += 1;
        for (sum, (taken, alone)) in self.difference.iter_mut().zip(taken.iter().zip(alone)) {
            *sum += taken - alone;
        }
        true
    }

    /// The reward of features that were taken came.
    pub fn learn(&mut self, x: &[f64], reward: f64) {
        self.model.learn(x, reward);
        self.rewards += 1;
        self.squares += reward * reward;
    }

    /// What was gained; `None` where numbers have grown beyond what can be computed with.
    pub fn gain(&self, assumed: &Assumed) -> Option<Gain> {
        let (estimate, width2) = self.model.mean_and_width2(&self.difference);
        let prior = self.dim() as f64 * libm::log(self.ridge);
        let learned = (self.model.log_det() - prior).max(0.0);
        let failure = -2.0 * libm::log(1.0 - assumed.confidence);
        let radius = assumed.noise * (learned + failure).sqrt() + self.ridge.sqrt() * assumed.norm;
        let half = radius * width2.max(0.0).sqrt();
        let (low, high) = (estimate - half, estimate + half);
        (low.is_finite() && high.is_finite()).then_some(Gain {
            decisions: self.decisions,
            differed: self.differed,
            low,
            estimate,
            high,
            confidence: assumed.confidence,
        })
    }

    /// The scale that rewards scatter with around the best linear model, where that refutes the noise that was assumed, or that
    /// rewards are linear: an interval would then be too narrow. With noise as assumed this is ever said with probability 1/1000 at most.
    ///
    /// The ridge estimate leaves `sum r^2 - |z|^2 <= sum noise^2 + ridge norm^2`, and squares of sub-Gaussian noise have the tail
    /// of Hsu, Kakade and Zhang (2012), spread here over all numbers of rewards.
    pub fn scatter_refutes(&self, assumed: &Assumed) -> Option<f64> {
        let n = self.rewards as f64;
        let rest = self.squares - self.model.z().iter().map(|z| z * z).sum::<f64>();
        let rest = rest - self.ridge * assumed.norm * assumed.norm;
        let tail = libm::log(n * (n + 1.0) / FALSE_ALARM);
        let most = assumed.noise * assumed.noise * (n + 2.0 * (n * tail).sqrt() + 2.0 * tail);
        let rounding = 1e-9 * self.squares;
        (self.rewards > 0 && rest > most + rounding).then(|| (rest / n).sqrt())
    }
}

#[cfg(test)]
mod tests;
