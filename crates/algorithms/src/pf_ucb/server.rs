//! Algorithm 2: the server of pf-ucb.

use std::collections::BTreeSet;
use std::sync::Arc;

use cahoots_core::{
    ArmIndex, Cx, Fact, Gather, Learnt, Machine, Membership, Misbehaviour, NodeId, Patience, Tick,
};
use serde::{Deserialize, Serialize};

use super::known::Known;
use super::params::Valid;
use super::rules::Rules;
use super::{ASK, READY, Upload};
use crate::kit::arms::{ActiveArms, ArmMsg, ArmValues, FORGETS_NOT};

/// Averages the clients' means, unites their active sets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    rules: Rules,
    communication_loss: f64,
    patience: Patience,
    members: BTreeSet<NodeId>,
    /// p.
    phase: u64,
    /// A(p).
    active: Vec<ArmIndex>,
    stage: Stage,
    /// What is shown: no part of the state.
    #[serde(skip)]
    known: Known,
}

/// What is awaited.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Stage {
    /// The authors' code alone: everyone done exploring.
    Ready(Gather<()>),
    /// Line 3.
    Means(Gather<Vec<f64>>),
    /// Line 6, and the enhancement's gaps.
    Sets { gaps: Gather<Vec<f64>>, sets: Gather<Vec<ArmIndex>> },
    /// No arm is active any more.
    Over,
}

impl Server {
    pub(super) fn new(valid: &Valid) -> Self {
        let rules = valid.rules.clone();
        let mut server = Server {
            communication_loss: valid.communication_loss,
            patience: valid.patience,
            members: (0..rules.clients).map(NodeId).collect(),
            phase: 1,
            active: rules.all_arms(),
            stage: Stage::Over,
            known: Known::default(),
            rules,
        };
        server.open_phase();
        server
    }

    /// A(p).
    pub fn active(&self) -> &[ArmIndex] {
        &self.active
    }

    /// The phase it is in.
    pub fn phase(&self) -> u64 {
        self.phase
    }

    /// All members take part in a phase.
    fn open_phase(&mut self) {
        let members = self.members.iter().copied();
        self.stage = if self.rules.authors {
            Stage::Ready(Gather::patient(members, self.patience))
        } else {
            Stage::Means(Gather::patient(members, self.patience))
        };
    }

    fn is_present(&self, client: &NodeId) -> bool {
        self.members.contains(client)
    }

    fn send_all(&self, to: &[NodeId], message: &ArmMsg, cx: &mut Cx<'_, ArmMsg>) {
        for &client in to {
            cx.send(client, message.clone());
        }
    }

    /// Whose means are exchanged: A(p), or all arms in the authors' code.
    fn reported_arms(&self) -> Vec<ArmIndex> {
        if self.rules.authors { self.rules.all_arms() } else { self.active.clone() }
    }

    fn check_number(&self, what: Upload, got: u64) -> Result<(), Misbehaviour> {
        let expected = what.number(self.phase, self.rules.enhanced);
        if got == expected { Ok(()) } else { Err(Misbehaviour::Gap { expected, got }) }
    }

