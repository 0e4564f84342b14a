//! The server of fed2-ucb: admits clients, averages their means, gives up arms.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::{
    ArmIndex, ArmMean, Cx, Fact, Gather, Learnt, Machine, Membership, Misbehaviour, NodeId, Patience, Sure,
};
use serde::{Deserialize, Serialize};

use super::ADMIT;
use super::params::Valid;
use super::rules::Rules;
use crate::kit::arms::{ActiveArms, ArmMsg, FORGETS_NOT, Told};

/// Finds the arm that is best for whom the clients are a sample of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    rules: Rules,
    patience: Patience,
    /// All clients but those that have left.
    members: BTreeSet<NodeId>,
    /// Those of them that have been seen.
    here: BTreeSet<NodeId>,
    /// Those who take part: F before each was admitted.
    admitted: BTreeMap<NodeId, u64>,
    /// p, counting from 1.
    phase: u64,
    /// F: pulls of an active arm by one that takes part from the beginning, to the end of this phase.
    pulls: u64,
    /// M(p), unless there are fewer.
    target: u64,
    /// The arms in the running.
    active: Vec<ArmIndex>,
    /// Pulls of each arm, and means.
    answers: Gather<(u64, Vec<f64>)>,
    /// The tick at which one arm was left.
    settled: Option<u64>,
    /// Pulls in the newest average of each arm.
    averaged: Vec<u64>,
    /// What is shown: no part of the state.
    #[serde(skip)]
    told: Told,
}

impl Server {
    pub(super) fn new(valid: &Valid) -> Self {
        let rules = valid.rules.clone();
        Server {
            patience: valid.patience,
            members: (0..rules.clients).map(NodeId).collect(),
            here: BTreeSet::new(),
            admitted: BTreeMap::new(),
            phase: 1,
            pulls: rules.pulls(1),
            target: rules.newcomers(1),
            active: rules.all_arms(),
            answers: Gather::patient([], valid.patience),
            settled: None,
            averaged: vec![0; rules.arms as usize],
            told: Told::default(),
            rules,
        }
    }

    /// p.
    pub fn phase(&self) -> u64 {
        self.phase
    }

    /// The arms in the running.
    pub fn active(&self) -> &[ArmIndex] {
        &self.active
    }

    /// Those who take part.
    pub fn admitted(&self) -> impl Iterator<Item = NodeId> {
        self.admitted.keys().copied()
    }

    /// Since when one arm is left, if so.
    pub fn settled(&self) -> Option<u64> {
        self.settled
    }

    fn is_open(&self) -> bool {
        self.active.len() > 1
    }

    /// How many are to be admitted to this phase, of those who are or will be here.
    fn wanted(&self) -> usize {
        let target = self.target.min(self.members.len() as u64) as usize;
        target.saturating_sub(self.admitted.len())
    }

    /// Admits whom this phase lacks: drawn among those who are here.
    fn admit(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        if !self.is_open() || self.wanted() == 0 {
            return;
        }
        let mut others: Vec<NodeId> =
            self.here.iter().copied().filter(|client| !self.admitted.contains_key(client)).collect();
        let wanted = self.wanted().min(others.len());
        if wanted < others.len() {
            cx.draw(|rng| {
                for place in 0..wanted {
                    let other = place + rng.below((others.len() - place) as u64) as usize;
                    others.swap(place, other);
                }
            });
            others.truncate(wanted);
            others.sort_unstable();
        }
        let before = self.pulls - self.rules.pulls(self.phase);
        for client in others {
            self.admitted.insert(client, before);
            self.answers.expect(client);
            cx.send(client, ArmMsg::Signal { signal: ADMIT, phase: self.phase });
        }
        cx.level("admitted", self.admitted.len() as f64);
    }

    /// Gives up arms once nobody is awaited any more, or enough have answered at the deadline.
    fn advance(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        let due = self.answers.deadline().is_some_and(|deadline| cx.now() >= deadline);
        let all_in = self.wanted() == 0 || due;
        if self.is_open()
            && all_in
            && self.answers.answered().count() > 0
            && self.answers.is_complete(cx.now())
        {
            let parts = std::mem::replace(&mut self.answers, Gather::open([], None)).into_parts();
            self.close_phase(&parts, cx);
        }
    }

