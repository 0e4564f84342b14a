//! The machine's thread: everything that came is logged and applied, one commit
//! makes it durable, and only then does anything leave.

use std::collections::{BTreeSet, VecDeque};

use cahoots_core::drive::{Event, Outcome, ServerNode};
use cahoots_core::link::Arrival;
use cahoots_core::{Keys, NodeId, Seats, Tick};
use prost::Message as _;
use tokio::sync::{mpsc, oneshot};

use super::admission::Admission;
use super::conduct::Conduct;
use super::leading::Leading;
use super::looking::Models;
use super::members::Members;
use super::replica::Stalled;
use super::status::{CoordinatorStatus, Plan};
use super::told::Told;
use super::unmerged::Unmerged;
use super::watch::{Happening, Traffic, Watch};
use super::{Command, States};
use crate::books::Books;
use crate::clock::Clock;
use crate::error::NodeError;
use crate::limits::{REASON, cut};
use crate::lockstep::Conductor;
use crate::platform::Bug;
use crate::privacy::PromiseStatus;
use crate::store::{Batch, Home, StoreError};
use crate::terms::Terms;
use crate::transport::proto::{Alive, Confirm, Frame};
use crate::transport::{self, Contents, EnvelopeHeader, Inbound, Kind, Session, confirm_peer, refusal};

/// The name under which the store keeps the port of the page.
const PAGE_PORT: &str = "page";

/// Commands that one commit makes durable at most.
const BATCH: usize = 1024;

pub(super) struct Core {
    pub(super) machine: Box<dyn ServerNode>,
    pub(super) books: Books,
    pub(super) seats: Seats,
    pub(super) store: Box<dyn Home>,
    pub(super) batch: Batch,
    pub(super) keys: Keys,
    pub(super) clock: Clock,
    pub(super) header: EnvelopeHeader,
    pub(super) told_terms: String,
    pub(super) members: Members,
    pub(super) conduct: Conduct,
    pub(super) unmerged: Unmerged,
    pub(super) told: Told,
    pub(super) admission: Admission,
    pub(super) lockstep: Option<Box<dyn Conductor>>,
    pub(super) finish: Option<oneshot::Sender<States>>,
    /// Frames that leave after the next commit.
    pub(super) after: Vec<(NodeId, Frame)>,
    /// The same, to those who are not let in.
    pub(super) refusals: Vec<(mpsc::Sender<Frame>, Frame)>,
    /// What it does because others stand by, if any do.
    pub(super) leading: Option<Leading>,
    pub(super) inbox: Option<mpsc::Receiver<Command>>,
    /// What came while the log did not answer.
    pub(super) held: VecDeque<Command>,
    /// Since when it does not.
    pub(super) stalled: Option<Stalled>,
    /// It was told to stop meanwhile.
    pub(super) stopping: bool,
    /// Clients for whom something new may leave after the next commit.
    pub(super) touched: BTreeSet<NodeId>,
    /// Clients who are to be told after the next commit what has come from them.
    pub(super) confirming: BTreeSet<NodeId>,
    pub(super) granted: Option<(u64, Session)>,
    pub(super) snapshot_every: u64,
    pub(super) watch: Watch,
    /// Inputs that the machine has taken since the start of this process.
    pub(super) inputs: u64,
    pub(super) models: Models,
    pub(super) terms: Terms,
    pub(super) promised: PromiseStatus,
    pub(super) plan: Option<Plan>,
    pub(super) late: f64,
    pub(super) status: CoordinatorStatus,
}

/// The bytes of a frame as they are shown: of the message in it, and of all of it. How often a client's store was written tells
/// how busy it is, and is as long as it is large: a sign of life counts as if it were the longest.
fn weigh(frame: &Frame) -> (u64, u64) {
    let bytes = frame.encoded_len();
    let longest =
        |alive: &Alive| Frame { kind: Some(Kind::Alive(Alive { position: u64::MAX, ..alive.clone() })) };
    match &frame.kind {
        Some(Kind::Envelope(_)) => (bytes as u64, bytes as u64),
        Some(Kind::Alive(alive)) => (0, longest(alive).encoded_len() as u64),
        _ => (0, bytes as u64),
    }
}

