//! A machine with all that its driver must not lose: link numbers, stream
//! positions, the wake, open decisions. A host is itself deterministic: a driver
//! logs an [`Input`], applies it, flushes if anything leaves, then sends; after
//! a crash it restores a snapshot and applies the log again.

use std::collections::BTreeMap;

use prost::Message as _;
use serde::{Deserialize, Serialize};

use crate::arms::ArmSet;
use crate::context::{Cx, Effects};
use crate::decision::{DecisionId, Outstanding, RewardError, Taken};
use crate::error::Misbehaviour;
use crate::ids::{ArmIndex, NodeId, Tick, UserId};
use crate::link::{Arrival, Link};
use crate::machine::{Learner, Machine, Membership};
use crate::message::Message;
use crate::rng::{Keys, Positions};
use crate::wire;

/// What happens to any machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The first input of a new machine.
    Start,
    /// A message, as it came over a link.
    Message {
        /// Who sent it.
        from: NodeId,
        /// Its number on the link.
        sequence: u64,
        /// An encoded payload.
        payload: Vec<u8>,
    },
    /// The tick that was asked for.
    Wake,
    /// Someone joined or left.
    Membership(Membership),
}

/// What happens to a learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Input<P> {
    /// What happens to any machine.
    Event(Event),
    /// A decision was taken: only its pending part is logged.
    Decide {
        /// Its name.
        id: DecisionId,
        /// What waits for the reward.
        pending: P,
    },
    /// A reward came.
    Reward {
        /// For this decision.
        id: DecisionId,
        /// Its value.
        value: f64,
    },
    /// A reward will not come.
    Abandon {
        /// For this decision.
        id: DecisionId,
    },
}

/// An input and when it happened: one entry of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed<I> {
    /// The tick.
    pub now: Tick,
    /// What happened.
    pub input: I,
}

/// A numbered, encoded message that is ready to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Receiver.
    pub to: NodeId,
    /// Number on the link.
    pub sequence: u64,
    /// Encoded payload.
    pub payload: Vec<u8>,
}

/// What became of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The machine took it.
    Done,
    /// A message that had been taken before.
    Seen,
    /// The machine refused the message and has not changed; the number is used up.
    Refused(Misbehaviour),
}

/// Any machine and its links.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Host<M: Machine> {
    me: NodeId,
    machine: M,
    positions: Positions,
    wake: Option<Tick>,
    links: BTreeMap<NodeId, Link>,
    /// Messages sent on all links.
    sent: u64,
}

impl<M: Machine> Host<M> {
    /// A new machine; its first event must be [`Event::Start`].
    pub fn new(me: NodeId, machine: M) -> Self {
        Host { me, machine, positions: Positions::default(), wake: None, links: BTreeMap::new(), sent: 0 }
    }

    /// Applies an event. A gap in a link's numbers changes nothing and is an
    /// error: the sender must go back. Whatever leaves is in `out`, numbered.
    pub fn apply(
        &mut self,
        now: Tick,
        event: &Event,
        keys: &Keys,
        out: &mut Vec<Outgoing>,
    ) -> Result<Outcome, Misbehaviour> {
        let mut effects = Effects::default();
        let mut outcome = Outcome::Done;
        let mut cx = Cx::new(self.me, now, keys, &mut self.positions, &mut effects);
        match event {
            Event::Start => self.machine.on_start(&mut cx),
            Event::Wake => {
                self.wake = None;
                self.machine.on_wake(&mut cx);
            }
            Event::Membership(change) => self.machine.on_membership(*change, &mut cx),
            Event::Message { from, sequence, payload } => {
                let link = self.links.entry(*from).or_default();
                if link.take(*sequence)? == Arrival::Seen {
                    return Ok(Outcome::Seen);
                }
                let taken = decode::<M::Msg>(payload)
                    .and_then(|message| self.machine.on_message(*from, message, &mut cx));
                if let Err(misbehaviour) = taken {
                    outcome = Outcome::Refused(misbehaviour);
                }
            }
        }
        self.collect(effects, out);
        Ok(outcome)
    }

