//! A client's memory: the machine, what is logged but not yet on disk, and who
//! waits for that. Everything here happens under one lock and never waits.

mod asking;
mod crediting;
mod exchange;
mod recording;
mod shadow;
mod spending;
mod tutoring;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cahoots_core::decision::Taken;
use cahoots_core::drive::{Decided, Event, Log, Outcome};
use cahoots_core::{ArmBuffer, DecisionId, Fact, NodeId, Picked, Tick, UserId};
use tokio::sync::oneshot;

pub(super) use self::recording::{PREFIX as RECORD, Record};
use super::apprentice::{ApprenticeConfig, Plan, Tutored};
use super::ask::Decider;
use super::gain::{self, Beside, GainConfig};
use super::history::History;
use super::member::Member;
use super::registry::Registry;
use super::starts::Starts;
use super::telemetry::{Spending, Telemetry};
use super::tickets::Tickets;
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
    /// Log entries, and values that someone waits for.
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
    /// Entries and values ever written here, on disk or not.
    pub(super) entries: u64,
    /// Messages are taken and not logged: a planted fault.
    pub(super) forgets: bool,
}

impl Journal {
    /// A named value that someone may wait for.
    pub(super) fn set(&mut self, name: String, value: Vec<u8>) {
        self.batch.set(name, value);
        self.entries += 1;
    }
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

/// A decision that was taken.
pub(super) struct Chosen {
    pub(super) id: DecisionId,
    pub(super) picked: Picked,
    pub(super) model: u64,
    pub(super) decided: Decider,
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
    /// Bytes that may be kept of them for the app.
    pub(super) most_kept: usize,
    /// What is learned when a reward never comes.
    pub(super) default_reward: Option<f64>,
    /// Arms that the app refers to by id.
    pub(super) registry: Registry,
    /// What is kept of decisions for the app.
    pub(super) tickets: Tickets,
    /// What is kept of decisions for their owner.
    pub(super) record: Record,
    pub(super) journal: Journal,
    pub(super) durable: Durable,
    /// Messages of the coordinator's that were taken since the last commit.
    taken: usize,
    pub(super) waiters: Vec<Waiter>,
    pub(super) outbox: Option<Outbox>,
    /// The coordinator that was called last.
    pub(super) called: Option<String>,
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
    pub(super) said_alive: Option<Duration>,
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
    /// What its own data alone would do.
    pub(super) beside: Beside,
    pub(super) gain_config: GainConfig,
    /// Compares it with its app, where it is an apprentice.
    pub(super) apprentice: Option<Tutored>,
    pub(super) apprentice_config: Option<ApprenticeConfig>,
    /// What happened since the start of this process.
    pub(super) history: History,
    /// What its owner chose to show.
    pub(super) telemetry: Telemetry,
    /// What was spent when the last message left.
    pub(super) spending: Option<Spending>,
}

impl State {
    pub(super) fn new(starts: Starts, clock: Clock, expiry: Tick) -> State {
        let history = History::new(clock.wall());
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
            most_kept: usize::MAX,
            default_reward: None,
            registry: Registry::default(),
            tickets: Tickets::default(),
            record: Record::default(),
            journal: Journal::default(),
            durable: Durable::default(),
            taken: 0,
            waiters: Vec::new(),
            outbox: None,
            called: None,
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
            beside: Beside::unknown(),
            gain_config: GainConfig::default(),
            apprentice: None,
            apprentice_config: None,
            history,
            telemetry: Telemetry::default(),
            spending: None,
        }
    }

    /// The member, if inputs can be taken at all.
    pub(super) fn ready(&mut self) -> Result<&mut Member, NodeError> {
        if let Some(reason) = self.failed.as_ref().or(self.stalled.as_ref()) {
            return Err(NodeError::Stopped(reason.clone()));
        }
        self.member.as_mut().ok_or(NodeError::NotJoined)
    }