    /// Goes on if nobody is awaited any more, or enough have answered at the deadline: with those alone, until
    /// the next phase begins.
    fn advance(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        if self.members.is_empty() || !self.stage.is_complete(cx.now()) {
            return;
        }
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Ready(ready) => {
                let present = self.present(&ready);
                self.stage = Stage::Means(Gather::patient(present.iter().copied(), self.patience));
                self.send_all(&present, &ArmMsg::Signal { signal: ASK, phase: self.phase }, cx);
            }
            Stage::Means(means) => {
                let present = self.present(&means);
                let parts = means.into_parts();
                let all = self.members.iter().all(|client| parts.contains_key(client));
                if parts.is_empty() {
                    self.known.forget_lengths();
                    // All who were asked have left; those who were late go on with them that come next.
                    return self.next_phase(self.active.clone(), cx);
                }
                let (arms, clients) = (self.reported_arms(), parts.len());
                let means = average(arms.len(), parts.into_values());
                self.known.tell(&self.rules, self.phase, clients, &arms, &means);
                if !all {
                    self.known.forget_lengths();
                }
                let sets = Gather::patient(present.iter().copied(), self.patience);
                let asked = present.iter().copied().filter(|_| self.rules.enhanced);
                self.stage = Stage::Sets { gaps: Gather::patient(asked, self.patience), sets };
                let values = ArmValues::new(self.phase, arms, means);
                self.send_all(&present, &ArmMsg::Download(Arc::new(values)), cx);
            }
            Stage::Sets { gaps, sets } => self.close_phase(gaps, sets, cx),
            Stage::Over => {}
        }
        // All of them may have left meanwhile.
        self.advance(cx);
    }

    fn present<T>(&self, gather: &Gather<T>) -> Vec<NodeId> {
        gather.answered().filter(|client| self.is_present(client)).collect()
    }

    /// Lines 7 and 8.
    fn close_phase(&mut self, gaps: Gather<Vec<f64>>, sets: Gather<Vec<ArmIndex>>, cx: &mut Cx<'_, ArmMsg>) {
        let present = self.present(&sets);
        let (gaps, sets) = (gaps.into_parts(), sets.into_parts());
        let nobody = sets.is_empty();
        let union: BTreeSet<ArmIndex> = sets.into_values().flatten().collect();
        if nobody {
            return self.next_phase(self.active.clone(), cx);
        }
        let clients = f64::from(self.rules.clients);
        // Two exchanges per completed phase: C M T_c of Eq. (6) grows by 2 C M.
        cx.report(Fact::Rounds(2));
        cx.level("phases", self.phase as f64);
        cx.report(Fact::CommunicationLoss(2.0 * self.communication_loss * clients));
        if !gaps.is_empty() && !union.is_empty() {
            let roots = gaps.into_values().map(|gaps| gaps.into_iter().map(f64::sqrt).collect());
            let all = average(self.active.len(), roots);
            let (arms, roots) = self.active.iter().zip(all).filter(|(arm, _)| union.contains(*arm)).unzip();
            let values = ArmValues::new(self.phase + 1, arms, roots);
            self.send_all(&present, &ArmMsg::Download(Arc::new(values)), cx);
        }
        self.next_phase(union.into_iter().collect(), cx);
    }

    /// Everyone goes on to the next phase, also those who missed this one.
    fn next_phase(&mut self, active: Vec<ArmIndex>, cx: &mut Cx<'_, ArmMsg>) {
        self.active = active;
        let next = self.present_phase(self.phase + 1);
        self.members.iter().for_each(|&client| cx.send(client, next.clone()));
        if self.active.is_empty() {
            self.stage = Stage::Over;
        } else {
            self.phase += 1;
            self.open_phase();
        }
    }

    /// Where everyone goes on from.
    fn present_phase(&self, phase: u64) -> ArmMsg {
        ArmMsg::DownloadActive(Arc::new(ActiveArms { phase, arms: self.active.clone() }))
    }

    /// The answer to something that is over: its sender has been told, or will be, where the others are.
    fn is_late(&self, message: &ArmMsg) -> bool {
        let enhanced = self.rules.enhanced;
        let awaited = match &self.stage {
            Stage::Ready(_) | Stage::Means(_) => Upload::Means.number(self.phase, enhanced),
            Stage::Sets { .. } => Upload::Gaps.number(self.phase, enhanced),
            Stage::Over => Upload::Means.number(self.phase + 1, enhanced),
        };
        match message {
            ArmMsg::Upload { number, .. } | ArmMsg::UploadActive { number, .. } => *number < awaited,
            ArmMsg::Signal { signal: READY, phase } => {
                let over = *phase == self.phase && !matches!(self.stage, Stage::Ready(_));
                self.rules.authors && (*phase < self.phase || over)
            }
            _ => false,
        }
    }

    /// A new machine under an old number: if it can still explore this phase with the others, it is told which one that
    /// is, and waited for. Where their exploration is over, it is told the next phase with everyone, and nothing before:
    /// who was in this one and missed its end could not tell the next from one out of turn.
    fn welcome(&mut self, client: NodeId, cx: &mut Cx<'_, ArmMsg>) {
        self.known.forget_lengths();
        let explores = match &mut self.stage {
            Stage::Ready(ready) => {
                ready.expect(client);
                true
            }
            Stage::Means(means) if !self.rules.authors => {
                means.expect(client);
                true
            }
            Stage::Means(means) => {
                means.forget(client);
                false
            }
            Stage::Sets { gaps, sets } => {
                gaps.forget(client);
                sets.forget(client);
                false
            }
            Stage::Over => {
                cx.send(client, self.present_phase(self.phase + 1));
                false
            }
        };
        if explores && self.phase > 1 {
            cx.send(client, self.present_phase(self.phase));
        }
        self.advance(cx);
    }
}

impl Stage {
    fn is_complete(&self, now: Tick) -> bool {
        match self {
            Stage::Ready(ready) => ready.is_complete(now) && ready.answered().next().is_some(),
            Stage::Means(means) => means.is_complete(now),
            Stage::Sets { gaps, sets } => gaps.is_complete(now) && sets.is_complete(now),
            Stage::Over => false,
        }
    }

