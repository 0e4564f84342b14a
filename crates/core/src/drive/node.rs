//! Hosts without their types, in the order that makes crashes harmless: an input is logged, then applied;
//! what leaves waits in a queue until the log is on disk. Types are erased here, once per node.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::decision::{DecisionId, RewardError, Taken};
use super::event::{Event, Input, Outbox, Outcome, Outgoing, Timed};
use super::host::{self, Host};
use super::learner::{self, LearnerHost};
use super::link::{Arrival, Ends};
use super::queue::Queues;
use super::snapshot::{self, SnapshotError};
use crate::contract::arms::{ArmBuffer, ArmError};
use crate::contract::choice::Picked;
use crate::contract::context::Effects;
use crate::contract::fact::Fact;
use crate::contract::machine::{Algorithm, Learner, Machine};
use crate::contract::message::Message;
use crate::contract::setting::{Seat, Seats, Setting};
use crate::error::{Misbehaviour, ParamError};
use crate::ids::{NodeId, Tick, UserId};
use crate::rng::Keys;

/// Rewards of this many closed decisions are remembered, for repeated ones.
const REMEMBER: u32 = 4096;

/// Where entries are written before they are applied.
pub trait Log {
    /// Adds an entry to the next commit.
    fn append(&mut self, entry: Vec<u8>);
}

impl Log for Vec<Vec<u8>> {
    fn append(&mut self, entry: Vec<u8>) {
        self.push(entry);
    }
}

/// What a step was about and what it sent.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// What is to be known of it.
    pub facts: Vec<Fact>,
    /// Receivers and numbers of what was queued, in the order of sending.
    pub posted: Vec<(NodeId, u64)>,
}

/// A decision: its name, the arm and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// Its name.
    pub id: DecisionId,
    /// The arm.
    pub picked: Picked,
}

/// What all nodes have around their host.
struct Around<M> {
    effects: Effects<M>,
    queues: Queues,
    step: Step,
}

impl<M> Default for Around<M> {
    fn default() -> Self {
        Around { effects: Effects::default(), queues: Queues::default(), step: Step::default() }
    }
}

/// Queues that remember what a step put into them.
struct Posting<'a> {
    queues: &'a mut Queues,
    posted: &'a mut Vec<(NodeId, u64)>,
}

impl<M: Message> Outbox<M> for Posting<'_> {
    fn post(&mut self, message: Outgoing<M>) {
        self.posted.push((message.to, message.sequence));
        self.queues.post(message);
    }
}

impl<M: Message> Around<M> {
    fn restore(queues: &[u8]) -> Result<Self, SnapshotError> {
        Ok(Around { queues: Queues::restore(queues)?, ..Around::default() })
    }

