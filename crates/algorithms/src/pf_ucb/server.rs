//! Algorithm 2: the server of pf-ucb.

use std::collections::BTreeSet;
use std::sync::Arc;

use cahoots_core::{ArmIndex, Cx, Fact, Gather, Machine, Membership, Misbehaviour, NodeId};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use super::rules::Rules;
use super::{ASK, READY, Upload};
use crate::kit::arms::{ActiveArms, ArmMsg, ArmValues};

/// Averages the clients' means, unites their active sets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    rules: Rules,
    communication_loss: f64,
    members: BTreeSet<NodeId>,
    /// p.
    phase: u64,
    /// A(p).
    active: Vec<ArmIndex>,
    stage: Stage,
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
            members: (0..rules.clients).map(NodeId).collect(),
            phase: 1,
            active: rules.all_arms(),
            stage: Stage::Over,
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

    fn open_phase(&mut self) {
        self.stage = if self.rules.authors {
            Stage::Ready(self.gather(true))
        } else {
            Stage::Means(self.gather(true))
        };
    }

    /// Waits for all members, as the paper does; or for nobody.
    fn gather<T>(&self, everyone: bool) -> Gather<T> {
        Gather::open(self.members.iter().copied().filter(|_| everyone), None)
    }

    fn broadcast(&self, message: &ArmMsg, cx: &mut Cx<'_, ArmMsg>) {
        for &client in &self.members {
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

    /// Goes on if nobody is awaited any more.
    fn advance(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        if self.members.is_empty() {
            return;
        }
        let now = cx.now();
        match &mut self.stage {
            Stage::Ready(ready) if ready.is_complete(now) => {
                self.stage = Stage::Means(self.gather(true));
                self.broadcast(&ArmMsg::Signal { signal: ASK, phase: self.phase }, cx);
            }
            Stage::Means(means) if means.is_complete(now) => {
                let parts = std::mem::replace(means, Gather::open([], None)).into_parts();
                let arms = self.reported_arms();
                let means = average(arms.len(), parts.into_values());
                self.stage = Stage::Sets { gaps: self.gather(self.rules.enhanced), sets: self.gather(true) };
                let values = ArmValues::new(self.phase, arms, means);
                self.broadcast(&ArmMsg::Download(Arc::new(values)), cx);
            }
            Stage::Sets { gaps, sets } if gaps.is_complete(now) && sets.is_complete(now) => {
                let gaps = std::mem::replace(gaps, Gather::open([], None)).into_parts();
                let sets = std::mem::replace(sets, Gather::open([], None)).into_parts();
                self.close_phase(gaps.into_values().collect(), sets.into_values(), cx);
            }
            _ => {}
        }
    }

    /// Lines 7 and 8.
    fn close_phase(
        &mut self,
        gaps: Vec<Vec<f64>>,
        sets: impl Iterator<Item = Vec<ArmIndex>>,
        cx: &mut Cx<'_, ArmMsg>,
    ) {
        let union: BTreeSet<ArmIndex> = sets.flatten().collect();
        let clients = f64::from(self.rules.clients);
        // Two exchanges per completed phase: C M T_c of Eq. (6) grows by 2 C M.
        cx.report(Fact::Rounds(2));
        cx.level("phases", self.phase as f64);
        cx.report(Fact::CommunicationLoss(2.0 * self.communication_loss * clients));
        if !gaps.is_empty() && !union.is_empty() {
            let roots = gaps.into_iter().map(|gaps| gaps.into_iter().map(f64::sqrt).collect());
            let all = average(self.active.len(), roots);
            let (arms, roots) = self.active.iter().zip(all).filter(|(arm, _)| union.contains(*arm)).unzip();
            let values = ArmValues::new(self.phase + 1, arms, roots);
            self.broadcast(&ArmMsg::Download(Arc::new(values)), cx);
        }
        self.active = union.into_iter().collect();
        let next = ActiveArms { phase: self.phase + 1, arms: self.active.clone() };
        self.broadcast(&ArmMsg::DownloadActive(Arc::new(next)), cx);
        if self.active.is_empty() {
            self.stage = Stage::Over;
        } else {
            self.phase += 1;
            self.open_phase();
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
                offer(means, from, values.into_inner().values)?;
            }
            (Stage::Sets { gaps, .. }, ArmMsg::Upload { values, .. }) => {
                values.get().check(self.phase + 1, &self.active)?;
                if !values.get().values.iter().all(|gap| *gap > 0.0) {
                    return Err(Misbehaviour::Unexpected("gaps that are not above 0".into()));
                }
                offer(gaps, from, values.into_inner().values)?;
            }
            (Stage::Sets { sets, .. }, ArmMsg::UploadActive { active, .. }) => {
                active.get().check(self.phase + 1, &self.active)?;
                offer(sets, from, active.into_inner().arms)?;
            }
            (_, other) => return Err(other.unexpected()),
        }
        self.advance(cx);
        Ok(())
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, ArmMsg>) {
        // All clients are members from the start; one that leaves no longer holds up the others.
        if let Membership::Left(client) = change
            && self.members.remove(&client)
        {
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
    }
}
