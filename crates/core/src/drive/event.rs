//! What happens to machines, and what leaves them.

use serde::{Deserialize, Serialize};

use crate::contract::machine::{Membership, Ruling};
use crate::contract::message::{self, Message};
use crate::contract::prior::Prior;
use crate::drive::decision::DecisionId;
use crate::drive::queue::Waiting;
use crate::error::Misbehaviour;
use crate::ids::{NodeId, Tick};

/// What happens to any machine. `T` is how its messages come: typed, or as bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "T: serde_bytes::Serialize", deserialize = "T: serde_bytes::Deserialize<'de>"))]
pub enum Event<T> {
    /// The first input of a new machine.
    Start,
    /// A message, as it came over a link.
    Message {
        /// Who sent it.
        from: NodeId,
        /// Its number on the link.
        sequence: u64,
        /// How many numbers before it were given to messages that it makes superfluous.
        skipped: u64,
        /// What was sent; bytes are written and read in one piece.
        #[serde(with = "serde_bytes")]
        message: T,
    },
    /// The tick that was asked for.
    Wake,
    /// Someone joined or left.
    Membership(Membership),
    /// It was decided about someone.
    Ruling(Ruling),
    /// A message of someone who is not believed: its number is used up, its sender told why, and the machine not asked.
    Turned {
        /// Who sent it.
        from: NodeId,
        /// Its number on the link.
        sequence: u64,
        /// How many numbers before it were given to messages that it makes superfluous.
        skipped: u64,
        /// What was sent; bytes are written and read in one piece.
        #[serde(with = "serde_bytes")]
        message: T,
        /// Why.
        reason: String,
    },
    /// The second input of a new server, where it begins from what others have handed on.
    Prior(Box<Prior>),
}

impl<T> Event<T> {
    /// The client that came, left, or was decided about.
    pub(super) fn is_about(&self) -> Option<NodeId> {
        match self {
            Event::Membership(Membership::Joined(node) | Membership::Left(node)) => Some(*node),
            Event::Ruling(Ruling::Quarantined(node) | Ruling::Restored(node) | Ruling::Forgotten(node)) => {
                Some(*node)
            }
            Event::Start | Event::Wake | Event::Message { .. } | Event::Turned { .. } | Event::Prior(_) => {
                None
            }
        }
    }
}

/// What happens to a node, as it is logged; `P` is what a learner's decisions keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Input<P> {
    /// What happens to any machine.
    Event(Event<Vec<u8>>),
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
    /// All that has been observed and not sent yet is to be sent now.
    Drain,
    /// This node is older than what a peer has received from it: an old copy was put back. Numbers go on after
    /// `sent`, and what waits for the peer takes the last numbers up to it.
    Behind {
        /// Who has received more.
        peer: NodeId,
        /// The last number that is given out now.
        sent: u64,
        /// What waits. Queues are no part of the state that is replicated: whoever else reads this may lack some of it, or have
        /// more.
        again: Vec<Waiting>,
    },
    /// Parameters that may change while a federation runs have changed.
    Change {
        /// Counts the changes.
        version: u64,
        /// All parameters, in TOML.
        params: String,
    },
    /// From now on noise is drawn from this key. Every start of a process has a new one: two that go on from copies of one
    /// store never draw the same noise for different data.
    Key {
        /// Random bytes that never leave this node.
        privacy: NoiseKey,
    },
}

/// What noise is drawn from. It is written to a node's own log, and shown to nobody.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoiseKey(pub [u8; 32]);

impl std::fmt::Debug for NoiseKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NoiseKey(..)")
    }
}

/// An input and when it happened: one entry of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed<I> {
    /// The tick.
    pub now: Tick,
    /// What happened.
    pub input: I,
}

/// A message as it comes over a link.
pub trait Incoming<M> {
    /// The message, or why there is none in it.
    fn read(self) -> Result<M, Misbehaviour>;
}

/// A message that never was bytes.
#[derive(Clone, Debug)]
pub struct Typed<M>(pub M);

impl<M> Incoming<M> for Typed<M> {
    fn read(self) -> Result<M, Misbehaviour> {
        Ok(self.0)
    }
}

/// A message as bytes.
#[derive(Clone, Copy, Debug)]
pub struct Encoded<'a>(pub &'a [u8]);

impl<M: Message> Incoming<M> for Encoded<'_> {
    fn read(self) -> Result<M, Misbehaviour> {
        message::decode(self.0)
    }
}

impl Event<Vec<u8>> {
    /// The same event with its bytes borrowed.
    pub fn borrowed(&self) -> Event<Encoded<'_>> {
        match self {
            Event::Start => Event::Start,
            Event::Wake => Event::Wake,
            Event::Membership(change) => Event::Membership(*change),
            Event::Ruling(ruling) => Event::Ruling(*ruling),
            Event::Prior(prior) => Event::Prior(prior.clone()),
            Event::Message { from, sequence, skipped, message } => Event::Message {
                from: *from,
                sequence: *sequence,
                skipped: *skipped,
                message: Encoded(message),
            },
            Event::Turned { from, sequence, skipped, message, reason } => Event::Turned {
                from: *from,
                sequence: *sequence,
                skipped: *skipped,
                message: Encoded(message),
                reason: reason.clone(),
            },
        }
    }
}

/// A numbered message that is ready to leave.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing<M> {
    /// Receiver.
    pub to: NodeId,
    /// Its number on the link.
    pub sequence: u64,
    /// Its place among all messages of its sender.
    pub order: u64,
    /// What is sent.
    pub message: M,
}

/// Where messages go: a simulated wire, the queues of a deployment.
pub trait Outbox<M> {
    /// Takes a message on its way.
    fn post(&mut self, message: Outgoing<M>);
}

impl<M> Outbox<M> for Vec<Outgoing<M>> {
    fn post(&mut self, message: Outgoing<M>) {
        self.push(message);
    }
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
