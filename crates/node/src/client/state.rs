//! A client's memory: the machine, what is logged but not yet on disk, and who
//! waits for that. Everything here happens under one lock and never waits.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cahoots_core::host::{Applied, Event, Outcome, Outgoing};
use cahoots_core::link::{Arrival, Link};
use cahoots_core::{ArmBuffer, Keys, NodeId, Seating, Tick, UserId};
use tokio::sync::oneshot;

use super::lockstep::Lockstep;
use crate::clock::Clock;
use crate::error::NodeError;
use crate::live::Known;
use crate::machinery::{Deciding, Plain};
use crate::store::Batch;
use crate::terms::Terms;
use crate::transport::proto::Frame;
use crate::transport::{self, Letterhead, Outbox, WINDOW, confirm, confirm_peer};

/// What is on disk: positions that may leave or be confirmed.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// Log entries.
    pub(super) entries: u64,
    /// Messages numbered for the coordinator.
    pub(super) sent: u64,
    /// Messages received from it.
    pub(super) received: u64,
    /// The same for each other client: sent, received.
    pub(super) peers: BTreeMap<NodeId, (u64, u64)>,
}

/// Confirmations that are due after the next commit.
#[derive(Clone, Debug, Default)]
pub(super) struct Owes {
    pub(super) coordinator: bool,
    pub(super) peers: BTreeSet<NodeId>,
}

/// A member of a federation.
pub(super) struct Member {
    pub(super) machine: Box<dyn Deciding>,
    pub(super) terms: Terms,
    pub(super) seating: Seating,
    pub(super) keys: Keys,
    pub(super) head: Letterhead,
    pub(super) lockstep: Option<Lockstep>,
}

impl Member {
    /// Refuses numbers that no other client has.
    pub(super) fn check_peer(&self, peer: NodeId) -> Result<(), String> {
        let clients = self.seating.clients(&self.terms.setting);
        if peer.index() < clients && peer != self.head.from {
            return Ok(());
        }
        Err(format!("there is no other client {}", peer.0))
    }
}

/// Who waits for a commit.
pub(super) struct Waiter {
    pub(super) entries: u64,
    pub(super) answer: oneshot::Sender<Result<(), String>>,
}

pub(super) struct State {
    pub(super) member: Option<Member>,
    pub(super) epoch: u64,
    pub(super) clock: Clock,
    pub(super) expiry: Tick,
    pub(super) batch: Batch,
    /// Entries ever logged, on disk or not.
    pub(super) entries: u64,
    pub(super) durable: Marks,
    pub(super) waiters: Vec<Waiter>,
    pub(super) outbox: Option<Outbox>,
    pub(super) connections: u64,
    pub(super) owes: Owes,
    /// What other clients had confirmed at the last tick: who has not moved since is sent to again.
    unmoved: BTreeMap<NodeId, u64>,
    /// Frames that leave after the next commit.
    pub(super) after: Vec<Frame>,
    pub(super) flush: bool,
    pub(super) stop: bool,
    pub(super) failed: Option<String>,
    /// Why there is no connection.
    pub(super) trouble: Option<String>,
    pub(super) arms: ArmBuffer,
    pub(super) out: Vec<Outgoing>,
    pub(super) refused: u64,
    pub(super) expired: u64,
}

impl State {
    pub(super) fn new(epoch: u64, clock: Clock, expiry: Tick) -> State {
        State {
            member: None,
            epoch,
            clock,
            expiry,
            batch: Batch::default(),
            entries: 0,
            durable: Marks::default(),
            waiters: Vec::new(),
            outbox: None,
            connections: 0,
            owes: Owes::default(),
            unmoved: BTreeMap::new(),
            after: Vec::new(),
            flush: false,
            stop: false,
            failed: None,
            trouble: None,
            arms: ArmBuffer::default(),
            out: Vec::new(),
            refused: 0,
            expired: 0,
        }
    }

    /// The member, if inputs can be taken at all.
    pub(super) fn ready(&mut self) -> Result<&mut Member, NodeError> {
        if let Some(reason) = &self.failed {
            return Err(NodeError::Stopped(reason.clone()));
        }
        self.member.as_mut().ok_or(NodeError::NotJoined)
    }

    /// The terms are known: from now on there is a machine.
    pub(super) fn join(&mut self, member: Member, new: bool) {
        let lockstep = member.lockstep.is_some();
        self.member = Some(member);
        if new && !lockstep {
            self.input(Plain::Event(Event::Start), None);
        }
    }