    fn drive<T>(&mut self, drive: impl FnOnce(&mut Effects<M>, &mut Posting<'_>) -> T) -> T {
        let mut posting = Posting { queues: &mut self.queues, posted: &mut self.step.posted };
        let result = drive(&mut self.effects, &mut posting);
        self.step.facts.append(&mut self.effects.facts);
        result
    }
}

/// A coordinator's machine, driven.
pub trait ServerNode: Send {
    /// May this message be taken now, and is it new? To be asked before [`Self::event`].
    fn check(&self, from: NodeId, sequence: u64, skipped: u64) -> Result<Arrival, Misbehaviour>;
    /// Logs an event, then applies it. Messages must have been checked.
    fn event(&mut self, now: Tick, event: Event<Vec<u8>>, keys: &Keys, log: &mut dyn Log) -> Outcome;
    /// Logs changed parameters (all of them, in TOML), then applies them. An older version changes nothing.
    fn change(&mut self, now: Tick, version: u64, params: &str, log: &mut dyn Log) -> Result<(), ParamError>;
    /// The parameters that hold now, and how often they have changed.
    fn params(&self) -> (u64, &str);
    /// Applies a logged entry again; gives its tick.
    fn replay(&mut self, entry: &[u8], keys: &Keys) -> Result<Tick, String>;
    /// What the steps since the last call were about.
    fn take_step(&mut self) -> Step;
    /// What awaits confirmation.
    fn queues(&mut self) -> &mut Queues;
    /// The numbers of the link to a client.
    fn ends(&self, peer: NodeId) -> Ends;
    /// When it wants to be woken.
    fn wake(&self) -> Option<Tick>;
    /// The replicated state, to be restored.
    fn save(&self) -> Vec<u8>;
    /// The machine and its numbers, as the simulator writes them, to be compared.
    fn state(&self) -> Vec<u8>;
}

/// A client's machine, driven.
pub trait ClientNode: Send {
    /// Chooses; logs the decision, then applies it.
    fn decide(
        &mut self,
        now: Tick,
        epoch: u64,
        user: UserId,
        arms: &ArmBuffer,
        keys: &Keys,
        log: &mut dyn Log,
    ) -> Result<Decided, ArmError>;
    /// Checks a reward; logs a new one, then applies it.
    fn reward(
        &mut self,
        now: Tick,
        id: DecisionId,
        value: f64,
        keys: &Keys,
        log: &mut dyn Log,
    ) -> Result<Taken<()>, RewardError>;
    /// Gives up an open decision: logs, then applies.
    fn abandon(
        &mut self,
        now: Tick,
        id: DecisionId,
        keys: &Keys,
        log: &mut dyn Log,
    ) -> Result<(), RewardError>;
    /// May this message be taken now, and is it new? To be asked before [`Self::event`].
    fn check(&self, from: NodeId, sequence: u64, skipped: u64) -> Result<Arrival, Misbehaviour>;
    /// Logs an event, then applies it. Messages must have been checked.
    fn event(&mut self, now: Tick, event: Event<Vec<u8>>, keys: &Keys, log: &mut dyn Log) -> Outcome;
    /// Logs changed parameters (all of them, in TOML), then applies them. An older version changes nothing.
    fn change(&mut self, now: Tick, version: u64, params: &str, log: &mut dyn Log) -> Result<(), ParamError>;
    /// The parameters that hold now, and how often they have changed.
    fn params(&self) -> (u64, &str);
    /// Applies a logged entry again; gives its tick.
    fn replay(&mut self, entry: &[u8], keys: &Keys) -> Result<Tick, String>;
    /// What the steps since the last call were about.
    fn take_step(&mut self) -> Step;
    /// What awaits confirmation.
    fn queues(&mut self) -> &mut Queues;
    /// The numbers of the link to a peer.
    fn ends(&self, peer: NodeId) -> Ends;
    /// The other clients it has links to.
    fn peers(&self) -> Vec<NodeId>;
    /// Open decisions that were taken before `tick`, oldest first.
    fn older_than(&self, tick: Tick) -> Vec<DecisionId>;
    /// Number of open decisions.
    fn open(&self) -> usize;
    /// When it wants to be woken.
    fn wake(&self) -> Option<Tick>;
    /// Whether its next pull is made only because others are waited for.
    fn waits(&self) -> bool;
    /// Its place.
    fn seat(&self) -> &Seat;
    /// The replicated state, to be restored.
    fn save(&self) -> Vec<u8>;
    /// The machine and its numbers, as the simulator writes them, to be compared.
    fn state(&self) -> Vec<u8>;
}

/// What a federation has agreed on, as one node needs it.
struct Agreed {
    setting: Arc<Setting>,
    version: u64,
    /// All parameters, in TOML.
    params: String,
}

impl Agreed {
    /// Refuses changes of what must not change while a federation runs.
    fn check<A: Algorithm>(&self, params: &str) -> Result<A::Valid, ParamError> {
        let (old, new) = (table(A::NAME, &self.params)?, table(A::NAME, params)?);
        for key in old.keys().chain(new.keys()) {
            if old.get(key) != new.get(key) && !A::CHANGEABLE.contains(&key.as_str()) {
                let problem = match A::CHANGEABLE {
                    [] => format!(
                        "cannot change while a federation of {} runs, nor can its other parameters",
                        A::NAME
                    ),
                    keys => format!("cannot change while a federation runs; these can: {}", keys.join(", ")),
                };
                return Err(ParamError::new(key, problem));
            }
        }
        let typed = new.try_into().map_err(|e: toml::de::Error| ParamError::new(A::NAME, e.message()))?;
        A::check(typed, &self.setting)
    }
}

fn table(name: &str, params: &str) -> Result<toml::Table, ParamError> {
    params.parse().map_err(|e: toml::de::Error| ParamError::new(name, e.message()))
}

/// A node as it was saved: its replicated state, and what awaited confirmation.
#[derive(Clone, Copy, Debug)]
pub struct Saved<'a> {
    /// From [`ServerNode::save`] or [`ClientNode::save`].
    pub state: &'a [u8],
    /// From [`Queues::save`].
    pub queues: &'a [u8],
}

/// What a node is made from: checked parameters and the setting they were checked against.
pub struct Blueprint<A: Algorithm> {
    /// All parameters, in TOML.
    pub params: String,
    /// The same, checked.
    pub valid: A::Valid,
    /// What is given before anything is learned.
    pub setting: Arc<Setting>,
}

