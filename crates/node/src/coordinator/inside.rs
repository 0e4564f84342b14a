//! A coordinator without a thread and without a network: whoever holds it takes its steps, one by one.

mod replica;

use std::path::Path;

use cahoots_core::NodeId;
use cahoots_core::drive::ServerNode;
use tokio::sync::{mpsc, oneshot};

use super::core::Core;
use super::looking::Look;
use super::{Command, CoordinatorConfig, CoordinatorStatus, MemberStatus, Version};
use crate::books::Books;
use crate::error::NodeError;
use crate::identity::Peer;
use crate::platform::Platform;
use crate::transport::proto::Frame;
use crate::transport::{Inbound, Session};

pub use self::replica::SteppedReplica;

/// A coordinator whose steps are taken by hand: commands, then a commit, then what leaves.
pub struct SteppedCoordinator(Core);

impl SteppedCoordinator {
    /// Opens the store and replays what a kill interrupted.
    pub fn open(config: CoordinatorConfig, platform: &Platform) -> Result<SteppedCoordinator, NodeError> {
        Core::open(config, oneshot::channel().0, platform).map(SteppedCoordinator)
    }

    /// A new connection, and the way out to it.
    pub fn opened(&mut self, session: Session, frames: mpsc::Sender<Frame>) {
        self.0.handle(Command::Inbound(Inbound::Opened(session, Peer::default(), frames)));
    }

    /// A frame.
    pub fn frame(&mut self, session: Session, frame: Frame) {
        self.0.handle(Command::Inbound(Inbound::Frame(session, frame)));
    }

    /// A connection is gone.
    pub fn closed(&mut self, session: Session) {
        self.0.handle(Command::Inbound(Inbound::Closed(session)));
    }

    /// Time passes.
    pub fn tick(&mut self) {
        self.0.handle(Command::Tick);
    }

    /// Everything that came becomes durable.
    pub fn commit(&mut self, stop: bool) -> Result<(), NodeError> {
        self.0.commit(stop)
    }

    /// What was waiting for the commit leaves.
    pub fn send(&mut self) {
        self.0.send();
    }

    fn ask<T>(&mut self, question: impl FnOnce(oneshot::Sender<T>) -> Command) -> T {
        let (answer, mut answered) = oneshot::channel();
        self.0.handle(question(answer));
        answered.try_recv().expect("commands are answered at once")
    }

    /// A client leaves.
    pub fn remove(&mut self, client: NodeId) -> Result<(), NodeError> {
        self.ask(|answer| Command::Remove(client, answer))
    }

    /// A client's number is free again.
    pub fn release(&mut self, client: NodeId) -> Result<(), NodeError> {
        self.ask(|answer| Command::Release(client, answer))
    }

    /// Changes parameters that may change.
    pub fn change(&mut self, params: &str) -> Result<u64, NodeError> {
        self.ask(|answer| Command::Change(params.into(), answer))
    }

    /// Goes back to an earlier version of them.
    pub fn revert(&mut self, version: Option<u64>) -> Result<u64, NodeError> {
        self.ask(|answer| Command::Revert(version, answer))
    }

    /// Every version of them.
    pub fn versions(&mut self) -> Result<Vec<Version>, NodeError> {
        self.ask(Command::History)
    }

    /// Copies the store.
    pub fn backup(&mut self, to: &Path) -> Result<(), NodeError> {
        self.ask(|answer| Command::Backup(to.into(), answer))
    }

    /// What it is doing.
    pub fn status(&mut self) -> CoordinatorStatus {
        self.ask(|answer| Command::Look(Look::Status(answer)))
    }

    /// Messages that it refused since it was started.
    pub fn refused(&self) -> u64 {
        self.0.watch.refused_since_start()
    }

    /// Who ever joined, and is not forgotten.
    pub fn members(&mut self) -> Vec<MemberStatus> {
        self.ask(|answer| Command::Look(Look::Members(0, answer)))
            .1
            .into_iter()
            .map(|(_, member)| member)
            .collect()
    }

    /// What its store has under a name.
    pub fn stored(&self, name: &str) -> Option<Vec<u8>> {
        self.0.store.get(name).ok().flatten()
    }

    /// How often its store has been written.
    pub fn commits(&self) -> u64 {
        self.0.store.commits()
    }

    /// Its machine and its books.
    pub fn look<T>(&mut self, look: impl FnOnce(&mut dyn ServerNode, &Books) -> T) -> T {
        look(&mut *self.0.machine, &self.0.books)
    }
}
