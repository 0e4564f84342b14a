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
use crate::contract::setting::Seat;
use crate::error::{Misbehaviour, ParamError};
use crate::ids::{NodeId, Tick, UserId};
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
    /// Whether its next pull is made only because others are waited for.
    fn waits(&self) -> bool;
    /// Its place.
    fn seat(&self) -> &Seat;
}