impl Core {
    /// Takes commands until told to stop, or until the store fails.
    pub(super) fn run(&mut self, inbox: mpsc::Receiver<Command>) -> Result<(), NodeError> {
        self.inbox = Some(inbox);
        let mut stop = false;
        while !stop {
            // It may have been told so while the log did not answer.
            stop = self.stopping;
            let mut next = if stop { None } else { self.next(true) };
            if next.is_none() && !stop {
                break;
            }
            for _ in 0..BATCH {
                match next {
                    None => break,
                    Some(Command::Stop) => stop = true,
                    Some(other) => self.handle(other),
                }
                next = self.next(false);
            }
            // The last one taken, where there were more than enough.
            if let Some(over) = next {
                self.held.push_front(over);
            }
            self.stopping = stop;
            self.commit(stop)?;
            self.send();
        }
        Ok(())
    }

    /// What is to be done next: first what was held back.
    fn next(&mut self, wait: bool) -> Option<Command> {
        if let Some(held) = self.held.pop_front() {
            return Some(held);
        }
        let inbox = self.inbox.as_mut()?;
        if wait { inbox.blocking_recv() } else { inbox.try_recv().ok() }
    }

    /// The port that the page had the last time.
    pub(super) fn page_port(&self) -> Result<Option<u16>, StoreError> {
        let kept = self.store.get(PAGE_PORT)?.and_then(|bytes| bytes.try_into().ok());
        Ok(kept.map(u16::from_le_bytes))
    }

    /// What was taken becomes durable; whoever is here is told when it cannot.
    pub(super) fn commit(&mut self, stop: bool) -> Result<(), NodeError> {
        self.advance();
        self.note_moves();
        self.flush(stop).map_err(|error| self.fails(error))
    }

    /// Whoever is here is told that it goes on no longer.
    pub(super) fn fails(&self, error: StoreError) -> NodeError {
        let reason = format!("the coordinator has stopped: {error}");
        for connected in self.members.connected.values() {
            let _ = connected.outbox.send(refusal(&reason, false));
        }
        error.into()
    }

    pub(super) fn handle(&mut self, command: Command) {
        self.watch.at(self.store.platform().wall().as_secs_f64());
        match command {
            Command::Inbound(Inbound::Opened(session, peer, frames)) => {
                self.members.open(session, peer, frames);
            }
            Command::Inbound(Inbound::Closed(session)) => {
                let client = self.members.client(session);
                self.members.close(session);
                if let Some(client) = client {
                    tracing::info!(client = client.0, here = self.members.connected.len(), "disconnected");
                }
            }
            Command::Inbound(Inbound::Frame(session, Frame { kind: Some(kind) })) => {
                self.frame(session, kind)
            }
            Command::Inbound(Inbound::Frame(..)) => {}
            Command::Tick => {
                self.look_again();
                if self.lockstep.is_none() {
                    let now = self.clock.now();
                    if self.machine.wake().is_some_and(|due| due <= now) {
                        self.event(Event::Wake);
                    }
                }
            }
            Command::PagePort(port, answer) => {
                // A log that several coordinators share is no place for what is one process's.
                if self.leading.is_none() {
                    self.batch.set(PAGE_PORT, port.to_le_bytes().to_vec());
                }
                let _ = answer.send(self.flush(false).map_err(NodeError::from));
            }
            Command::Params(answer) => {
                let (version, params) = self.machine.params();
                let _ = answer.send((version, params.into()));
            }
            Command::Change(params, answer) => {
                let _ = answer.send(self.change(&params, None));
            }
            Command::Revert(version, answer) => {
                let _ = answer.send(self.revert(version));
            }
            Command::History(answer) => {
                let _ = answer.send(super::change::versions(&*self.store).map_err(NodeError::from));
            }
            Command::Remove(client, answer) => {
                let _ = answer.send(self.remove(client, false));
            }
            Command::Forget(client, answer) => {
                let _ = answer.send(self.remove(client, true));
            }
            Command::Restore(client, answer) => {
                let _ = answer.send(self.restore(client));
            }
            Command::Release(client, answer) => {
                let _ = answer.send(self.release(client));
            }
            Command::Invite(client, time, answer) => {
                // Nobody is told of an invitation that a crash could take back.
                let invited = self.invite(client, time);
                let saved = self.flush(false).map_err(NodeError::from);
                let _ = answer.send(saved.and(invited));
            }
            Command::Uninvite(client, answer) => {
                let withdrawn = self.uninvite(client);
                let saved = self.flush(false).map_err(NodeError::from);
                let _ = answer.send(saved.and(withdrawn));
            }
            Command::Backup(path, answer) => {
                // What has been taken is on disk before it is copied.
                let saved = self.flush(false).and_then(|()| self.store.backup(&path));
                match &saved {
                    Ok(()) => tracing::info!(to = %path.display(), "store copied"),
                    Err(error) => tracing::warn!(%error, "store not copied"),
                }
                let _ = answer.send(saved.map_err(NodeError::from));
            }
            Command::Look(look) => self.look(look),
            Command::Sample => {
                self.sample();
                self.lead_on();
            }
            Command::State(answer) => {
                // What was taken and is not in the log yet is in the machine, and would be told of under the wrong sequence.
                if self.flush(false).is_ok() {
                    let _ = answer.send(self.digest());
                }
            }
            Command::Stop => {}
        }
    }

