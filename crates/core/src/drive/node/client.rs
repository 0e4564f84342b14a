//! A client's machine, driven.

use serde::Serialize;

use super::around::Posting;
use super::driven::{Driven, Hosting};
use super::{ClientNode, Decided, Log, Looked};
use crate::contract::arms::{ArmBuffer, ArmError};
use crate::contract::context::Effects;
use crate::contract::machine::Learner;
use crate::contract::setting::Seat;
use crate::drive::decision::{DecisionId, RewardError, Taken};
use crate::drive::event::{Input, Outcome};
use crate::drive::host::Host;
use crate::drive::learner::LearnerHost;
use crate::ids::{NodeId, Tick, UserId};
use crate::rng::Keys;

pub(super) type Client<L> = Driven<LearnerHost<L>>;

impl<L: Learner> Hosting for LearnerHost<L> {
    type Machine = L;
    type Pending = L::Pending;

    fn host(&self) -> &Host<L> {
        LearnerHost::host(self)
    }

    fn host_mut(&mut self) -> &mut Host<L> {
        LearnerHost::host_mut(self)
    }

    fn apply(
        &mut self,
        now: Tick,
        input: Input<Self::Pending>,
        keys: &Keys,
        effects: &mut Effects<L::Msg>,
        out: &mut Posting<'_>,
    ) -> Result<Outcome, String> {
        match input {
            Input::Event(event) => {
                return LearnerHost::apply(self, now, event.borrowed(), keys, effects, out)
                    .map_err(|e| e.to_string());
            }
            Input::Decide { id, pending } => self.decide(now, id, pending, keys, effects, out),
            Input::Reward { id, value } => {
                self.reward(now, id, value, keys, effects, out).map_err(|e| e.to_string())?;
            }
            Input::Abandon { id } => {
                self.abandon(now, id, keys, effects, out).map_err(|e| e.to_string())?;
            }
            Input::Drain => self.drain(now, keys, effects, out),
            Input::Change { .. } | Input::Behind { .. } | Input::Key { .. } => {
                unreachable!("not an input of the machine")
            }
        }
        Ok(Outcome::Done)
    }

    fn parts(&self) -> impl Serialize {
        LearnerHost::parts(self)
    }

    fn state(&self) -> Vec<u8> {
        LearnerHost::state(self)
    }
}

impl<L: Learner> ClientNode for Client<L> {
    fn decide(
        &mut self,
        now: Tick,
        epoch: u64,
        user: UserId,
        arms: &ArmBuffer,
        keys: &Keys,
        log: &mut dyn Log,
    ) -> Result<Decided, ArmError> {
        let arms = arms.arm_set(self.host.host().seat())?;
        let choice = self.host.choose(user, arms, keys);
        let id = self.host.next_id(epoch);
        self.input(now, Input::Decide { id, pending: choice.pending }, keys, log);
        Ok(Decided { id, picked: choice.picked })
    }

    fn look(&mut self, user: UserId, arms: &ArmBuffer, keys: &Keys) -> Result<Looked, ArmError> {
        let arms = arms.arm_set(self.host.host().seat())?;
        let picked = self.host.choose(user, arms, keys).picked;
        Ok(Looked { picked, odds: self.host.odds(user, arms, keys) })
    }

    fn next_id(&self, epoch: u64) -> DecisionId {
        self.host.next_id(epoch)
    }

    fn reward(
        &mut self,
        now: Tick,
        id: DecisionId,
        value: f64,
        keys: &Keys,
        log: &mut dyn Log,
    ) -> Result<Taken<()>, RewardError> {
        let taken = self.host.check_reward(id, value)?;
        if taken == Taken::Fresh(()) {
            self.input(now, Input::Reward { id, value }, keys, log);
        }
        Ok(taken)
    }

    fn would_take(&self, id: DecisionId, value: f64) -> Result<Taken<()>, RewardError> {
        self.host.check_reward(id, value)
    }

    fn would_abandon(&self, id: DecisionId) -> Result<Taken<()>, RewardError> {
        self.host.check_abandon(id)
    }

    fn abandon(
        &mut self,
        now: Tick,
        id: DecisionId,
        keys: &Keys,
        log: &mut dyn Log,
    ) -> Result<Taken<()>, RewardError> {
        let taken = self.host.check_abandon(id)?;
        if taken == Taken::Fresh(()) {
            self.input(now, Input::Abandon { id }, keys, log);
        }
        Ok(taken)
    }

    fn drain(&mut self, now: Tick, keys: &Keys, log: &mut dyn Log) {
        self.input(now, Input::Drain, keys, log);
    }

    fn unsent(&self) -> u64 {
        self.host.machine().unsent()
    }

    fn peers(&self) -> Vec<NodeId> {
        self.host.host().links().peers().collect()
    }

    fn older_than(&self, tick: Tick) -> Vec<DecisionId> {
        self.host.older_than(tick)
    }

    fn open(&self) -> usize {
        self.host.open()
    }

    fn model(&self) -> u64 {
        let links = self.host.host().links();
        let peers: u64 = links.peers().map(|peer| links.get(peer).received).sum();
        self.host.closed() + links.get(NodeId::SERVER).received + peers
    }

    fn waits(&self) -> bool {
        self.host.machine().waits()
    }

    fn seat(&self) -> &Seat {
        self.host.host().seat()
    }
}
