//! Machines without their types: what the drivers of this crate need of a
//! coordinator's or a client's host. [`crate::live`] makes them.

use cahoots_core::arms::ArmError;
use cahoots_core::decision::{RewardError, Taken};
use cahoots_core::host::{Applied, Event, Host, Input, LearnerHost, Outcome, Outgoing, Timed};
use cahoots_core::link::Link;
use cahoots_core::{
    ArmBuffer, ArmIndex, DecisionId, Keys, Learner, Machine, Misbehaviour, NodeId, Seat, Tick, UserId,
    snapshot,
};

/// A coordinator's host.
pub trait Coordinating: Send {
    /// Applies a logged event.
    fn apply(
        &mut self,
        event: &Timed<Event>,
        keys: &Keys,
        out: &mut Vec<Outgoing>,
    ) -> Result<Outcome, Misbehaviour>;
    /// The link to a client.
    fn link(&mut self, peer: NodeId) -> &mut Link;
    /// When it wants to be woken.
    fn wake(&self) -> Option<Tick>;
    /// Everything, to be restored.
    fn save(&self) -> Vec<u8>;
    /// The machine's state as the simulator writes it, to be compared.
    fn state(&self) -> Vec<u8>;
}

impl<M: Machine> Coordinating for Host<M> {
    fn apply(
        &mut self,
        event: &Timed<Event>,
        keys: &Keys,
        out: &mut Vec<Outgoing>,
    ) -> Result<Outcome, Misbehaviour> {
        Host::apply(self, event.now, &event.input, keys, out)
    }

    fn link(&mut self, peer: NodeId) -> &mut Link {
        Host::link(self, peer)
    }

    fn wake(&self) -> Option<Tick> {
        Host::wake(self)
    }

    fn save(&self) -> Vec<u8> {
        snapshot::save(self)
    }

    fn state(&self) -> Vec<u8> {
        snapshot::save(&(self.machine(), self.positions(), Host::wake(self)))
    }
}

/// An input that does not depend on the algorithm.
#[derive(Clone, Debug)]
pub enum Plain {
    /// What happens to any machine.
    Event(Event),
    /// A reward that was checked.
    Reward(DecisionId, f64),
    /// A reward that will not come.
    Abandon(DecisionId),
}

/// A decision: the arm, its name, and the entry that was logged for it.
pub type Decided = (ArmIndex, DecisionId, Vec<u8>);

/// A client's host.
pub trait Deciding: Send {
    /// Chooses and applies. The entry must be logged.
    fn decide(
        &mut self,
        now: Tick,
        epoch: u64,
        user: UserId,
        arms: &ArmBuffer,
        keys: &Keys,
        out: &mut Vec<Outgoing>,
    ) -> Result<Decided, ArmError>;
    /// Applies an input. The entry must be logged.
    fn input(
        &mut self,
        now: Tick,
        input: Plain,
        keys: &Keys,
        out: &mut Vec<Outgoing>,
    ) -> Result<(Applied, Vec<u8>), Misbehaviour>;
    /// Applies a logged entry again; gives its tick.
    fn replay(&mut self, entry: &[u8], keys: &Keys) -> Result<Tick, String>;
    /// Would this reward be taken?
    fn check_reward(&self, id: DecisionId, value: f64) -> Result<Taken<()>, RewardError>;
    /// Open decisions that were taken before `tick`.
    fn older_than(&self, tick: Tick) -> Vec<DecisionId>;
    /// Number of open decisions.
    fn open(&self) -> usize;
    /// The link to a peer.
    fn link(&mut self, peer: NodeId) -> &mut Link;
    /// The clients it has links to.
    fn peers(&self) -> Vec<NodeId>;
    /// Receivers and numbers of its messages after the first `known`.
    fn sent_after(&self, known: u64) -> Vec<(NodeId, u64)>;
    /// When it wants to be woken.
    fn wake(&self) -> Option<Tick>;
    /// Whether its next pull is made only because others are waited for.
    fn waits(&self) -> bool;
    /// The place of this client.
    fn seat(&self) -> &Seat;
    /// Everything, to be restored.
    fn save(&self) -> Vec<u8>;
    /// The machine's state as the simulator writes it, to be compared.
    fn state(&self) -> Vec<u8>;
}

pub(crate) struct Seated<L: Learner> {
    pub(crate) host: LearnerHost<L>,
    pub(crate) seat: Seat,
}

impl<L: Learner> Deciding for Seated<L> {
    fn decide(
        &mut self,
        now: Tick,
        epoch: u64,
        user: UserId,
        arms: &ArmBuffer,
        keys: &Keys,
        out: &mut Vec<Outgoing>,
    ) -> Result<Decided, ArmError> {
        let set = arms.arm_set(&self.seat)?;
        let (arm, id, input) = self.host.choose(epoch, user, set, keys);
        let entry = Timed { now, input };
        let bytes = encode(&entry);
        self.host.apply(now, &entry.input, keys, out).expect("only messages can misbehave");
        Ok((arm, id, bytes))
    }

    fn input(
        &mut self,
        now: Tick,
        input: Plain,
        keys: &Keys,
        out: &mut Vec<Outgoing>,
    ) -> Result<(Applied, Vec<u8>), Misbehaviour> {
        let input = match input {
            Plain::Event(event) => Input::Event(event),
            Plain::Reward(id, value) => Input::Reward { id, value },
            Plain::Abandon(id) => Input::Abandon { id },
        };
        let entry = Timed { now, input };
        let applied = self.host.apply(now, &entry.input, keys, out)?;
        Ok((applied, encode(&entry)))
    }

    fn replay(&mut self, entry: &[u8], keys: &Keys) -> Result<Tick, String> {
        let entry: Timed<Input<L::Pending>> = postcard::from_bytes(entry).map_err(|e| e.to_string())?;
        self.host.apply(entry.now, &entry.input, keys, &mut Vec::new()).map_err(|e| e.to_string())?;
        Ok(entry.now)
    }

    fn check_reward(&self, id: DecisionId, value: f64) -> Result<Taken<()>, RewardError> {
        self.host.check_reward(id, value)
    }

    fn older_than(&self, tick: Tick) -> Vec<DecisionId> {
        self.host.outstanding().older_than(tick)
    }

    fn open(&self) -> usize {
        self.host.outstanding().len()
    }

    fn link(&mut self, peer: NodeId) -> &mut Link {
        self.host.host_mut().link(peer)
    }

    fn peers(&self) -> Vec<NodeId> {
        self.host.host().links().keys().copied().filter(|peer| *peer != NodeId::SERVER).collect()
    }

    fn sent_after(&self, known: u64) -> Vec<(NodeId, u64)> {
        self.host.host().sent_after(known)
    }

    fn wake(&self) -> Option<Tick> {
        self.host.host().wake()
    }

    fn waits(&self) -> bool {
        self.host.host().machine().waits()
    }

    fn seat(&self) -> &Seat {
        &self.seat
    }

    fn save(&self) -> Vec<u8> {
        snapshot::save(&self.host)
    }

    fn state(&self) -> Vec<u8> {
        let host = self.host.host();
        snapshot::save(&(host.machine(), host.positions(), host.wake()))
    }
}

/// A log entry.
pub fn encode(entry: &impl serde::Serialize) -> Vec<u8> {
    postcard::to_stdvec(entry).expect("inputs can always be written")
}
