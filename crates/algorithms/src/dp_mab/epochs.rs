//! The half of a client that pulls arms: local exploration in epochs (Lines 7 to 10 of Algorithm 1),
//! local exploitation while others are waited for, and the last arm at the end.

use cahoots_core::plan::Schedule;
use cahoots_core::policy::pick;
use cahoots_core::{ArmIndex, ArmStats, Choice, Cx, Misbehaviour, Private};
use serde::{Deserialize, Serialize};

use super::message::Table;
use super::noise::Means;
use super::rules::Rules;
use crate::kit::arms::{ArmValues, Explorer, Pull};

/// A client's exploration, epoch by epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Epochs {
    rules: Rules,
    /// r.
    epoch: u64,
    /// I(r-1).
    active: Vec<ArmIndex>,
    /// S(r-1) and S(r).
    before: u64,
    pulls: u64,
    explorer: Explorer,
    /// Every pull of this epoch has been made and rewarded.
    explored: bool,
    /// Rewards of this epoch, and of all of them; those of waiting are in neither.
    fresh: ArmStats,
    history: ArmStats,
    /// Rewards that have not left yet, where sums leave once, as part of a sum over a group.
    unsent: Option<ArmStats>,
    /// y-bar(r): the protected mean of history, over the arms of the last epoch that was explored.
    protected: Option<Private<ArmValues>>,
    /// Means over all clients of the epochs before this one, over its active arms, where they are known.
    shared: Option<Vec<f64>>,
}

impl Epochs {
    pub(super) fn new(rules: Rules) -> Self {
        let arms = rules.arms as usize;
        let mut epochs = Epochs {
            epoch: 0,
            active: Vec::new(),
            before: 0,
            pulls: 0,
            explorer: Explorer::default(),
            explored: false,
            fresh: ArmStats::empty(arms),
            history: ArmStats::empty(arms),
            unsent: rules.group.map(|_| ArmStats::empty(arms)),
            protected: None,
            shared: None,
            rules,
        };
        let all = epochs.rules.all_arms();
        epochs.advance(all);
        epochs
    }

    /// r.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// I(r-1).
    pub(super) fn active(&self) -> &[ArmIndex] {
        &self.active
    }

    /// All that was learned, in words: to compare.
    pub(super) fn learned(&self) -> String {
        let Epochs { epoch, active, history, protected, .. } = self;
        format!("{epoch} {active:?} {history:?} {protected:?}")
    }

