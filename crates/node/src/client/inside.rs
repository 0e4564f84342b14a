//! A client without threads and without a network: whoever holds it takes its steps, one by one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cahoots_core::NodeId;
use cahoots_core::decision::Taken;
use cahoots_core::drive::ClientNode;
use cahoots_core::link::Ends;
use tokio::sync::{mpsc, oneshot};

use super::flusher::{Flusher, Written};
use super::link::addresses::Addresses;
use super::link::{Ended, Next};
use super::{Ack, Client, ClientConfig, NewArm, Reward, Shared, Which};
use crate::books::Books;
use crate::error::NodeError;
use crate::platform::Platform;
use crate::store::StoreError;
use crate::transport::proto::Frame;

/// Comes when what was asked is on disk.
pub type Durable = oneshot::Receiver<Result<(), String>>;

/// A client whose steps are taken by hand.
pub struct SteppedClient {
    client: Client,
    flusher: Flusher,
    /// Where its coordinators are, if it knows of several; and whether one of them has let it in since it last called.
    calling: RefCell<Option<(Addresses, bool)>>,
}

/// How a session ended, and what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parted {
    /// Why.
    pub reason: String,
    /// Trying again will not help, said the other side.
    pub refused: bool,
    /// Will it try again?
    pub again: bool,
}

impl SteppedClient {
    /// Opens the store and replays what a kill interrupted.
    pub fn open(config: &ClientConfig, platform: &Platform) -> Result<SteppedClient, NodeError> {
        let (shared, flusher) = Client::prepare(config, platform)?;
        let addresses =
            config.coordinator.as_ref().map(|all| (Addresses::new(all, config.longest_pause), false));
        let calling = RefCell::new(addresses);
        Ok(SteppedClient { client: Client { shared, threads: Vec::new() }, flusher, calling })
    }

    /// What its app sees.
    pub fn app(&self) -> &Client {
        &self.client
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.client.shared
    }

    /// A reward, or a part of one; the answer comes when it is on disk.
    pub fn reward(&self, reward: &Reward<'_>) -> Result<(Ack, Durable), NodeError> {
        self.client.take_reward(reward)
    }

    /// A deferred decision counts from now on; the answer comes when that is on disk.
    pub fn activate(&self, which: Which<'_>) -> Result<(Taken<()>, Durable), NodeError> {
        self.client.take_activation(which)
    }

    /// Arms come and go; the answer comes when that is on disk.
    pub fn register(&self, arms: &[NewArm<'_>], retire: &[&str]) -> Result<(usize, Durable), NodeError> {
        self.client.take_arms(arms, retire)
    }

    /// Sends what has been learned and not sent yet.
    pub fn drain(&self) -> Result<(), NodeError> {
        let mut state = self.shared().lock();
        state.ready()?;
        state.drain()
    }

    /// Time passes.
    pub fn tick(&self) {
        Flusher::tick(&mut self.shared().lock());
    }

    /// From now on nothing but a last commit is wanted.
    pub fn stop(&self) {
        self.shared().lock().stop = true;
    }

    /// Is there something to be committed?
    pub fn is_due(&self) -> bool {
        let state = self.shared().lock();
        state.failed.is_none() && Flusher::is_due(&state)
    }

    /// The first step of a commit: what it is about.
    pub fn gather(&mut self) {
        let mut state = self.client.shared.lock();
        self.flusher.gather(&mut state);
    }

    /// The second: on disk; `false` when the disk is full, and it is to be tried again.
    pub fn write(&mut self) -> Result<bool, StoreError> {
        Ok(self.flusher.write(&self.client.shared)? == Written::Done)
    }

    /// The third: what waited for it goes; `true` after the last commit.
    pub fn finish(&mut self) -> bool {
        self.flusher.finish(&self.client.shared)
    }

    /// Which of its coordinators it calls next.
    pub fn address(&self) -> Option<String> {
        self.calling.borrow().as_ref().map(|(addresses, _)| addresses.current().into())
    }

    /// After how long, at most.
    pub fn pause(&self) -> Duration {
        self.calling.borrow_mut().as_mut().map_or(Duration::ZERO, |(addresses, _)| addresses.pause())
    }

    /// Of what was confirmed, so many bytes are remembered from now on, beside what its coordinators may lose.
    pub fn remember(&self, bytes: usize) {
        if let Some(member) = &mut self.shared().lock().member {
            member.machine.queues().remember(bytes);
        }
    }

    /// What it says first.
    pub fn hello(&self) -> Frame {
        self.shared().hello()
    }

    /// The first frame of a session.
    pub fn greeted(&self, first: Frame, frames: mpsc::Sender<Frame>) -> Result<(), Parted> {
        self.shared().greeted(Some(first), frames).map_err(|ended| self.parted(ended))?;
        if let Some((addresses, greeted)) = &mut *self.calling.borrow_mut() {
            addresses.greeted();
            *greeted = true;
        }
        Ok(())
    }

    /// Any other frame; `false` when nothing is taken any more.
    pub fn heard(&self, frame: Frame) -> Result<bool, Parted> {
        self.shared().heard(frame).map_err(|ended| self.parted(ended))
    }

    /// The connection broke.
    pub fn broken(&self, reason: &str) -> Parted {
        self.parted(Ended::Broken(reason.into()))
    }

    fn parted(&self, ended: Ended) -> Parted {
        let (reason, refused) = match &ended {
            Ended::Broken(reason) | Ended::Elsewhere { reason, .. } => (reason.clone(), false),
            Ended::Refused(reason) | Ended::Declined(reason) => (reason.clone(), true),
        };
        let mut calling = self.calling.borrow_mut();
        let Some((addresses, greeted)) = &mut *calling else {
            return Parted { reason, refused, again: self.shared().parted(ended) != Next::GiveUp };
        };
        let next = self.shared().parted(addresses.failed(ended));
        if !std::mem::take(greeted) && next == Next::LongPause {
            addresses.wait_long();
        }
        Parted { reason, refused, again: next != Next::GiveUp }
    }

    /// Messages that it refused since it was started.
    pub fn refused(&self) -> u64 {
        self.shared().lock().refused
    }

    /// The random bytes that its noise follows from.
    pub fn secret(&self) -> [u8; 32] {
        self.shared().secret
    }

    /// The name of its store.
    pub fn instance(&self) -> [u8; 16] {
        self.shared().instance
    }

    /// How often its store has been written.
    pub fn commits(&self) -> u64 {
        self.flusher.store().commits()
    }

    /// Its machine and its books, if it knows the terms.
    pub fn look<T>(&self, look: impl FnOnce(&mut dyn ClientNode, &Books) -> T) -> Option<T> {
        let mut state = self.shared().lock();
        state.member.as_mut().map(|member| look(&mut *member.machine, &member.books))
    }

    /// What it keeps of decisions for its app, as it is stored.
    pub fn tickets(&self) -> BTreeMap<String, Vec<u8>> {
        self.shared().lock().tickets.stored()
    }

    /// The numbers of its link to a peer, as far as they are on disk.
    pub fn durable(&self, peer: NodeId) -> Ends {
        let state = self.shared().lock();
        match peer {
            NodeId::SERVER => Ends { sent: state.durable.sent, received: state.durable.received },
            peer => {
                let (sent, received) = state.durable.peers.get(&peer).copied().unwrap_or_default();
                Ends { sent, received }
            }
        }
    }
}