    /// The terms are known: from now on there is a machine, and its shadow, new or as it was kept.
    pub(super) fn join(&mut self, member: Member, new: bool, shadow: Option<Vec<u8>>) {
        self.beside = Beside::of(&member, &self.gain_config, shadow);
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
    pub(super) fn decide(&mut self, user: UserId, now: Option<Tick>) -> Result<Chosen, NodeError> {
        self.decide_as(user, now, None)
    }

    /// The same, as planned where it is compared with what the app would do.
    fn decide_as(
        &mut self,
        user: UserId,
        now: Option<Tick>,
        plan: Option<&Plan>,
    ) -> Result<Chosen, NodeError> {
        let now = now.unwrap_or_else(|| self.clock.now());
        let member = self.member.as_mut().ok_or(NodeError::NotJoined)?;
        let open = member.machine.open();
        if open >= self.most_open {
            return Err(NodeError::TooManyOpen { open });
        }
        let (epoch, me) = (self.starts.epoch(), member.header.from);
        let beside = self.beside.shadowed();
        let pick = match &beside {
            Some(shadowed) => {
                let mut rng = gain::stream(member, me, member.machine.next_id(epoch));
                Some(shadowed.pick(&self.arms, member.machine.seat(), &mut rng)?)
            }
            None => None,
        };
        let insists = beside.as_ref().zip(pick.as_ref()).and_then(|(shadowed, pick)| shadowed.insists(pick));
        let overruled = plan.and_then(Plan::insists);
        // The machine is offered one arm, takes it, and learns from it as from any other.
        let masked = overruled.or(insists).map(|arm| self.arms.mask_all_but(arm));
        let decided = member.machine.decide(now, epoch, user, &self.arms, &member.keys, &mut self.journal);
        if let Some(masked) = masked {
            self.arms.masked = masked;
        }
        let Decided { id, mut picked } = decided?;
        if let Some((shadowed, pick)) = beside.zip(pick) {
            match overruled {
                Some(arm) => shadowed.overruled(id, self.arms.row(arm)),
                None => picked = shadowed.decided(id, picked, &self.arms, pick),
            }
        }
        let federated = member.machine.ends(NodeId::SERVER).received > 0 && insists.is_none();
        let model = member.machine.model();
        self.history.decided(self.clock.wall(), federated);
        self.stepped();
        self.keep_shadow();
        if let (Some(tutored), Some(plan)) = (&mut self.apprentice, plan) {
            tutored.decided(id, plan);
            picked = plan.with_odds(picked);
        }
        let decided = match (overruled, federated) {
            (Some(_), _) => Decider::Baseline,
            (None, true) => Decider::Federated,
            (None, false) => Decider::Alone,
        };
        Ok(Chosen { id, picked, model, decided })
    }

    /// A reward: new ones are logged and learned from.
    pub(super) fn reward(
        &mut self,
        id: DecisionId,
        value: f64,
        now: Option<Tick>,
    ) -> Result<Taken<()>, NodeError> {
        let now = now.unwrap_or_else(|| self.clock.now());
        if self.apprentice.is_some() {
            self.would_take(id, value)?;
        }
        let member = self.member.as_mut().ok_or(NodeError::NotJoined)?;
        let taken = member.machine.reward(now, id, value, &member.keys, &mut self.journal)?;
        self.stepped();
        if taken == Taken::Fresh(()) {
            self.rewarded(id, value);
            self.compared(id, Some(value));
            self.tickets.close(id, &mut self.journal);
            self.recorded(id, Some(value));
        }
        Ok(taken)
    }

    /// A decision is given up.
    pub(super) fn abandon(&mut self, id: DecisionId, now: Option<Tick>) -> Result<Taken<()>, NodeError> {
        let now = now.unwrap_or_else(|| self.clock.now());
        let member = self.member.as_mut().ok_or(NodeError::NotJoined)?;
        let taken = member.machine.abandon(now, id, &member.keys, &mut self.journal)?;
        if let Some(shadowed) = self.beside.shadowed() {
            shadowed.abandoned(id);
        }
        if taken == Taken::Fresh(()) {
            self.compared(id, None);
            self.tickets.close(id, &mut self.journal);
            self.recorded(id, None);
        }
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
        for fact in &step.facts {
            if let Fact::Refused { observations, reason } = fact {
                tracing::warn!(
                    observations,
                    reason,
                    "the coordinator did not merge an upload: it is kept here"
                );
            }
        }
        member.books.enter(member.header.from, step.facts);
        self.flush |= !step.posted.is_empty();
        if released {
            self.released();
        }
        if !step.posted.is_empty() {
            self.spent_by_now();
        }
        if self.account.withdrawn().is_some() {
            self.discard();
        }
    }

    fn refuse(&mut self, misbehaviour: &impl std::fmt::Display) {
        self.refused += 1;
        tracing::warn!(reason = %misbehaviour, "message refused");
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
            self.expire(id, now);
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