    /// Log and step. Messages must have been checked to be next on their link.
    pub(super) fn input(&mut self, input: Plain, now: Option<Tick>) -> Applied {
        let now = now.unwrap_or_else(|| self.clock.now());
        let member = self.member.as_mut().expect("inputs come after joining");
        let (applied, entry) = member
            .machine
            .input(now, input, &member.keys, &mut self.out)
            .expect("checked before it was logged");
        self.log(entry);
        if let Applied::Event(Outcome::Refused(misbehaviour)) = &applied {
            self.refused += 1;
            tracing::warn!(%misbehaviour, "the machine refused a message");
        }
        applied
    }

    /// Adds an entry to the next commit, which must come soon if anything leaves.
    pub(super) fn log(&mut self, entry: Vec<u8>) {
        self.batch.append(entry);
        self.entries += 1;
        self.flush |= !self.out.is_empty();
        // Messages wait in the queues of their links until they are on disk.
        self.out.clear();
    }

    /// Someone wants to know when everything so far is on disk.
    pub(super) fn wait(&mut self) -> oneshot::Receiver<Result<(), String>> {
        let (answer, durable) = oneshot::channel();
        self.waiters.push(Waiter { entries: self.entries, answer });
        self.flush = true;
        durable
    }

    /// An envelope: new ones are logged and applied, seen ones confirmed again,
    /// gaps refused.
    pub(super) fn envelope(&mut self, envelope: cahoots_core::wire::Envelope) -> Result<(), String> {
        let unflushed = self.durable.received;
        let member = self.member.as_mut().ok_or("a message before the terms were known")?;
        let from = NodeId(envelope.from);
        if from != NodeId::SERVER {
            return self.peer_envelope(from, envelope);
        }
        let (sequence, payload) = transport::open(envelope, &member.head, NodeId::SERVER)?;
        let link = member.machine.link(NodeId::SERVER);
        if link.received() - unflushed > 2 * WINDOW {
            return Err("more messages than the window allows".into());
        }
        if link.check(sequence).map_err(|e| e.to_string())? == Arrival::Next {
            self.input(Plain::Event(Event::Message { from: NodeId::SERVER, sequence, payload }), None);
        }
        self.owes.coordinator = true;
        self.flush = true;
        Ok(())
    }

    /// An envelope from another client. The coordinator keeps none, so there may be gaps: what is missing
    /// will be sent again, and what is behind it with it.
    fn peer_envelope(&mut self, from: NodeId, envelope: cahoots_core::wire::Envelope) -> Result<(), String> {
        let member = self.member.as_mut().ok_or("a message before the terms were known")?;
        member.check_peer(from)?;
        let (sequence, payload) = transport::open(envelope, &member.head, from)?;
        match member.machine.link(from).check(sequence) {
            Ok(Arrival::Next) => {
                self.input(Plain::Event(Event::Message { from, sequence, payload }), None);
            }
            Ok(Arrival::Seen) => {}
            Err(gap) => {
                tracing::debug!(%from, %gap, "a message was lost on the way");
                return Ok(());
            }
        }
        self.owes.peers.insert(from);
        self.flush = true;
        Ok(())
    }

    /// Another client has everything up to `sequence` on disk.
    pub(super) fn confirmed_by(&mut self, peer: NodeId, sequence: u64) -> Result<(), String> {
        let member = self.member.as_mut().ok_or("a confirmation before the terms were known")?;
        member.check_peer(peer)?;
        let link = member.machine.link(peer);
        if sequence > link.sent() {
            return Err("a confirmation of what was never sent".into());
        }
        link.confirmed(sequence);
        Ok(())
    }

    /// Sends again to clients that have confirmed nothing since the last tick.
    fn repeat(&mut self) {
        let Some(member) = &mut self.member else { return };
        let mut seen = BTreeMap::new();
        for peer in member.machine.peers() {
            let link = member.machine.link(peer);
            if link.unconfirmed() > 0 {
                let confirmed = link.confirmed_up_to();
                if self.unmoved.get(&peer) == Some(&confirmed)
                    && let Some(outbox) = &mut self.outbox
                {
                    outbox.rewind(peer);
                }
                seen.insert(peer, confirmed);
            }
        }
        self.unmoved = seen;
        self.pump_peers();
    }

    /// Time passes: wakes, and decisions whose reward will not come.
    pub(super) fn tick(&mut self) {
        let now = self.clock.now();
        self.repeat();
        let Some(member) = self.member.as_mut().filter(|member| member.lockstep.is_none()) else { return };
        let wake = member.machine.wake().is_some_and(|due| due <= now);
        let old = member.machine.older_than(now.saturating_sub(self.expiry));
        if wake {
            self.input(Plain::Event(Event::Wake), Some(now));
        }
        for id in old {
            self.expired += 1;
            self.input(Plain::Abandon(id), Some(now));
        }
    }

    /// The link to the coordinator.
    pub(super) fn link(&mut self) -> Option<&mut Link> {
        self.member.as_mut().map(|member| member.machine.link(NodeId::SERVER))
    }

