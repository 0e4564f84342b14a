//! A client's memory: the machine, what is logged but not yet on disk, and who
//! waits for that. Everything here happens under one lock and never waits.

mod exchange;
mod spending;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cahoots_core::decision::Taken;
use cahoots_core::drive::{Decided, Event, Log, Outcome};
use cahoots_core::{ArmBuffer, DecisionId, Fact, NodeId, Tick, UserId};
use tokio::sync::oneshot;

use super::member::Member;
use super::starts::Starts;
use crate::clock::Clock;
use crate::error::NodeError;
use crate::privacy::{Account, Ceiling};
use crate::store::Batch;
use crate::transport::Outbox;
use crate::transport::proto::Frame;

/// How often the coordinator is told that this client is there.
const ALIVE: Duration = Duration::from_secs(5);

/// What is on disk: positions that may leave or be confirmed.
#[derive(Clone, Debug, Default)]
pub(super) struct Durable {
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
pub(super) struct DueConfirmations {
    pub(super) coordinator: bool,
    pub(super) peers: BTreeSet<NodeId>,
}

/// What is logged and not yet on disk.
#[derive(Default)]
pub(super) struct Journal {
    pub(super) batch: Batch,
    /// Entries ever logged, on disk or not.
    pub(super) entries: u64,
    /// Messages are taken and not logged: a planted fault.
    pub(super) forgets: bool,
}

impl Log for Journal {
    fn append(&mut self, entry: Vec<u8>) {
        self.batch.append(entry);
        self.entries += 1;
    }
}

/// What one commit makes durable, and what may happen once it has.
pub(super) struct Work {
    pub(super) batch: Batch,
    durable: Durable,
    due: DueConfirmations,
    /// Frames that leave after it.
    after: Vec<Frame>,
}

/// Who waits for a commit.
pub(super) struct Waiter {
    pub(super) entries: u64,
    pub(super) answer: oneshot::Sender<Result<(), String>>,
}

pub(super) struct State {
    pub(super) member: Option<Member>,
    pub(super) starts: Starts,
    /// It has lost what it knew, and asks to start anew.
    pub(super) rejoins: bool,
    /// How often the store has been written.
    pub(super) position: u64,
    pub(super) clock: Clock,
    pub(super) expiry: Tick,
    /// Decisions that may wait for their reward.
    pub(super) most_open: usize,
    pub(super) journal: Journal,
    pub(super) durable: Durable,
    /// Messages of the coordinator's that were taken since the last commit.
    taken: usize,
    pub(super) waiters: Vec<Waiter>,
    pub(super) outbox: Option<Outbox>,
    pub(super) connections: u64,
    pub(super) due: DueConfirmations,
    /// What waited first for other clients at the last tick: who has not moved since is sent to again.
    unmoved: BTreeMap<NodeId, u64>,
    /// Frames that leave after the next commit.
    pub(super) after: Vec<Frame>,
    pub(super) flush: bool,
    pub(super) stop: bool,
    pub(super) failed: Option<String>,
    /// Why there is no connection.
    pub(super) trouble: Option<String>,
    /// Why the coordinator does not let this client in: it goes on alone.
    pub(super) alone: Option<String>,
    /// Why inputs are not taken for the time being.
    pub(super) stalled: Option<String>,
    /// Messages that are gone at both ends.
    pub(super) lost: u64,
    /// When the coordinator was last told that this client is there.
    said_alive: Option<Duration>,
    pub(super) arms: ArmBuffer,
    pub(super) refused: u64,
    pub(super) expired: u64,
    /// What noise is drawn from in this start.
    pub(super) key: [u8; 32],
    /// What was spent of users' privacy.
    pub(super) account: Account,
    /// The most that may be.
    pub(super) ceiling: Option<Ceiling>,
    /// Why this client does not join: the coordinator asks for more than it gives.
    pub(super) declined: Option<String>,
}

impl State {
    pub(super) fn new(starts: Starts, clock: Clock, expiry: Tick) -> State {
        State {
            member: None,
            starts,
            rejoins: false,
            position: 0,
            alone: None,
            stalled: None,
            lost: 0,
            clock,
            expiry,
            most_open: usize::MAX,
            journal: Journal::default(),
            durable: Durable::default(),
            taken: 0,
            waiters: Vec::new(),
            outbox: None,
            connections: 0,
            due: DueConfirmations::default(),
            unmoved: BTreeMap::new(),
            after: Vec::new(),
            flush: false,
            stop: false,
            failed: None,
            trouble: None,
            said_alive: None,
            arms: ArmBuffer::default(),
            refused: 0,
            expired: 0,
            key: [0; 32],
            account: Account::default(),
            ceiling: None,
            declined: None,
        }
    }

    /// The member, if inputs can be taken at all.
    pub(super) fn ready(&mut self) -> Result<&mut Member, NodeError> {
        if let Some(reason) = self.failed.as_ref().or(self.stalled.as_ref()) {
            return Err(NodeError::Stopped(reason.clone()));
        }
        self.member.as_mut().ok_or(NodeError::NotJoined)
    }

    /// The terms are known: from now on there is a machine.
    pub(super) fn join(&mut self, member: Member, new: bool) {
        let lockstep = member.lockstep.is_some();
        let now = self.clock.now();
        let member = self.member.insert(member);
        if lockstep {
            return;
        }
        member.machine.draw_from(now, self.key, &member.keys, &mut self.journal);
        if new {
            self.event(Event::Start, None);
        }
    }

