//! The server's part of sums over groups: it passes steps on, and learns sums alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::{Custom, Cx, Fact, Misbehaviour, NodeId, Tick};
use cahoots_privacy::aggregation::{Collector, GroupNoise, GroupRows, GroupSum, Step, Up};
use serde::{Deserialize, Serialize};

use super::message::{Body, PrivateMsg, Summed};
use super::rules::{Noising, Rules};

/// Rounds so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Gathering {
    collector: Collector,
    rows: GroupRows,
    /// The rounds that each client has a part in.
    through: BTreeMap<NodeId, Vec<u32>>,
    /// When the present round began.
    begun: Tick,
    /// One of its groups has a sum.
    summed: bool,
}

impl Gathering {
    /// Where sums over groups are all that is seen.
    pub(super) fn of(rules: &Rules) -> Option<Gathering> {
        let Noising::Group(noise) = &rules.noise else { return None };
        Some(Gathering {
            collector: Collector::new(*noise.terms(), GroupNoise::length(rules.dim)),
            rows: GroupRows::default(),
            through: BTreeMap::new(),
            begun: 0,
            summed: false,
        })
    }

    /// Observations in the last sum.
    pub(super) fn observations(&self) -> u64 {
        self.rows.sum(self.collector.round()).map_or(0, |(sum, _)| sum.count)
    }

    /// The last sum.
    pub(super) fn sum(&self) -> Option<Summed> {
        self.rows.sum(self.collector.round()).map(|(stats, variance)| Summed { stats, variance })
    }

    pub(super) fn waiting_for(&self, joined: &BTreeSet<NodeId>) -> Vec<NodeId> {
        self.collector.waiting_for(joined).into_iter().collect()
    }

    pub(super) fn take(
        &mut self,
        from: NodeId,
        message: Up,
        rules: &Rules,
        joined: &BTreeSet<NodeId>,
        cx: &mut Cx<'_, PrivateMsg>,
    ) -> Result<(), Misbehaviour> {
        self.collector.take(from, message)?;
        self.go_on(rules, joined, cx);
        Ok(())
    }

    /// Begins the round that is due, or goes on with the present one.
    pub(super) fn on_wake(&mut self, rules: &Rules, joined: &BTreeSet<NodeId>, cx: &mut Cx<'_, PrivateMsg>) {
        let due = rules.times.round(cx.now());
        if due > self.collector.round() {
            (self.begun, self.summed) = (cx.now(), false);
            for step in cx.draw(|rng| self.collector.begin(due, joined, rng)) {
                if let Step::Send(node, message) = step {
                    cx.send(node, Custom(Body::Down(message)));
                }
            }
        }
        self.go_on(rules, joined, cx);
    }

    /// When there is something to do again.
    pub(super) fn wake(&self, rules: &Rules, now: Tick) -> Option<Tick> {
        let wait = rules.times.wait(self.collector.round());
        let ends = (1..=u64::from(Collector::WAITS))
            .map(|step| self.begun.saturating_add(step.saturating_mul(wait)));
        let end = ends.filter(|end| self.collector.is_busy() && *end > now).min();
        end.into_iter().chain(rules.times.next(now)).min()
    }

    /// As far as nobody is waited for, or waited for no longer.
    pub(super) fn go_on(&mut self, rules: &Rules, joined: &BTreeSet<NodeId>, cx: &mut Cx<'_, PrivateMsg>) {
        if !self.collector.is_busy() {
            return;
        }
        let round = self.collector.round();
        let over = cx.now().saturating_sub(self.begun) / rules.times.wait(round);
        for step in self.collector.advance(joined, over.min(u64::from(Collector::WAITS)) as u32) {
            match step {
                Step::Send(node, message) if joined.contains(&node) => {
                    cx.send(node, Custom(Body::Down(message)));
                }
                Step::Send(..) => {}
                Step::Sum(sum) => {
                    match self.add(round, &sum, rules) {
                        Ok(()) => self.summed = true,
                        // Somebody lied, and nobody knows who.
                        Err(_) => cx.count("sums_implausible", 1.0),
                    }
                }
                Step::Failed(_) => cx.count("sums_failed", 1.0),
            }
        }
        // A round that came to nothing changes nothing: what was shared last stays.
        if !self.collector.is_busy() && std::mem::take(&mut self.summed) {
            self.share(round, joined, cx);
        }
    }

    fn add(&mut self, round: u32, sum: &GroupSum, rules: &Rules) -> Result<(), Misbehaviour> {
        let Noising::Group(noise) = &rules.noise else { return Ok(()) };
        let got = sum.values.len();
        let stats = noise.decode(&sum.values, rules.dim);
        let stats = stats.ok_or(Misbehaviour::Dimension { expected: GroupNoise::length(rules.dim), got })?;
        let variance = sum.members.len() as f64 * noise.variance_of_share(sum.size);
        rules.check_sum(&stats, variance, sum.members.len())?;
        self.rows.add(round, &stats, variance);
        for node in &sum.members {
            self.through.entry(*node).or_default().push(round);
        }
        Ok(())
    }

    fn share(&mut self, round: u32, joined: &BTreeSet<NodeId>, cx: &mut Cx<'_, PrivateMsg>) {
        let Some((stats, variance)) = self.rows.sum(round) else { return };
        cx.report(Fact::Rounds(1));
        let sum = Arc::new(Summed { stats, variance });
        for node in joined {
            let through = self.through.get(node).cloned().unwrap_or_default();
            cx.send(*node, Custom(Body::Summed { round, through, sum: sum.clone() }));
        }
    }
}