    fn frame(&mut self, session: Session, kind: Kind) {
        if let Kind::Hello(hello) = kind {
            return self.hello(session, *hello);
        }
        let Some(client) = self.members.client(session) else { return };
        let frame = Frame { kind: Some(kind) };
        self.watch.heard(client, weigh(&frame));
        let Some(kind) = frame.kind else { return };
        match kind {
            Kind::Envelope(envelope) => {
                if let Err(reason) = self.envelope(client, *envelope) {
                    self.reject(client, reason);
                }
            }
            Kind::Confirm(Confirm { sequence, peer: Some(peer), .. }) => {
                self.confirmed_between(client, NodeId(peer), sequence);
            }
            Kind::Confirm(confirmed) => self.confirmed(client, confirmed.sequence),
            Kind::Refusal(refusal) => {
                let reason = cut(&refusal.reason, REASON);
                tracing::warn!(client = client.0, %reason, "withdrew: it sends nothing any more");
                // It will not say so again.
                self.told.withdraws(client, &reason);
                self.save_told();
                self.watch.note(Happening::Withdrew, Some(client), &*reason);
                self.members.drop_client(client);
            }
            Kind::Alive(alive) => {
                self.members.alive(client, alive.position);
                match self.told.hear(client, alive.spent, alive.telemetry) {
                    Ok(false) => {}
                    Ok(true) => {
                        self.watch.change(client);
                    }
                    Err(wrong) => {
                        self.watch.refuse(client, wrong);
                        tracing::warn!(
                            client = client.0,
                            wrong,
                            "what a client says of itself cannot be true"
                        );
                    }
                }
            }
            Kind::Done(done) => {
                self.confirmed(client, done.received);
                if let Some(run) = &mut self.lockstep
                    && let Some((from, sequence)) = run.done(client, *done)
                {
                    // Whoever sent what was delivered need not keep it, once this is on disk.
                    self.after.push((from, confirm_peer(sequence, client)));
                }
            }
            _ => self.reject(client, "a frame that only coordinators send".into()),
        }
    }

    /// A message: new ones are logged and applied, seen ones confirmed again,
    /// gaps refused.
    fn envelope(&mut self, client: NodeId, envelope: cahoots_core::wire::Envelope) -> Result<(), String> {
        if envelope.to != NodeId::SERVER.0 {
            return self.between_clients(client, envelope);
        }
        let Contents { sequence, skipped, payload } = transport::open(envelope, &self.header, client)?;
        if let Some(run) = &mut self.lockstep {
            if sequence > self.machine.ends(client).received {
                run.came(client, NodeId::SERVER, sequence, payload);
                return Ok(());
            }
        } else {
            let arrival = self.machine.check(client, sequence, skipped).map_err(|e| e.to_string())?;
            let (from, message) = (client, payload);
            if arrival == Arrival::Next {
                self.event(match self.conduct.words(client) {
                    None => Event::Message { from, sequence, skipped, message },
                    Some(reason) => Event::Turned { from, sequence, skipped, message, reason },
                });
            } else if self.store.platform().has(Bug::DoubleMerge) {
                let sequence = self.machine.ends(client).received + 1;
                self.event(Event::Message { from, sequence, skipped: 0, message });
            }
        }
        self.owe_confirmation(client);
        Ok(())
    }

    fn owe_confirmation(&mut self, client: NodeId) {
        if let Some(connected) = self.members.connected.get_mut(&client) {
            connected.confirmation_due = true;
            self.confirming.insert(client);
        }
    }

    fn confirmed(&mut self, client: NodeId, sequence: u64) {
        if sequence > self.machine.ends(client).sent {
            return self.reject(client, "a confirmation of what was never sent".into());
        }
        self.machine.queues().confirmed(client, sequence);
        if let Some(leading) = &mut self.leading {
            leading.confirmed(client, sequence);
        }
        if let Some(connected) = self.members.connected.get_mut(&client) {
            connected.outbox.confirmed(sequence);
        }
        self.touched.insert(client);
    }

