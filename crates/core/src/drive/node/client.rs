//! A client's machine, driven.

use super::around::{Agreed, Around, CHECKED, entry, read};
use super::{ClientNode, Decided, Log, Step};
use crate::contract::arms::{ArmBuffer, ArmError};
use crate::contract::machine::{Algorithm, Learner};
use crate::contract::setting::Seat;
use crate::drive::decision::{DecisionId, RewardError, Taken};
use crate::drive::event::{Event, Input, Outcome, Timed};
use crate::drive::learner::LearnerHost;
use crate::drive::link::{Arrival, Ends};
use crate::drive::queue::Queues;
use crate::drive::snapshot;
use crate::error::{Misbehaviour, ParamError};
use crate::ids::{NodeId, Tick, UserId};
use crate::rng::Keys;

pub(super) struct Client<A: Algorithm> {
    pub(super) host: LearnerHost<A::Client>,
    pub(super) agreed: Agreed,
    pub(super) around: Around<A::Msg>,
}

type Pending<A> = <<A as Algorithm>::Client as Learner>::Pending;

impl<A: Algorithm> Client<A> {
    fn apply(&mut self, now: Tick, input: Input<Pending<A>>, keys: &Keys) -> Result<Outcome, String> {
        if let Input::Change { version, params } = input {
            let valid = self.agreed.check::<A>(&params).map_err(|e| e.to_string())?;
            A::change_client(&valid, self.host.host_mut().machine_mut());
            (self.agreed.version, self.agreed.params) = (version, params);
            return Ok(Outcome::Done);
        }
        let host = &mut self.host;
        self.around.drive(|effects, out| {
            match input {
                Input::Event(event) => {
                    return host.apply(now, event.borrowed(), keys, effects, out).map_err(|e| e.to_string());
                }
                Input::Decide { id, pending } => host.decide(now, id, pending, keys, effects, out),
                Input::Reward { id, value } => {
                    host.reward(now, id, value, keys, effects, out).map_err(|e| e.to_string())?;
                }
                Input::Abandon { id } => {
                    host.abandon(now, id, keys, effects, out).map_err(|e| e.to_string())?;
                }
                Input::Change { .. } => unreachable!("applied above"),
            }
            Ok(Outcome::Done)
        })
    }

    /// Log, then step.
    fn input(&mut self, now: Tick, input: Input<Pending<A>>, keys: &Keys, log: &mut dyn Log) -> Outcome {
        log.append(entry(now, &input));
        self.apply(now, input, keys).expect(CHECKED)
    }
}

impl<A: Algorithm> ClientNode for Client<A> {
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

    fn check(&self, from: NodeId, sequence: u64, skipped: u64) -> Result<Arrival, Misbehaviour> {
        self.host.host().check(from, sequence, skipped)
    }

    fn event(&mut self, now: Tick, event: Event<Vec<u8>>, keys: &Keys, log: &mut dyn Log) -> Outcome {
        self.input(now, Input::Event(event), keys, log)
    }

    fn change(&mut self, now: Tick, version: u64, params: &str, log: &mut dyn Log) -> Result<(), ParamError> {
        self.agreed.check::<A>(params)?;
        if version > self.agreed.version {
            let change = Input::Change { version, params: params.into() };
            log.append(entry(now, &change));
            self.apply(now, change, &Keys::from_seed(0)).expect(CHECKED);
        }
        Ok(())
    }

    fn params(&self) -> (u64, &str) {
        (self.agreed.version, &self.agreed.params)
    }

    fn replay(&mut self, entry: &[u8], keys: &Keys) -> Result<Tick, String> {
        let Timed { now, input } = read::<Input<Pending<A>>>(entry)?;
        self.apply(now, input, keys).map(|_| now)
    }

    fn take_step(&mut self) -> Step {
        std::mem::take(&mut self.around.step)
    }

    fn queues(&mut self) -> &mut Queues {
        &mut self.around.queues
    }

    fn ends(&self, peer: NodeId) -> Ends {
        self.host.host().ends(peer)
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

    fn wake(&self) -> Option<Tick> {
        self.host.host().wake()
    }

    fn waits(&self) -> bool {
        self.host.machine().waits()
    }

    fn seat(&self) -> &Seat {
        self.host.host().seat()
    }

    fn save(&self) -> Vec<u8> {
        snapshot::save(&(self.host.parts(), self.agreed.version, &self.agreed.params))
    }

    fn state(&self) -> Vec<u8> {
        self.host.state()
    }
}
