//! The server of fed-elim: averages the clients' means, gives up arms, and knows when everyone is done.

use std::collections::BTreeSet;
use std::sync::Arc;

use cahoots_core::{
    ArmIndex, ArmMean, Cx, Fact, Gather, Learnt, Machine, Membership, Misbehaviour, NodeId, Patience, Sure,
};
use serde::{Deserialize, Serialize};

use super::FOUND;
use super::params::Valid;
use super::rules::Rules;
use crate::kit::arms::{ActiveArms, ArmMsg, FORGETS_NOT, Told};

/// Finds the arm that is best on average; is told by each client that it has found its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    rules: Rules,
    patience: Patience,
    members: BTreeSet<NodeId>,
    /// Counts from 1.
    round: u64,
    /// S_g.
    active: Vec<ArmIndex>,
    means: Gather<Vec<f64>>,
    /// Those who have found their own best arm.
    found: BTreeSet<NodeId>,
    /// The tick since when there is nothing more to find.
    settled: Option<u64>,
    /// Pulls in the newest average of each arm.
    pulls: Vec<u64>,
    /// What is shown: no part of the state.
    #[serde(skip)]
    told: Told,
}

impl Server {
    pub(super) fn new(valid: &Valid) -> Self {
        let rules = valid.rules.clone();
        let members: BTreeSet<NodeId> = (0..rules.clients).map(NodeId).collect();
        Server {
            patience: valid.patience,
            round: 1,
            active: rules.all_arms(),
            means: Gather::patient(members.iter().copied(), valid.patience),
            found: BTreeSet::new(),
            settled: None,
            pulls: vec![0; rules.arms as usize],
            told: Told::default(),
            members,
            rules,
        }
    }

    /// S_g.
    pub fn active(&self) -> &[ArmIndex] {
        &self.active
    }

    /// Since when the global best arm and everyone's own are found, if they are.
    pub fn settled(&self) -> Option<u64> {
        self.settled
    }

    fn is_open(&self) -> bool {
        self.active.len() > 1
    }

    /// Gives up arms once nobody is awaited any more, or enough have answered at the deadline.
    fn advance(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        let answers = self.means.answered().count();
        if self.is_open() && answers > 0 && !self.members.is_empty() && self.means.is_complete(cx.now()) {
            let parts = std::mem::replace(&mut self.means, Gather::open([], None)).into_parts();
            self.close_round(parts.into_values(), answers, cx);
        }
        self.settle(cx);
    }

    fn close_round(
        &mut self,
        parts: impl Iterator<Item = Vec<f64>>,
        answers: usize,
        cx: &mut Cx<'_, ArmMsg>,
    ) {
        // In node order.
        let mut means = vec![0.0; self.active.len()];
        for part in parts {
            means.iter_mut().zip(part).for_each(|(sum, mean)| *sum += mean);
        }
        means.iter_mut().for_each(|sum| *sum /= answers as f64);
        let n = self.rules.pulls_at(self.round);
        let bound = self.rules.global_bound(n, answers);
        let pulls = n.saturating_mul(answers as u64);
        for (arm, value) in self.active.iter().zip(&means) {
            self.pulls[arm.index()] = pulls;
            self.told.tell(*arm, ArmMean { value: *value, radius: Some(bound), pulls: Some(pulls) });
        }
        self.active = Rules::keep(&self.active, &means, bound);
        self.round += 1;
        cx.report(Fact::Rounds(1));
        let next = self.present_round();
        self.members.iter().for_each(|client| cx.send(*client, next.clone()));
        if self.is_open() {
            self.means = Gather::patient(self.members.iter().copied(), self.patience);
        }
    }

    /// Where everyone goes on from.
    fn present_round(&self) -> ArmMsg {
        ArmMsg::DownloadActive(Arc::new(ActiveArms { phase: self.round, arms: self.active.clone() }))
    }

    /// Says whether everything is found, since when, and what the global answer is.
    fn settle(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        if let [best] = self.active[..] {
            cx.level("global_best", f64::from(best.0));
        }
        let all_found = !self.members.is_empty() && self.members.is_subset(&self.found);
        match (self.settled, all_found && !self.is_open()) {
            (None, true) => {
                self.settled = Some(cx.now());
                cx.level("settled_at", cx.now() as f64);
            }
            (Some(_), false) => self.settled = None,
            _ => {}
        }
        cx.level("settled", f64::from(self.settled.is_some()));
    }

    fn offer(&mut self, from: NodeId, number: u64, means: Vec<f64>) -> Result<(), Misbehaviour> {
        if number != self.round {
            return Err(Misbehaviour::Gap { expected: self.round, got: number });
        }
        self.means
            .offer(from, means)
            .map_err(|_| Misbehaviour::Unexpected(format!("{from} has answered or is not a member")))
    }
}

impl Machine for Server {
    type Msg = ArmMsg;

    fn on_start(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        self.settle(cx);
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: ArmMsg,
        cx: &mut Cx<'_, ArmMsg>,
    ) -> Result<(), Misbehaviour> {
        match message {
            // The others went on without it: it has been told, or will be, where they are.
            ArmMsg::Upload { number, .. } if number < self.round => return Ok(()),
            ArmMsg::Upload { number, values } if self.is_open() => {
                values.get().check(self.round, &self.active)?;
                self.rules.check_means(&values.get().values)?;
                self.offer(from, number, values.into_inner().values)?;
                if let Some(tick) = self.means.start(cx.now()) {
                    cx.wake_at(tick);
                }
            }
            ArmMsg::Signal { signal: FOUND, .. } if self.members.contains(&from) => {
                if !self.found.insert(from) {
                    return Err(Misbehaviour::Unexpected(format!("{from} has found its best arm before")));
                }
            }
            other => return Err(other.unexpected()),
        }
        self.advance(cx);
        Ok(())
    }

    /// A deadline.
    fn on_wake(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        self.advance(cx);
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, ArmMsg>) {
        match change {
            // All clients are members from the start; one that leaves no longer holds up the others.
            Membership::Left(client) if self.members.remove(&client) => {
                self.found.remove(&client);
                self.means.excuse(client);
            }
            // A new machine under an old number: it explores from the start what is left, and is waited for.
            Membership::Joined(client) if client.0 < self.rules.clients && self.members.insert(client) => {
                if self.is_open() {
                    self.means.expect(client);
                }
                if self.round > 1 {
                    cx.send(client, self.present_round());
                }
            }
            Membership::Left(_) | Membership::Joined(_) => return,
        }
        self.advance(cx);
    }

    fn forgets(&self) -> Result<(), String> {
        Err(FORGETS_NOT.into())
    }

    /// Pulls of which it was told the means. Clients pull more, for themselves.
    fn observations(&self) -> Option<u64> {
        Some(self.pulls.iter().fold(0, |sum, pulls| sum.saturating_add(*pulls)))
    }

    /// The averages, and which arms may be the best; when one is left, it is the answer.
    fn learnt(&self, _most: usize) -> (Vec<Learnt>, usize) {
        let sure = Sure::Chance(self.rules.chance());
        let learnt = self.told.learnt(self.rules.all_arms(), &self.active, sure);
        (vec![Learnt { observations: self.observations(), ..learnt }], 1)
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        self.means.waiting().collect()
    }
}