    /// What happens to any machine. Messages must have been checked.
    pub(super) fn event(&mut self, event: Event<Vec<u8>>, now: Option<Tick>) {
        let now = now.unwrap_or_else(|| self.clock.now());
        let member = self.member.as_mut().expect("events come after joining");
        let forgotten = self.journal.forgets && matches!(event, Event::Message { .. });
        let mut nowhere = Vec::new();
        let log: &mut dyn Log = if forgotten { &mut nowhere } else { &mut self.journal };
        let outcome = member.machine.event(now, event, &member.keys, log);
        if let Outcome::Refused(misbehaviour) = outcome {
            self.refuse(&misbehaviour);
        }
        self.stepped();
    }

    /// A decision for arms that are in place.
    pub(super) fn decide(&mut self, user: UserId, now: Option<Tick>) -> Result<Decided, NodeError> {
        let now = now.unwrap_or_else(|| self.clock.now());
        let member = self.member.as_mut().ok_or(NodeError::NotJoined)?;
        let open = member.machine.open();
        if open >= self.most_open {
            return Err(NodeError::TooManyOpen { open });
        }
        let journal = &mut self.journal;
        let decided =
            member.machine.decide(now, self.starts.epoch(), user, &self.arms, &member.keys, journal)?;
        self.stepped();
        Ok(decided)
    }

    /// A reward: new ones are logged and learned from.
    pub(super) fn reward(
        &mut self,
        id: DecisionId,
        value: f64,
        now: Option<Tick>,
    ) -> Result<Taken<()>, NodeError> {
        let now = now.unwrap_or_else(|| self.clock.now());
        let member = self.member.as_mut().ok_or(NodeError::NotJoined)?;
        let taken = member.machine.reward(now, id, value, &member.keys, &mut self.journal)?;
        self.stepped();
        Ok(taken)
    }

    /// A decision is given up.
    pub(super) fn abandon(&mut self, id: DecisionId, now: Option<Tick>) -> Result<Taken<()>, NodeError> {
        let now = now.unwrap_or_else(|| self.clock.now());
        let member = self.member.as_mut().ok_or(NodeError::NotJoined)?;
        let taken = member.machine.abandon(now, id, &member.keys, &mut self.journal)?;
        self.stepped();
        Ok(taken)
    }

    /// Sends what has been learned and not sent yet.
    pub(super) fn drain(&mut self) -> Result<(), NodeError> {
        let now = self.clock.now();
        let member = self.member.as_mut().ok_or(NodeError::NotJoined)?;
        if member.lockstep.is_some() {
            return Err(NodeError::Lockstep);
        }
        if let Some(reason) = self.account.withdrawn() {
            return Err(NodeError::Declined(format!("nothing leaves this client any more: {reason}")));
        }
        member.machine.drain(now, &member.keys, &mut self.journal);
        self.stepped();
        self.flush = true;
        Ok(())
    }

    /// Parameters that may change have changed.
    pub(super) fn change(&mut self, version: u64, params: &str) -> Result<(), NodeError> {
        let now = self.clock.now();
        let member = self.member.as_mut().ok_or(NodeError::NotJoined)?;
        let promised = member.would_promise(params)?;
        if version > member.machine.params().0 {
            member.within(self.ceiling.as_ref(), &promised).map_err(NodeError::Declined)?;
        }
        let changed = member.machine.change(now, version, params, &mut self.journal);
        changed.map_err(|e| NodeError::Config(e.to_string()))?;
        member.promised = member.would_promise(member.machine.params().1)?;
        self.flush = true;
        Ok(())
    }

    /// After every step: what it reported is entered, and what it sent must be on disk soon.
    fn stepped(&mut self) {
        let member = self.member.as_mut().expect("steps come after joining");
        let step = member.machine.take_step();
        let released = step.facts.iter().any(|fact| matches!(fact, Fact::Release(_)));
        member.books.enter(member.header.from, step.facts);
        self.flush |= !step.posted.is_empty();
        if released {
            self.released();
        }
        if self.account.withdrawn().is_some() {
            self.discard();
        }
    }

    fn refuse(&mut self, misbehaviour: &impl std::fmt::Display) {
        self.refused += 1;
        tracing::warn!(%misbehaviour, "refused");
    }

    /// Someone wants to know when everything so far is on disk.
    pub(super) fn wait(&mut self) -> oneshot::Receiver<Result<(), String>> {
        let (answer, durable) = oneshot::channel();
        self.waiters.push(Waiter { entries: self.journal.entries, answer });
        self.flush = true;
        durable
    }

    /// Time passes: wakes, and decisions whose reward will not come.
    pub(super) fn tick(&mut self) {
        let now = self.clock.now();
        if self.said_alive.is_none_or(|said| self.clock.elapsed().saturating_sub(said) >= ALIVE) {
            self.say_alive();
        }
        self.repeat();
        let Some(member) = self.member.as_mut().filter(|member| member.lockstep.is_none()) else { return };
        let wake = member.machine.wake().is_some_and(|due| due <= now);
        let old = member.machine.older_than(now.saturating_sub(self.expiry));
        if wake {
            self.event(Event::Wake, Some(now));
        }
        for id in old {
            self.expired += 1;
            let _ = self.abandon(id, Some(now));
        }
    }

    /// Nothing can be written: whoever waits is told why, and what was taken waits for better times.
    pub(super) fn stall(&mut self, reason: String) {
        for waiter in self.waiters.drain(..) {
            let _ = waiter.answer.send(Err(reason.clone()));
        }
        self.stalled = Some(reason);
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
}

/// Ticks in this time, at least one.
pub(super) fn ticks(time: Duration, tick: Duration) -> Tick {
    (time.as_nanos() / tick.as_nanos().max(1)).max(1) as Tick
}

#[cfg(test)]
mod tests;