    /// Time runs from the first answer on: how long exploration takes is not for a deadline to say.
    fn start(&mut self, now: Tick) -> Option<Tick> {
        match self {
            Stage::Ready(ready) => ready.start(now),
            Stage::Means(means) => means.start(now),
            Stage::Sets { gaps, sets } => gaps.start(now).max(sets.start(now)),
            Stage::Over => None,
        }
    }
}

/// Line 4, in node order.
fn average(arms: usize, parts: impl ExactSizeIterator<Item = Vec<f64>>) -> Vec<f64> {
    let clients = parts.len() as f64;
    let mut sums = vec![0.0; arms];
    for values in parts {
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    sums.iter_mut().for_each(|sum| *sum /= clients);
    sums
}

fn offer<T>(gather: &mut Gather<T>, from: NodeId, item: T) -> Result<(), Misbehaviour> {
    gather
        .offer(from, item)
        .map_err(|_| Misbehaviour::Unexpected(format!("{from} has answered or is not a member")))
}

impl Machine for Server {
    type Msg = ArmMsg;

    fn on_start(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        // Shown even if no phase is ever completed.
        cx.level("phases", 0.0);
        cx.report(Fact::CommunicationLoss(0.0));
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: ArmMsg,
        cx: &mut Cx<'_, ArmMsg>,
    ) -> Result<(), Misbehaviour> {
        if self.is_late(&message) {
            return Ok(());
        }
        let arms = self.reported_arms();
        match &message {
            ArmMsg::Upload { number, .. } if matches!(self.stage, Stage::Means(_)) => {
                self.check_number(Upload::Means, *number)?;
            }
            ArmMsg::Upload { number, .. } => self.check_number(Upload::Gaps, *number)?,
            ArmMsg::UploadActive { number, .. } => self.check_number(Upload::Active, *number)?,
            _ => {}
        }
        match (&mut self.stage, message) {
            (Stage::Ready(ready), ArmMsg::Signal { signal: READY, phase }) if phase == self.phase => {
                offer(ready, from, ())?;
            }
            (Stage::Means(means), ArmMsg::Upload { values, .. }) => {
                values.get().check(self.phase, &arms)?;
                self.rules.check_means(&values.get().values)?;
                offer(means, from, values.into_inner().values)?;
            }
            (Stage::Sets { gaps, .. }, ArmMsg::Upload { values, .. }) => {
                values.get().check(self.phase + 1, &self.active)?;
                self.rules.check_gaps(self.phase, &values.get().values)?;
                offer(gaps, from, values.into_inner().values)?;
            }
            (Stage::Sets { sets, .. }, ArmMsg::UploadActive { active, .. }) => {
                active.get().check(self.phase + 1, &self.active)?;
                offer(sets, from, active.into_inner().arms)?;
            }
            (_, other) => return Err(other.unexpected()),
        }
        if let Some(tick) = self.stage.start(cx.now()) {
            cx.wake_at(tick);
        }
        self.advance(cx);
        Ok(())
    }

    fn forgets(&self) -> Result<(), String> {
        Err(FORGETS_NOT.into())
    }

    /// A deadline.
    fn on_wake(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        self.advance(cx);
    }

    /// Means over the clients that reported. How many observations are in them nobody is told (no `observations`): clients
    /// send means and not their numbers, and what would follow from lengths and active sets is not kept.
    fn learnt(&self, _most: usize) -> (Vec<Learnt>, usize) {
        (vec![self.known.learnt(&self.rules, &self.active)], 1)
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        match &self.stage {
            Stage::Ready(ready) => ready.waiting().collect(),
            Stage::Means(means) => means.waiting().collect(),
            Stage::Sets { gaps, sets } => {
                gaps.waiting().chain(sets.waiting()).collect::<BTreeSet<_>>().into_iter().collect()
            }
            Stage::Over => Vec::new(),
        }
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, ArmMsg>) {
        match change {
            // All clients are members from the start; one that leaves no longer holds up the others.
            Membership::Left(client) if self.members.remove(&client) => {
                match &mut self.stage {
                    Stage::Ready(ready) => ready.excuse(client),
                    Stage::Means(means) => means.excuse(client),
                    Stage::Sets { gaps, sets } => {
                        gaps.excuse(client);
                        sets.excuse(client);
                    }
                    Stage::Over => {}
                }
                self.advance(cx);
            }
            Membership::Joined(client) if client.0 < self.rules.clients && self.members.insert(client) => {
                self.welcome(client, cx);
            }
            Membership::Left(_) | Membership::Joined(_) => {}
        }
    }
}
