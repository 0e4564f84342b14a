//! Hosts without their types, in the order that makes crashes harmless: an input is logged, then applied;
//! what leaves waits in a queue until the log is on disk. Types are erased here, once per node.

mod around;
mod blueprint;
mod client;
mod driven;
mod server;

pub use blueprint::{Blueprint, Saved, saved_server};

use super::decision::{DecisionId, RewardError, Taken};
use super::event::{Event, Outcome};
use super::link::{Arrival, Ends};
use super::queue::Queues;
use crate::contract::arms::{ArmBuffer, ArmError};
use crate::contract::choice::Picked;
use crate::contract::fact::Fact;
use crate::contract::learnt::Learnt;
use crate::contract::prior::Prior;
use crate::contract::setting::Seat;
use crate::error::{Misbehaviour, ParamError};
use crate::ids::{NodeId, Tick, UserId};
use crate::policy::Distribution;
use crate::rng::Keys;

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

/// What would be decided now.
#[derive(Clone, Debug, PartialEq)]
pub struct Looked {
    /// The arm that would be taken.
    pub picked: Picked,
    /// How likely each arm is, where the policy can tell.
    pub odds: Option<Distribution>,
}

/// A machine, driven: what coordinators and clients have in common.
pub trait Node: Send {
    /// May this message be taken now, and is it new? To be asked before [`Self::event`].
    fn check(&self, from: NodeId, sequence: u64, skipped: u64) -> Result<Arrival, Misbehaviour>;
    /// Logs an event, then applies it. Messages must have been checked.
    fn event(&mut self, now: Tick, event: Event<Vec<u8>>, keys: &Keys, log: &mut dyn Log) -> Outcome;
    /// A peer has received more messages than this node remembers having sent: their numbers go on from there.
    fn behind(&mut self, now: Tick, peer: NodeId, received: u64, keys: &Keys, log: &mut dyn Log);
    /// Noise is drawn from this key from now on: logs, then applies. To be called at every start, before anything else.
    fn draw_from(&mut self, now: Tick, privacy: [u8; 32], keys: &Keys, log: &mut dyn Log);
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
    /// When it wants to be woken.
    fn wake(&self) -> Option<Tick>;
    /// Those whose answers it waits for before it can go on.
    fn waiting_for(&self) -> Vec<NodeId>;
    /// The replicated state, to be restored.
    fn save(&self) -> Vec<u8>;
    /// The machine and its numbers, as the simulator writes them, to be compared.
    fn state(&self) -> Vec<u8>;
}

/// A coordinator's machine, driven.
pub trait ServerNode: Node {
    /// Whether a client that was quarantined can go on with the machine that it has.
    fn resumes(&self) -> bool;
    /// Whether what a client contributed can be taken out again; why not, in words.
    fn forgets(&self) -> Result<(), String>;
    /// Observations in all that was merged, where the machine knows.
    fn observations(&self) -> Option<u64>;
    /// Clients that learn together.
    fn groups(&self) -> Vec<Vec<NodeId>>;
    /// What the machine has learned, at most so many models of it, and how many there are.
    fn learnt(&self, most: usize) -> (Vec<Learnt>, usize);
    /// What it could hand on to a federation that begins; why nothing, in words.
    fn prior(&self) -> Result<Prior, String>;
    /// Whether it could begin from this now; why not, in words. To be asked before [`Event::Prior`].
    fn takes_prior(&self, prior: &Prior) -> Result<(), String>;
}

/// A client's machine, driven.
pub trait ClientNode: Node {
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
    /// What [`Self::decide`] would pick now. Logs nothing, and changes nothing but caches that the decision itself makes
    /// anew: whoever looks decides next, before anything else is logged.
    fn look(&mut self, user: UserId, arms: &ArmBuffer, keys: &Keys) -> Result<Looked, ArmError>;
    /// The name that the next decision of this start will have.
    fn next_id(&self, epoch: u64) -> DecisionId;
    /// Checks a reward; logs a new one, then applies it.
    fn reward(
        &mut self,
        now: Tick,
        id: DecisionId,
        value: f64,
        keys: &Keys,
        log: &mut dyn Log,
    ) -> Result<Taken<()>, RewardError>;
    /// Would this reward be taken? Changes nothing.
    fn would_take(&self, id: DecisionId, value: f64) -> Result<Taken<()>, RewardError>;
    /// Would this decision be given up? Changes nothing.
    fn would_abandon(&self, id: DecisionId) -> Result<Taken<()>, RewardError>;
    /// Gives up an open decision: logs, then applies.
    fn abandon(
        &mut self,
        now: Tick,
        id: DecisionId,
        keys: &Keys,
        log: &mut dyn Log,
    ) -> Result<Taken<()>, RewardError>;
    /// Sends what has been observed and not sent yet: logs, then applies.
    fn drain(&mut self, now: Tick, keys: &Keys, log: &mut dyn Log);
    /// Observations that have not been sent yet.
    fn unsent(&self) -> u64;
    /// The other clients it has links to.
    fn peers(&self) -> Vec<NodeId>;
    /// Open decisions that were taken before `tick`, oldest first.
    fn older_than(&self, tick: Tick) -> Vec<DecisionId>;
    /// Number of open decisions.
    fn open(&self) -> usize;
    /// A number that grows whenever what is known does: decisions that have closed and messages that were taken. It follows
    /// from the replicated state.
    fn model(&self) -> u64;
    /// Whether its next pull is made only because others are waited for.
    fn waits(&self) -> bool;
    /// Its place.
    fn seat(&self) -> &Seat;
}