    /// Resets a connection; the client comes back and starts from what is confirmed.
    pub(super) fn reject(&mut self, client: NodeId, reason: String) {
        self.watch.refuse(client, &reason);
        tracing::warn!(client = client.0, reason, "connection reset");
        if let Some(connected) = self.members.connected.get(&client) {
            let _ = connected.outbox.send(refusal(reason, false));
        }
        self.members.drop_client(client);
    }

    /// Log, then step; what follows from it waits for the next commit.
    pub(super) fn event(&mut self, event: Event<Vec<u8>>) {
        let now: Tick = self.lockstep.as_ref().map_or_else(|| self.clock.now(), |run| run.tick());
        let from = match &event {
            Event::Message { from, skipped, .. } | Event::Turned { from, skipped, .. } => {
                Some((*from, *skipped))
            }
            _ => None,
        };
        self.inputs += 1;
        let outcome = self.machine.event(now, event, &self.keys, &mut self.batch);
        if let Outcome::Refused(misbehaviour) = &outcome {
            match from {
                Some((from, _)) => self.watch.refuse(from, &misbehaviour.to_string()),
                None => self.watch.traffic.refused += 1,
            }
            let client = from.map(|(from, _)| from.0);
            tracing::warn!(client, reason = %misbehaviour, "message refused");
        }
        if let Some((from, skipped)) = from {
            let refused = matches!(outcome, Outcome::Refused(_));
            self.watch.traffic.received += u64::from(outcome == Outcome::Done);
            self.watch.traffic.not_merged += u64::from(refused);
            if outcome != Outcome::Seen && self.unmerged.count(from, refused, skipped) {
                let (key, numbers) = self.unmerged.save(from);
                self.batch.set(key, numbers);
            }
            self.watch.change(from);
            self.owe_confirmation(from);
        }
        let step = self.machine.take_step();
        self.enter(step.facts);
        self.watch.traffic.sent += step.posted.len() as u64;
        self.touched.extend(step.posted.iter().map(|(to, _)| *to));
        if let Some(run) = &mut self.lockstep {
            run.sent(&step.posted);
        }
        if let (Some((from, _)), Outcome::Refused(misbehaviour)) = (from, outcome)
            && misbehaviour.is_implausible()
        {
            self.accuse(from, &misbehaviour.to_string());
        }
    }

    /// One commit for everything that came.
    pub(super) fn flush(&mut self, stop: bool) -> Result<(), StoreError> {
        let Some(batch) = self.gather(stop) else { return Ok(()) };
        let mut committed = self.store.commit(&batch);
        // Whether it counts is not known: nothing may follow before it is.
        while let Err(StoreError::Unanswered { what, .. }) = &committed
            && self.wait_for_the_log(what)
        {
            committed = self.store.settle();
        }
        self.flushed(batch, committed)
    }

    /// All that is to be committed now, if there is anything.
    pub(super) fn gather(&mut self, stop: bool) -> Option<Batch> {
        // What members tell of themselves goes with commits that are made anyway.
        if !self.batch.is_empty() || stop {
            self.save_told();
        }
        let mut batch = std::mem::take(&mut self.batch);
        if self.store.wants_snapshot(self.snapshot_every) || stop {
            batch.snapshot(self.machine.save());
            batch.set("queues", self.machine.queues().save());
            batch.set("books", self.books.save());
            batch.set("tick", self.clock.now().to_le_bytes().to_vec());
            // How far their stores have come was heard since they were let in.
            for client in self.members.connected.keys() {
                let (key, owner) = self.members.save(*client);
                batch.set(key, owner);
            }
        }
        self.prove(&mut batch);
        if batch.is_empty() {
            return None;
        }
        if self.watch.traffic != self.watch.stored {
            self.watch.stored = self.watch.traffic;
            let traffic = postcard::to_stdvec(&self.watch.traffic).expect("numbers can be written");
            batch.set(Traffic::KEY, traffic);
        }
        Some(batch)
    }

    /// It is known what became of what was gathered.
    pub(super) fn flushed(
        &mut self,
        batch: Batch,
        committed: Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.stalled = None;
        if let Err(error) = committed {
            // What was taken is not forgotten: whoever commits next begins with it, or fails too.
            self.batch = batch;
            return Err(error);
        }
        self.status.commits += 1;
        if batch.has_snapshot() {
            tracing::info!(commits = self.store.commits(), bytes = self.store.size(), "snapshot written");
            self.snapshot_was_kept();
        }
        Ok(())
    }
}