impl<A: Algorithm> Blueprint<A> {
    /// A server, new or as it was saved.
    pub fn server(&self, saved: Option<Saved<'_>>) -> Result<Box<dyn ServerNode>, SnapshotError> {
        let seat = Seats::of::<A>(&self.valid, &self.setting).seat(NodeId::SERVER);
        let Some(saved) = saved else {
            let host = Host::new(seat.clone(), A::server(&self.valid, &seat));
            return Ok(Box::new(Server::<A> { host, agreed: self.agreed(), around: Around::default() }));
        };
        let (parts, version, params): (host::Parts<A::Server>, _, _) = snapshot::restore(saved.state)?;
        let agreed = Agreed { version, params, ..self.agreed() };
        let host = Host::from_parts(seat, parts);
        Ok(Box::new(Server::<A> { host, agreed, around: Around::restore(saved.queues)? }))
    }

    /// A client, new or as it was saved.
    pub fn client(&self, me: NodeId, saved: Option<Saved<'_>>) -> Result<Box<dyn ClientNode>, SnapshotError> {
        let seat = Seats::of::<A>(&self.valid, &self.setting).seat(me);
        let Some(saved) = saved else {
            let host = LearnerHost::new(seat.clone(), A::client(&self.valid, &seat), REMEMBER);
            return Ok(Box::new(Client::<A> { host, agreed: self.agreed(), around: Around::default() }));
        };
        let (parts, version, params): (learner::Parts<A::Client>, _, _) = snapshot::restore(saved.state)?;
        let agreed = Agreed { version, params, ..self.agreed() };
        let host = LearnerHost::from_parts(seat, parts, REMEMBER);
        Ok(Box::new(Client::<A> { host, agreed, around: Around::restore(saved.queues)? }))
    }

    fn agreed(&self) -> Agreed {
        Agreed { setting: self.setting.clone(), version: 0, params: self.params.clone() }
    }
}

/// The machine in what [`ServerNode::save`] gave, to look at.
pub fn saved_server<M: Machine>(state: &[u8]) -> Result<M, SnapshotError> {
    let ((machine, ..), ..): (host::Parts<M>, u64, String) = snapshot::restore(state)?;
    Ok(machine)
}

fn entry(now: Tick, input: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(&Timed { now, input }).expect("inputs can always be written")
}

fn read<I: DeserializeOwned>(entry: &[u8]) -> Result<Timed<I>, String> {
    postcard::from_bytes(entry).map_err(|e| e.to_string())
}

const CHECKED: &str = "checked before it was logged";

struct Server<A: Algorithm> {
    host: Host<A::Server>,
    agreed: Agreed,
    around: Around<A::Msg>,
}

impl<A: Algorithm> Server<A> {
    fn apply(&mut self, now: Tick, input: Input<()>, keys: &Keys) -> Result<Outcome, String> {
        match input {
            Input::Event(event) => {
                let host = &mut self.host;
                let drive = |effects: &mut _, out: &mut Posting<'_>| {
                    host.apply(now, event.borrowed(), keys, effects, out)
                };
                return self.around.drive(drive).map_err(|e| e.to_string());
            }
            Input::Change { version, params } => {
                let valid = self.agreed.check::<A>(&params).map_err(|e| e.to_string())?;
                A::change_server(&valid, self.host.machine_mut());
                (self.agreed.version, self.agreed.params) = (version, params);
            }
            Input::Decide { .. } | Input::Reward { .. } | Input::Abandon { .. } => {
                return Err("an input that only clients have".into());
            }
        }
        Ok(Outcome::Done)
    }

    /// Log, then step.
    fn input(&mut self, now: Tick, input: Input<()>, keys: &Keys, log: &mut dyn Log) -> Outcome {
        log.append(entry(now, &input));
        self.apply(now, input, keys).expect(CHECKED)
    }
}

impl<A: Algorithm> ServerNode for Server<A> {
    fn check(&self, from: NodeId, sequence: u64, skipped: u64) -> Result<Arrival, Misbehaviour> {
        self.host.check(from, sequence, skipped)
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
        let Timed { now, input } = read::<Input<()>>(entry)?;
        self.apply(now, input, keys).map(|_| now)
    }

    fn take_step(&mut self) -> Step {
        std::mem::take(&mut self.around.step)
    }

    fn queues(&mut self) -> &mut Queues {
        &mut self.around.queues
    }

    fn ends(&self, peer: NodeId) -> Ends {
        self.host.ends(peer)
    }

    fn wake(&self) -> Option<Tick> {
        self.host.wake()
    }

    fn save(&self) -> Vec<u8> {
        snapshot::save(&(self.host.parts(), self.agreed.version, &self.agreed.params))
    }

    fn state(&self) -> Vec<u8> {
        self.host.save()
    }
}

struct Client<A: Algorithm> {
    host: LearnerHost<A::Client>,
    agreed: Agreed,
    around: Around<A::Msg>,
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
    ) -> Result<(), RewardError> {
        if !self.host.is_open(id) {
            return Err(RewardError::Unknown(id));
        }
        self.input(now, Input::Abandon { id }, keys, log);
        Ok(())
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