    fn close_phase(&mut self, parts: &BTreeMap<NodeId, (u64, Vec<f64>)>, cx: &mut Cx<'_, ArmMsg>) {
        // In node order.
        let mut means = vec![0.0; self.active.len()];
        for (_, part) in parts.values() {
            means.iter_mut().zip(part).for_each(|(sum, mean)| *sum += mean);
        }
        means.iter_mut().for_each(|sum| *sum /= parts.len() as f64);
        let bound = self.rules.bound(parts.values().map(|(pulls, _)| *pulls));
        let pulls = parts.values().fold(0u64, |sum, (pulls, _)| sum.saturating_add(*pulls));
        for (arm, value) in self.active.iter().zip(&means) {
            self.averaged[arm.index()] = pulls;
            self.told.tell(*arm, ArmMean { value: *value, radius: Some(bound), pulls: Some(pulls) });
        }
        self.active = Rules::keep(&self.active, &means, bound);
        cx.report(Fact::Rounds(1));
        self.phase += 1;
        self.pulls = self.pulls.saturating_add(self.rules.pulls(self.phase));
        self.target = self.target.saturating_add(self.rules.newcomers(self.phase));
        let next = self.present_phase();
        self.here.iter().for_each(|client| cx.send(*client, next.clone()));
        if self.is_open() {
            self.answers = Gather::patient(self.admitted.keys().copied(), self.patience);
            self.admit(cx);
        }
        self.settle(cx);
    }

    /// Where everyone goes on from.
    fn present_phase(&self) -> ArmMsg {
        ArmMsg::DownloadActive(Arc::new(ActiveArms { phase: self.phase, arms: self.active.clone() }))
    }

    /// Says which arm is left, if one is.
    fn settle(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        if let ([best], None) = (&self.active[..], self.settled) {
            cx.level("global_best", f64::from(best.0));
            cx.level("settled_at", cx.now() as f64);
            self.settled = Some(cx.now());
        }
        cx.level("settled", f64::from(self.settled.is_some()));
    }

    fn offer(&mut self, from: NodeId, means: Vec<f64>) -> Result<(), Misbehaviour> {
        let before = self.admitted.get(&from).copied().unwrap_or_default();
        self.answers
            .offer(from, (self.pulls - before, means))
            .map_err(|_| Misbehaviour::Unexpected(format!("{from} has answered or takes no part")))
    }
}

impl Machine for Server {
    type Msg = ArmMsg;

    fn on_start(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        // Shown even if no phase is ever completed.
        cx.level("admitted", 0.0);
        cx.report(Fact::CommunicationLoss(0.0));
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
            ArmMsg::Upload { number, .. } if number < self.phase => {}
            ArmMsg::Upload { number, values } if self.is_open() => {
                if number != self.phase {
                    return Err(Misbehaviour::Gap { expected: self.phase, got: number });
                }
                values.get().check(self.phase, &self.active)?;
                self.rules.check_means(&values.get().values)?;
                self.offer(from, values.into_inner().values)?;
                if let Some(tick) = self.answers.start(cx.now()) {
                    cx.wake_at(tick);
                }
            }
            other => return Err(other.unexpected()),
        }
        // What is too late is communicated too.
        cx.report(Fact::CommunicationLoss(self.rules.communication_loss));
        self.advance(cx);
        Ok(())
    }

    /// A deadline.
    fn on_wake(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        self.advance(cx);
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, ArmMsg>) {
        match change {
            // What it has sent for the open phase counts; its place is another's.
            Membership::Left(client) if self.members.remove(&client) => {
                self.here.remove(&client);
                self.admitted.remove(&client);
                self.answers.excuse(client);
            }
            Membership::Joined(client) if client.0 < self.rules.clients && self.here.insert(client) => {
                self.members.insert(client);
                if self.phase > 1 {
                    cx.send(client, self.present_phase());
                }
            }
            Membership::Left(_) | Membership::Joined(_) => return,
        }
        self.admit(cx);
        self.advance(cx);
    }

    fn forgets(&self) -> Result<(), String> {
        Err(FORGETS_NOT.into())
    }

    /// Pulls of which it was told the means.
    fn observations(&self) -> Option<u64> {
        Some(self.averaged.iter().fold(0, |sum, pulls| sum.saturating_add(*pulls)))
    }

    /// The averages, and which arms may be the best; when one is left, it is the answer.
    fn learnt(&self, _most: usize) -> (Vec<Learnt>, usize) {
        let sure = Sure::Chance(self.rules.chance.max(0.0));
        let learnt = self.told.learnt(self.rules.all_arms(), &self.active, sure);
        (vec![Learnt { observations: self.observations(), ..learnt }], 1)
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        self.answers.waiting().collect()
    }
}
