//! Federations in which nothing happens by itself: a conductor beside the coordinator says who takes which
//! step next, and beside each client someone stands in for its app. What they know of a world is theirs:
//! nothing here does, and a program that was not given a [`Lockstep`] runs none. For tests, which prove with
//! it that a deployment ends in the simulator's bytes.

use std::fmt::Debug;

use cahoots_core::drive::Event;
use cahoots_core::{ArmBuffer, ArmIndex, NodeId, Seats, Tick, UserId};
use serde::{Deserialize, Serialize};

use crate::coordinator::States;
use crate::error::NodeError;
use crate::live::Known;
use crate::terms::Terms;
use crate::transport::proto::Done;

/// Who knows how to run in lockstep.
pub trait Lockstep: Debug + Send + Sync {
    /// Checked terms of a run in a scenario, which only those who implement this can read.
    fn terms(
        &self,
        known: &Known,
        algorithm: &str,
        params: &toml::Table,
        scenario: &toml::Table,
        seed: u64,
    ) -> Result<Terms, NodeError>;
    /// Begins the run of these terms, or goes on where [`Conductor::progress`] was.
    fn conductor(
        &self,
        terms: &Terms,
        seats: Seats,
        progress: Option<Vec<u8>>,
    ) -> Result<Box<dyn Conductor>, NodeError>;
    /// Who stands in for a client's app, from the beginning or from [`StandIn::progress`] on.
    fn stand_in(&self, terms: &Terms, progress: Option<&[u8]>) -> Result<Box<dyn StandIn>, NodeError>;
    /// What the run must end in.
    fn final_states(&self, terms: &Terms) -> Result<States, NodeError>;
}

/// Says what happens next, and is told what has happened. Its progress is written with the machine's
/// inputs, so that a coordinator that was killed goes on where it was.
pub trait Conductor: Send {
    /// The present tick.
    fn tick(&self) -> Tick;
    /// What happens next; `wake` is the coordinator's own.
    fn next(&mut self, wake: Option<Tick>) -> Next;
    /// The step that a client must answer now.
    fn waiting(&self) -> Option<Order>;
    /// A client has answered; gives the sender and the number of what it was handed of another client's.
    fn done(&mut self, client: NodeId, done: Done) -> Option<(NodeId, u64)>;
    /// The coordinator's machine has sent these: receivers and numbers.
    fn sent(&mut self, posted: &[(NodeId, u64)]);
    /// A message came; it waits for its turn.
    fn came(&mut self, from: NodeId, to: NodeId, sequence: u64, payload: Vec<u8>);
    /// A message between clients that has come.
    fn letter(&self, from: NodeId, to: NodeId, sequence: u64) -> Option<&[u8]>;
    /// The last message from one client to another that was delivered.
    fn delivered(&self, from: NodeId, to: NodeId) -> u64;
    /// How many messages of a client are known of.
    fn known(&self, client: NodeId) -> u64;
    /// Progress to be written, if there was any.
    fn progress(&mut self) -> Option<Vec<u8>>;
}

/// Stands in for a client's app: offers arms, and gives rewards.
pub trait StandIn: Send {
    /// The arms on offer.
    fn offer(&mut self, tick: Tick, user: UserId, arms: &mut ArmBuffer);
    /// The reward of an arm; `waiting` where the client only passes the time until it hears from others.
    fn reward(&mut self, tick: Tick, user: UserId, arms: &ArmBuffer, arm: ArmIndex, waiting: bool) -> f64;
    /// To be written in the same commit as the inputs.
    fn progress(&self) -> Vec<u8>;
}

/// What a client is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// The first step of a new machine.
    Start,
    /// A decision and its reward.
    Decide(UserId),
    /// A message to take.
    Deliver {
        /// Who sent it.
        from: NodeId,
        /// Its number on the link.
        sequence: u64,
    },
    /// The tick that it asked for.
    Wake,
    /// Its whole state is asked for.
    Report,
}

/// A step that is handed out to a client.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Counts all steps of the run from 1.
    pub number: u64,
    /// When.
    pub tick: Tick,
    /// To whom.
    pub client: NodeId,
    /// What to do.
    pub step: Step,
}

/// What happens next.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// The coordinator's machine takes this.
    Event(Event<Vec<u8>>),
    /// A client must answer or send first.
    Wait,
    /// All is done, and these are the clients' states.
    Finished(Vec<Vec<u8>>),
}