    /// S(r).
    pub(super) fn pulls(&self) -> u64 {
        self.pulls
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Refuses means of others that they cannot have by the end of this epoch.
    pub(super) fn check_table(&self, table: &Table) -> Result<(), Misbehaviour> {
        let mut rows = table.rows.iter().map(|(_, row)| row.get());
        rows.try_for_each(|row| self.rules.check_means(self.epoch, self.pulls, row))
    }

    /// Every pull of this epoch has been made and rewarded, and others are waited for.
    pub(super) fn explored(&self) -> bool {
        self.explored
    }

    /// One arm is left.
    pub(super) fn settled(&self) -> Option<ArmIndex> {
        match self.active[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Means of the client's own rewards, as they are.
    pub(super) fn own_means(&self) -> Vec<f64> {
        self.active.iter().map(|arm| self.history.mean(*arm).unwrap_or(0.0)).collect()
    }

    /// y-bar(r) of the epoch just explored.
    pub(super) fn protected(&self) -> Option<&Private<ArmValues>> {
        self.protected.as_ref().filter(|_| self.explored)
    }

    /// Goes on to the next epoch with those of the active arms that are left, knowing what all clients
    /// together have seen of the active ones.
    pub(super) fn advance_knowing(&mut self, left: Vec<ArmIndex>, means: &[f64]) {
        let known = self.active.iter().zip(means);
        let kept = known.filter(|(arm, _)| left.binary_search(arm).is_ok()).map(|(_, mean)| *mean);
        let shared = kept.collect();
        self.advance(left);
        self.shared = Some(shared);
    }

    /// Goes on to the next epoch with these arms.
    pub(super) fn advance(&mut self, active: Vec<ArmIndex>) {
        self.epoch += 1;
        self.active = active;
        self.explored = false;
        self.before = self.pulls;
        self.fresh = ArmStats::empty(self.rules.arms as usize);
        if let Some(last) = self.settled() {
            self.explorer = Explorer::default();
            self.explorer.exploit(Some(last));
            return;
        }
        self.pulls = self.rules.pulls(self.epoch, self.active.len(), self.before);
        self.explore();
    }

    /// What was explored was lost on its way: the same once more, with new pulls.
    pub(super) fn explore_again(&mut self) {
        if self.explored {
            self.explored = false;
            self.explore();
        }
    }

    fn explore(&mut self) {
        let each = self.pulls - self.before;
        self.explorer = Explorer::new([Schedule::new(self.active.iter().map(|arm| (*arm, each)))]);
    }

    /// Sums of the active arms' rewards that have not left yet, and their numbers: they leave now, and never again.
    pub(super) fn take_unsent(&mut self) -> Vec<(u64, f64)> {
        let Some(unsent) = &mut self.unsent else { return Vec::new() };
        let all = std::mem::replace(unsent, ArmStats::empty(unsent.arms()));
        self.active.iter().map(|arm| (all.count(*arm), all.sum(*arm))).collect()
    }

    pub(super) fn choose(&self) -> Choice<Pull> {
        self.explorer.choose(|| self.own_best())
    }

    pub(super) fn commit(&mut self, pull: &Pull) {
        self.explorer.commit(pull);
        if pull.exploring {
            self.exploit_if_over();
        }
    }

    /// Takes a reward; says whether the epoch has just been explored to its end.
    pub(super) fn observe<M>(&mut self, pull: Pull, reward: f64, cx: &mut Cx<'_, M>) -> bool {
        if !pull.exploring {
            // Pulls made while waiting never enter the statistics.
            return false;
        }
        self.explorer.rewarded();
        let clipped = reward.clamp(0.0, 1.0);
        if clipped != reward {
            cx.count("clipped_rewards", 1.0);
        }
        self.learn(pull.arm, 1, clipped);
        self.is_over()
    }

    pub(super) fn abandon(&mut self, pull: Pull) {
        if self.explorer.abandon(&pull) {
            self.explorer.exploit(None);
        }
    }

    pub(super) fn plan(&self) -> Option<&[(ArmIndex, u64)]> {
        self.explorer.plan()
    }

    /// Pulls are made only because others are waited for.
    pub(super) fn waits(&self) -> bool {
        !self.explorer.is_exploring() && self.settled().is_none()
    }

    /// Takes a block; says whether the epoch has just been explored to its end.
    pub(super) fn observe_block(&mut self, sums: &[(ArmIndex, u64, f64)]) -> bool {
        if !self.explorer.is_exploring() {
            return false;
        }
        for &(arm, pulls, sum) in sums {
            self.learn(arm, pulls, sum.clamp(0.0, pulls as f64));
        }
        self.explorer.take(sums.iter().map(|(_, pulls, _)| pulls).sum());
        self.exploit_if_over();
        self.is_over()
    }

    fn learn(&mut self, arm: ArmIndex, pulls: u64, sum: f64) {
        self.fresh.observe_block(arm, pulls, sum);
        self.history.observe_block(arm, pulls, sum);
        if let Some(unsent) = &mut self.unsent {
            unsent.observe_block(arm, pulls, sum);
        }
    }

    fn own_best(&self) -> ArmIndex {
        let Some(shared) = &self.shared else { return self.active[pick(self.own_means()).index()] };
        // What all have seen before this epoch, and what this client has seen in it.
        let (before, new) = (self.before as f64, (self.pulls - self.before) as f64);
        let fresh = self.active.iter().map(|arm| self.fresh.mean(*arm).unwrap_or(0.0));
        self.active[pick(shared.iter().zip(fresh).map(|(all, own)| before * all + new * own)).index()]
    }

    fn exploit_if_over(&mut self) {
        if self.waits() {
            self.explorer.exploit(Some(self.own_best()));
        }
    }

    fn is_over(&mut self) -> bool {
        let over = !self.explored && self.settled().is_none() && self.explorer.is_done();
        if over {
            // The last reward may have changed which arm looks best.
            self.exploit_if_over();
            self.explored = true;
        }
        over
    }

    /// Lines 9 and 10, once per epoch: y-hat(r) with its noise, and y-bar(r) by Eq. (6). What was drawn
    /// is kept: whoever asks again gets the same.
    pub(super) fn protect<M>(&mut self, cx: &mut Cx<'_, M>) {
        let pulls = self.pulls - self.before;
        let mean = |arm: &ArmIndex| self.fresh.mean(*arm).unwrap_or(0.0);
        let exact = ArmValues::new(self.epoch, self.active.clone(), self.active.iter().map(mean).collect());
        let released = cx.release(&mut Means::new(self.rules.noise, pulls), exact);
        self.protected = Some(match self.protected.take() {
            None => released,
            Some(history) => {
                let old = self.before as f64 / self.pulls as f64;
                Private::process(history, vec![released], old, |parts, old| join(&parts[0], &parts[1], old))
            }
        });
    }
}

/// Eq. (6): `old` parts of the history, the rest of what is new.
fn join(history: &ArmValues, new: &ArmValues, old: f64) -> ArmValues {
    let value = |(arm, new): (&ArmIndex, &f64)| {
        let before = history.of(*arm).expect("active arms were active before");
        old * before + (1.0 - old) * new
    };
    let values = new.arms.iter().zip(&new.values).map(value).collect();
    ArmValues::new(new.phase, new.arms.clone(), values)
}

/// The learner's half of a client that has `epochs` and does something when an epoch is `explored`.
macro_rules! explores {
    ($client:ty, $message:ty) => {
        impl cahoots_core::Learner for $client {
            type Pending = $crate::kit::arms::Pull;

            fn choose(
                &mut self,
                _user: cahoots_core::UserId,
                _arms: cahoots_core::ArmSet<'_>,
                _rng: &mut cahoots_core::Stream,
            ) -> cahoots_core::Choice<Self::Pending> {
                self.epochs.choose()
            }

            fn commit(&mut self, pending: &Self::Pending, _cx: &mut cahoots_core::Cx<'_, $message>) {
                self.epochs.commit(pending);
            }

            fn observe(
                &mut self,
                pending: Self::Pending,
                reward: f64,
                cx: &mut cahoots_core::Cx<'_, $message>,
            ) {
                if self.epochs.observe(pending, reward, cx) {
                    self.explored(cx);
                }
            }

            fn abandon(&mut self, pending: Self::Pending, _cx: &mut cahoots_core::Cx<'_, $message>) {
                self.epochs.abandon(pending);
            }

            fn plan(&self) -> Option<&[(cahoots_core::ArmIndex, u64)]> {
                self.epochs.plan()
            }

            fn waits(&self) -> bool {
                self.epochs.waits()
            }

            fn observe_block(
                &mut self,
                sums: &[(cahoots_core::ArmIndex, u64, f64)],
                cx: &mut cahoots_core::Cx<'_, $message>,
            ) {
                if self.epochs.observe_block(sums) {
                    self.explored(cx);
                }
            }
        }
    };
}
pub(super) use explores;