    /// Positions that the next commit makes durable.
    pub(super) fn marks(&mut self) -> Marks {
        let entries = self.entries;
        let Some(member) = &mut self.member else { return Marks { entries, ..Marks::default() } };
        let machine = &mut member.machine;
        let mut ends = |node: NodeId| {
            let link = machine.link(node);
            (link.sent(), link.received())
        };
        let (sent, received) = ends(NodeId::SERVER);
        let peers = machine.peers();
        let peers = peers.into_iter().map(|peer| {
            let link = machine.link(peer);
            (peer, (link.sent(), link.received()))
        });
        Marks { entries, sent, received, peers: peers.collect() }
    }

    /// A commit went through: acknowledge, confirm, send.
    pub(super) fn committed(&mut self, marks: Marks, owes: Owes, after: Vec<Frame>) {
        let (entries, received) = (marks.entries, marks.received);
        self.durable = marks;
        let (done, waiting) =
            std::mem::take(&mut self.waiters).into_iter().partition(|w| w.entries <= entries);
        self.waiters = waiting;
        for waiter in <Vec<Waiter>>::into_iter(done) {
            let _ = waiter.answer.send(Ok(()));
        }
        let Some(outbox) = &mut self.outbox else { return };
        let mut fine = !owes.coordinator || outbox.send(confirm(received));
        for peer in owes.peers {
            let (_, received) = self.durable.peers.get(&peer).copied().unwrap_or_default();
            outbox.pass_on(confirm_peer(received, peer));
        }
        fine = fine && self.pump();
        for frame in after {
            fine = fine && self.outbox.as_ref().is_some_and(|outbox| outbox.send(frame));
        }
        if !fine {
            self.outbox = None;
        }
    }

    /// Sends what is on disk, as far as the window allows.
    pub(super) fn pump(&mut self) -> bool {
        let (Some(member), Some(outbox)) = (&mut self.member, &mut self.outbox) else { return true };
        let link = member.machine.link(NodeId::SERVER);
        let fine = outbox.pump(link, self.durable.sent, NodeId::SERVER, &member.head);
        self.pump_peers();
        fine
    }

    /// The same for messages to other clients.
    fn pump_peers(&mut self) {
        let (Some(member), Some(outbox)) = (&mut self.member, &mut self.outbox) else { return };
        for (&peer, &(sent, _)) in &self.durable.peers {
            outbox.pump_peer(member.machine.link(peer), sent, peer, &member.head);
        }
    }

    /// No input is taken any more; whoever waits is told why.
    pub(super) fn fail(&mut self, reason: String) {
        for waiter in self.waiters.drain(..) {
            let _ = waiter.answer.send(Err(reason.clone()));
        }
        self.outbox = None;
        self.failed.get_or_insert(reason);
    }

    /// Why there is no connection; empty when there is one.
    pub(super) fn trouble(&mut self, reason: String) {
        self.trouble = Some(reason).filter(|reason| !reason.is_empty());
    }

    /// Whom a decision is for.
    pub(super) fn user(&mut self, user: Option<u32>) -> Result<UserId, NodeError> {
        let member = self.ready()?;
        let me = member.machine.seat().me;
        let user = match (user, &member.seating) {
            (Some(user), _) => UserId(user),
            (None, Seating::PerUser) => UserId(me.0),
            (None, _) => {
                return Err(NodeError::Request(
                    "this client decides for many users: say which (\"user\": number)".into(),
                ));
            }
        };
        let users = member.terms.setting.users;
        if user.index() >= users || member.seating.seat_of(&member.terms.setting, user) != me {
            return Err(NodeError::Request(format!("user {} is not one of {me}'s", user.0)));
        }
        Ok(user)
    }
}

/// A machine for these terms, new or as it was saved.
pub(super) fn member(
    known: &Known,
    terms: Terms,
    federation: &str,
    me: NodeId,
    secret: [u8; 32],
    saved: Option<&[u8]>,
    progress: Option<Vec<u8>>,
) -> Result<Member, NodeError> {
    let live = terms.live(known)?;
    let seating = live.seating(&terms)?;
    let clients = seating.clients(&terms.setting);
    if me.index() >= clients {
        return Err(NodeError::Config(format!(
            "there is no {me}: this federation has clients 0 to {}",
            clients - 1
        )));
    }
    Ok(Member {
        machine: live.client(&terms, me, saved)?,
        seating,
        keys: crate::secret::keys(&terms, secret),
        head: Letterhead { federation: federation.into(), from: me, parameters: terms.hash() },
        lockstep: Lockstep::of(known, &terms, progress)?,
        terms,
    })
}

/// Ticks in this time, at least one.
pub(super) fn ticks(time: Duration, tick: Duration) -> Tick {
    (time.as_nanos() / tick.as_nanos().max(1)).max(1) as Tick
}
