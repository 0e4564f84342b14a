//! The server's part of sums over all who report: it passes steps on, and learns sums alone.

use std::collections::BTreeSet;

use cahoots_core::{ArmIndex, ArmMean, ArmStats, Cx, Misbehaviour, NodeId, Tick};
use cahoots_privacy::aggregation::{Collector, Down, GroupSum, LaplaceShares, Step, Up};
use serde::{Deserialize, Serialize};

use super::message::MabMsg;
use super::rules::Rules;
use crate::kit::arms::Told;

/// Rounds so far, and the present one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sums {
    shares: LaplaceShares,
    collector: Collector,
    round: u32,
    asked: BTreeSet<NodeId>,
    /// When the first answer of the present round came.
    answered: Option<Tick>,
    /// All sums, arm by arm.
    totals: ArmStats,
    /// How many times the noise that is promised is in them.
    noise: f64,
}

/// What became of a round.
pub(super) enum Outcome {
    Sum(GroupSum),
    Failed,
}

impl Sums {
    /// Where sums are all that is seen.
    pub(super) fn of(rules: &Rules) -> Option<Sums> {
        let shares = rules.group?;
        Some(Sums {
            collector: Collector::new(*shares.terms(), 0),
            shares,
            round: 0,
            asked: BTreeSet::new(),
            answered: None,
            totals: ArmStats::empty(rules.arms as usize),
            noise: 0.0,
        })
    }

    /// So many can be summed.
    pub(super) fn allows(&self, clients: usize) -> bool {
        clients >= self.shares.terms().least as usize
    }

    pub(super) fn is_busy(&self) -> bool {
        self.collector.is_busy()
    }

    /// A round begins: those who are asked are waited for; others may join them, if they are ready.
    pub(super) fn begin(
        &mut self,
        asked: BTreeSet<NodeId>,
        others: &BTreeSet<NodeId>,
        arms: usize,
        cx: &mut Cx<'_, MabMsg>,
    ) {
        self.round += 1;
        // A sum and a number of pulls for each arm.
        self.collector = Collector::new(*self.shares.terms(), 2 * arms);
        let steps = cx.draw(|rng| self.collector.begin(self.round, &asked, rng));
        for step in steps {
            if let Step::Send(node, message) = step {
                cx.send(node, message.into());
            }
        }
        for other in others {
            self.invite(*other, cx);
        }
        (self.asked, self.answered) = (asked, None);
    }

    /// Someone who is not waited for hears of the present round.
    pub(super) fn invite(&self, client: NodeId, cx: &mut Cx<'_, MabMsg>) {
        if self.is_busy() {
            cx.send(client, Down::Begin { round: self.round }.into());
        }
    }

    /// Pulls of an arm that are in all sums.
    pub(super) fn pulls(&self, arm: ArmIndex) -> u64 {
        self.totals.count(arm)
    }

    /// A step of this round may come from this client: it was asked, or the round is over.
    pub(super) fn may(&self, client: NodeId, round: u32) -> bool {
        round != self.round || self.asked.contains(&client)
    }

    pub(super) fn waiting_for(&self, there: impl Fn(&NodeId) -> bool) -> Vec<NodeId> {
        self.collector.waiting_for(&self.present(there)).into_iter().collect()
    }

    fn present(&self, there: impl Fn(&NodeId) -> bool) -> BTreeSet<NodeId> {
        self.asked.iter().filter(|node| there(node)).copied().collect()
    }

    /// A step of a client's; `true` if it is about the present round.
    pub(super) fn take(
        &mut self,
        from: NodeId,
        message: Up,
        deadline: Option<Tick>,
        cx: &mut Cx<'_, MabMsg>,
    ) -> Result<bool, Misbehaviour> {
        let present = message.round() == self.round;
        if present && matches!(message, Up::Keys { .. }) {
            self.asked.insert(from);
        }
        self.collector.take(from, message)?;
        if present && self.answered.is_none() {
            self.answered = Some(cx.now());
            self.wake(deadline, cx);
        }
        Ok(present)
    }

    /// When it goes on without those who have not answered.
    pub(super) fn wake(&self, deadline: Option<Tick>, cx: &mut Cx<'_, MabMsg>) {
        if let (Some(deadline), Some(answered), true) = (deadline, self.answered, self.is_busy()) {
            let over = cx.now().saturating_sub(answered) / deadline;
            if over < u64::from(Collector::WAITS) {
                cx.wake_at(answered.saturating_add((over + 1).saturating_mul(deadline)));
            }
        }
    }

    /// As far as nobody is waited for, or waited for no longer.
    pub(super) fn go_on(
        &mut self,
        there: impl Fn(&NodeId) -> bool,
        deadline: Option<Tick>,
        cx: &mut Cx<'_, MabMsg>,
    ) -> Option<Outcome> {
        let waited = |answered: Tick| deadline.map_or(0, |deadline| (cx.now() - answered) / deadline);
        let over = self.answered.map_or(0, waited).min(u64::from(Collector::WAITS));
        let mut outcome = None;
        for step in self.collector.advance(&self.present(&there), over as u32) {
            match step {
                Step::Send(node, message) if there(&node) => cx.send(node, message.into()),
                Step::Send(..) => {}
                Step::Sum(sum) => outcome = Some(Outcome::Sum(sum)),
                Step::Failed(_) => {
                    cx.count("sums_failed", 1.0);
                    outcome = Some(Outcome::Failed);
                }
            }
        }
        outcome
    }

    /// Adds a round's sum; refuses one that cannot be. `pulls` is what each client has made of each arm by now.
    pub(super) fn add(
        &mut self,
        sum: &GroupSum,
        active: &[ArmIndex],
        pulls: u64,
        rules: &Rules,
    ) -> Result<(), Misbehaviour> {
        let (sums, counts) = sum.values.split_at(active.len().min(sum.values.len()));
        let count = |count: &i64| u64::try_from(*count).unwrap_or(0);
        let read: Vec<(u64, f64)> =
            counts.iter().zip(sums).map(|(n, sum)| (count(n), self.shares.decode(*sum))).collect();
        let members = sum.members.len() as u64;
        let noise = sum.members.len() as f64 * self.shares.spread(sum.size) / f64::from(sum.size);
        rules.check_sums(members.saturating_mul(pulls), noise, &read)?;
        for (arm, (count, sum)) in active.iter().zip(read) {
            self.totals.observe_block(*arm, count, sum);
        }
        self.noise += noise;
        Ok(())
    }

    /// What is shown of each arm in the sums, up to round `epoch`.
    pub(super) fn told(&self, epoch: u64, rules: &Rules) -> Told {
        let mut told = Told::default();
        for arm in rules.all_arms() {
            let (Some(value), pulls) = (self.totals.mean(arm), self.totals.count(arm)) else { continue };
            // The noise of all rounds, though an arm that was given up has that of some.
            let radius = rules.radius_of_sums(epoch, rules.arms as usize, pulls, self.noise);
            told.tell(arm, ArmMean { value, radius: Some(radius), pulls: Some(pulls) });
        }
        told
    }

    /// Means of the active arms over all rounds, and C(r).
    pub(super) fn means(&self, epoch: u64, active: &[ArmIndex], rules: &Rules) -> (Vec<f64>, f64) {
        let means = active.iter().map(|arm| self.totals.mean(*arm).unwrap_or(0.0)).collect();
        let least = active.iter().map(|arm| self.totals.count(*arm)).min().unwrap_or(0);
        (means, rules.radius_of_sums(epoch, active.len(), least, self.noise))
    }
}
