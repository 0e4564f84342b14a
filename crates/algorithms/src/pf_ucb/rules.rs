//! The paper's equations, as functions: how long to explore, how sure one is, what to eliminate.

use cahoots_core::policy::pick;
use cahoots_core::{ArmIndex, Misbehaviour, plausible};
use serde::{Deserialize, Serialize};

use crate::kit::Lengths;

/// What a client knows before it has learned anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rules {
    /// M.
    pub(super) clients: u32,
    /// K.
    pub(super) arms: u32,
    /// alpha.
    pub(super) alpha: f64,
    /// f(p).
    pub(super) lengths: Lengths,
    /// What the square of B_p has above F(p).
    pub(super) radius: f64,
    /// Lengths follow the estimated gaps (Section 6).
    pub(super) enhanced: bool,
    /// The authors' code where it differs from the text.
    pub(super) authors: bool,
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

    /// n^g(p) and n^l(p) of an arm whose gap asks for `factor` times the usual length (Section 4.2; the
    /// enhancement of Section 6).
    pub(super) fn exploration(&self, length: f64, factor: f64) -> (u64, u64) {
        let global = ((1.0 - self.alpha) * length * factor).ceil() as u64;
        let local = (f64::from(self.clients) * self.alpha * length * factor).ceil() as u64;
        if self.enhanced && self.authors { (global.max(1), local.max(1)) } else { (global, local) }
    }

    /// Refuses means that rewards cannot have.
    pub(super) fn check_means(&self, means: &[f64]) -> Result<(), Misbehaviour> {
        plausible::check_values("a mean", means, self.rewards)
    }

    /// Refuses estimated gaps of phase `p` that rewards cannot have: no mean is farther from another than rewards
    /// are (0, where an arm has no mean yet), and whoever explored no phase but this one has the largest B_p.
    pub(super) fn check_gaps(&self, p: u64, gaps: &[f64]) -> Result<(), Misbehaviour> {
        let (low, high) = self.rewards;
        let most = high.max(0.0) - low.min(0.0) + 2.0 * self.bound(self.lengths.at(p));
        if !gaps.iter().all(|gap| *gap > 0.0) {
            return Err(Misbehaviour::Implausible("gaps that are not above 0".into()));
        }
        plausible::check_values("a gap", gaps, (0.0, most))
    }

    /// B_p, from F(p).
    pub(super) fn bound(&self, total_length: f64) -> f64 {
        (self.radius / total_length).sqrt()
    }

    /// Line 20 and Eq. (4): a client's own mean and the average over clients, mixed.
    pub(super) fn mix(&self, local: f64, global: f64) -> f64 {
        self.alpha * local + (1.0 - self.alpha) * global
    }

    /// Eq. (8): what is left of the active set. `mixed` has a value for every arm.
    pub(super) fn keep(&self, active: &[ArmIndex], mixed: &[f64], bound: f64) -> Vec<ArmIndex> {
        if self.authors {
            let best = max(mixed.iter().copied());
            return active.iter().copied().filter(|arm| mixed[arm.index()] + bound >= best - bound).collect();
        }
        let best = max(active.iter().map(|arm| mixed[arm.index()]));
        let left: Vec<ArmIndex> =
            active.iter().copied().filter(|arm| best - mixed[arm.index()] < 2.0 * bound).collect();
        assert!(!left.is_empty() || active.is_empty(), "the best active arm is never eliminated");
        left
    }

    /// Line 16: the arm to play while waiting.
    pub(super) fn waiting_arm(&self, active: &[ArmIndex], mixed: &[f64]) -> ArmIndex {
        active[pick(active.iter().map(|arm| mixed[arm.index()])).index()]
    }

    /// Section 6: the estimated gap of one arm, from the mixed means of all.
    pub(super) fn gap(&self, best: f64, mixed: f64, bound: f64) -> f64 {
        let gap = best - mixed + 2.0 * bound;
        if self.authors { gap.min(1.0) } else { gap }
    }

    /// Appendix A: how much longer or shorter an arm is explored. `roots` is the average over clients of
    /// the square roots of their gaps.
    pub(super) fn factor(&self, gap: f64, roots: f64) -> f64 {
        self.mix(gap.sqrt(), roots) / gap.sqrt()
    }
}

/// The largest of some finite numbers.
pub(super) fn max(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}