    fn collect(&mut self, effects: Effects<M::Msg>, out: &mut Vec<Outgoing>) {
        if effects.wake.is_some() {
            self.wake = effects.wake;
        }
        for (to, message) in effects.outbox {
            let payload = message.to_wire().encode_to_vec();
            let sequence = self.links.entry(to).or_default().send(self.sent, payload.clone());
            self.sent += 1;
            out.push(Outgoing { to, sequence, payload });
        }
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// When the machine wants to be woken.
    pub fn wake(&self) -> Option<Tick> {
        self.wake
    }

    /// Every message that is not confirmed, in the order of sending: what a
    /// recovered node sends first.
    pub fn unconfirmed(&self) -> Vec<Outgoing> {
        let mut waiting: Vec<_> = self
            .links
            .iter()
            .flat_map(|(&to, link)| {
                link.unconfirmed_after(0).map(move |message| (message.order, to, message))
            })
            .collect();
        waiting.sort_unstable_by_key(|(order, ..)| *order);
        waiting
            .into_iter()
            .map(|(_, to, message)| Outgoing {
                to,
                sequence: message.sequence,
                payload: message.payload.clone(),
            })
            .collect()
    }

    /// Receivers and numbers of the messages after the first `known` of all that this machine ever sent,
    /// in the order of sending, as far as they are not confirmed.
    pub fn sent_after(&self, known: u64) -> Vec<(NodeId, u64)> {
        let waiting = |(&to, link): (&NodeId, &Link)| {
            let after = link.unconfirmed_after(0).filter(|message| message.order >= known);
            after.map(move |message| (message.order, to, message.sequence)).collect::<Vec<_>>()
        };
        let mut sent: Vec<_> = self.links.iter().flat_map(waiting).collect();
        sent.sort_unstable();
        sent.into_iter().map(|(_, to, sequence)| (to, sequence)).collect()
    }

    /// Stream positions.
    pub fn positions(&self) -> Positions {
        self.positions
    }

    /// The link to a peer.
    pub fn link(&mut self, peer: NodeId) -> &mut Link {
        self.links.entry(peer).or_default()
    }

    /// All links.
    pub fn links(&self) -> &BTreeMap<NodeId, Link> {
        &self.links
    }
}

fn decode<M: Message>(payload: &[u8]) -> Result<M, Misbehaviour> {
    let payload = wire::Payload::decode(payload).map_err(|e| Misbehaviour::Unreadable(e.to_string()))?;
    M::from_wire(payload)
}

/// A learner, its links and its open decisions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct LearnerHost<L: Learner> {
    host: Host<L>,
    outstanding: Outstanding<L::Pending>,
    decisions: u64,
}

/// What became of an input.
#[derive(Clone, Debug, PartialEq)]
pub enum Applied {
    /// An event, see [`Outcome`].
    Event(Outcome),
    /// A decision was recorded or abandoned.
    Done,
    /// A reward was learned from.
    Learned,
    /// A reward that had been taken before.
    Repeated,
}

impl<L: Learner> LearnerHost<L> {
    /// A new learner that remembers the rewards of its last `remember` decisions.
    pub fn new(me: NodeId, learner: L, remember: usize) -> Self {
        LearnerHost { host: Host::new(me, learner), outstanding: Outstanding::new(remember), decisions: 0 }
    }

    /// Picks an arm and names the decision; nothing has changed until the
    /// returned input is applied.
    pub fn choose(
        &mut self,
        epoch: u64,
        user: UserId,
        arms: ArmSet<'_>,
        keys: &Keys,
    ) -> (ArmIndex, DecisionId, Input<L::Pending>) {
        let number = self.decisions + 1;
        let mut rng = keys.choice(self.host.me, number);
        let (arm, pending) = self.host.machine.choose(user, arms, &mut rng);
        let id = DecisionId { epoch, number };
        (arm, id, Input::Decide { id, pending })
    }

    /// Would this reward be taken? To be asked before it is logged.
    pub fn check_reward(&self, id: DecisionId, value: f64) -> Result<Taken<()>, RewardError> {
        self.outstanding.check(id, value)
    }

    /// Applies an input; whatever leaves is in `out`, numbered.
    pub fn apply(
        &mut self,
        now: Tick,
        input: &Input<L::Pending>,
        keys: &Keys,
        out: &mut Vec<Outgoing>,
    ) -> Result<Applied, Misbehaviour> {
        let mut effects = Effects::default();
        let host = &mut self.host;
        let mut cx = Cx::new(host.me, now, keys, &mut host.positions, &mut effects);
        let applied = match input {
            Input::Event(event) => return host.apply(now, event, keys, out).map(Applied::Event),
            Input::Decide { id, pending } => {
                self.decisions = id.number;
                host.machine.commit(pending, &mut cx);
                self.outstanding.open(*id, now, pending.clone());
                Applied::Done
            }
            Input::Reward { id, value } => match self.outstanding.reward(*id, *value) {
                Ok(Taken::Fresh(pending)) => {
                    host.machine.observe(pending, *value, &mut cx);
                    Applied::Learned
                }
                // Checked before it was logged, so this can only be a repetition.
                Ok(Taken::Repeated) | Err(_) => Applied::Repeated,
            },
            Input::Abandon { id } => {
                if let Some(pending) = self.outstanding.abandon(*id) {
                    host.machine.abandon(pending, &mut cx);
                }
                Applied::Done
            }
        };
        host.collect(effects, out);
        Ok(applied)
    }

    /// The machine and its links.
    pub fn host(&self) -> &Host<L> {
        &self.host
    }

    /// The machine and its links, to confirm messages.
    pub fn host_mut(&mut self) -> &mut Host<L> {
        &mut self.host
    }

    /// Decisions that wait for their rewards.
    pub fn outstanding(&self) -> &Outstanding<L::Pending> {
        &self.outstanding
    }
}
