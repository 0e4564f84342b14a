//! The machine's thread: everything that came is logged and applied, one commit
//! makes it durable, and only then does anything leave.

use std::collections::BTreeSet;

use cahoots_core::drive::{Event, Outcome, Saved, ServerNode};
use cahoots_core::link::{Arrival, Ends};
use cahoots_core::{Keys, Membership, NodeId, ParamError, Seats, Tick};
use tokio::sync::{mpsc, oneshot};

use super::admission::{self, Admission};
use super::conduct::{self, Conduct};
use super::members::{DEPARTED, Members, PREFIX, Refused, outdated};
use super::{Command, CoordinatorConfig, CoordinatorStatus, States};
use crate::books::Books;
use crate::clock::Clock;
use crate::error::NodeError;
use crate::limits::{REASON, cut};
use crate::lockstep::Conductor;
use crate::platform::{Bug, Platform};
use crate::secret;
use crate::store::{Batch, Store, StoreError};
use crate::transport::proto::{Change, Confirm, Frame, Hello, Refusal, Welcome};
use crate::transport::{
    self, Contents, EnvelopeHeader, Inbound, Kind, Session, confirm_peer, frame, refusal,
};

/// Commands that one commit makes durable at most.
const BATCH: usize = 1024;

pub(super) struct Core {
    pub(super) machine: Box<dyn ServerNode>,
    pub(super) books: Books,
    pub(super) seats: Seats,
    pub(super) store: Store,
    pub(super) batch: Batch,
    keys: Keys,
    clock: Clock,
    pub(super) header: EnvelopeHeader,
    terms: String,
    pub(super) members: Members,
    pub(super) conduct: Conduct,
    pub(super) admission: Admission,
    pub(super) lockstep: Option<Box<dyn Conductor>>,
    pub(super) finish: Option<oneshot::Sender<States>>,
    /// Frames that leave after the next commit.
    pub(super) after: Vec<(NodeId, Frame)>,
    /// Clients for whom something new may leave after the next commit.
    pub(super) touched: BTreeSet<NodeId>,
    /// Clients who are to be told after the next commit what has come from them.
    pub(super) confirming: BTreeSet<NodeId>,
    pub(super) granted: Option<(u64, Session)>,
    snapshot_every: u64,
    pub(super) status: CoordinatorStatus,
}

impl Core {
    /// Opens the store and replays what a kill interrupted.
    pub(super) fn open(
        config: CoordinatorConfig,
        finish: oneshot::Sender<States>,
        platform: &Platform,
    ) -> Result<Core, NodeError> {
        config.terms.live(&config.known)?.deployable(&config.terms)?;
        let owner = super::owner(&config.federation);
        let (mut store, recovered) = Store::open_on(platform, &config.store, &owner, config.sync)?;
        let terms = config.terms.to_toml();
        let mut first = Batch::default();
        match store.get("terms")? {
            None => first.set("terms", terms.clone().into_bytes()),
            Some(known) if known == terms.as_bytes() => {}
            Some(_) => {
                return Err(NodeError::Config(format!(
                    "store {}: this federation was started under other terms (algorithm, parameters, setting or seed), which cannot \
                     change while it runs: restore the configuration, or start a new federation with a new name and a new store",
                    config.store.display()
                )));
            }
        }
        let secret = secret::kept(&store, &mut first, "secret")?;
        let born = secret::born(&store, &mut first)?;
        let keys = secret::keys(&config.terms, secret);
        if !first.is_empty() {
            store.commit(&first)?;
        }
        let damaged = |what: String| StoreError::Damaged { path: config.store.clone(), what };
        let live = config.terms.live(&config.known)?;
        let queues = store.get("queues")?.unwrap_or_default();
        let saved = recovered.snapshot.as_deref().map(|state| Saved { state, queues: &queues });
        let mut machine = live.coordinator(&config.terms, saved)?;
        if config.terms.lockstep.is_some() {
            machine.queues().keep_all();
        }
        let mut books = Books::restore(store.get("books")?).map_err(damaged)?;
        let mut clock = Clock::on(platform.clone(), born, config.tick, secret::tick(&store)?);
        for entry in &recovered.log {
            let tick = machine
                .replay(entry, &keys)
                .map_err(|e| damaged(format!("a log entry cannot be replayed ({e})")))?;
            clock.seen(tick);
            let facts = machine.take_step().facts;
            if !platform.has(Bug::DropFacts) {
                books.enter(NodeId::SERVER, facts);
            }
        }
        let seats = live.seats(&config.terms)?;
        let lockstep = match &config.terms.lockstep {
            Some(_) => {
                let progress = store.get("lockstep")?;
                Some(config.known.lockstep()?.conductor(&config.terms, seats.clone(), progress)?)
            }
            None => None,
        };
        let new = recovered.snapshot.is_none() && recovered.log.is_empty();
        let mut core = Core {
            machine,
            books,
            seats,
            members: Members::restore(store.list(PREFIX)?, store.list(DEPARTED)?),
            conduct: Conduct::restore(store.list(conduct::PREFIX)?, config.limits.implausible),
            admission: Admission::restore(config.security, store.list(admission::PREFIX)?),
            store,
            batch: Batch::default(),
            keys,
            clock,
            header: EnvelopeHeader {
                federation: config.federation,
                from: NodeId::SERVER,
                parameters: config.terms.hash(),
            },
            terms,
            lockstep,
            finish: Some(finish),
            after: Vec::new(),
            touched: BTreeSet::new(),
            confirming: BTreeSet::new(),
            granted: None,
            snapshot_every: config.snapshot_every,
            status: CoordinatorStatus::default(),
        };
        if new && core.lockstep.is_none() {
            core.event(Event::Start);
            core.flush(false)?;
        }
        Ok(core)
    }

    /// Takes commands until told to stop, or until the store fails.
    pub(super) fn run(mut self, mut inbox: mpsc::Receiver<Command>) -> Result<(), NodeError> {
        let mut stop = false;
        while !stop {
            let Some(first) = inbox.blocking_recv() else { break };
            let rest = std::iter::from_fn(|| inbox.try_recv().ok()).take(BATCH);
            for command in std::iter::once(first).chain(rest) {
                match command {
                    Command::Stop => stop = true,
                    other => self.handle(other),
                }
            }
            self.commit(stop)?;
            self.send();
        }
        Ok(())
    }

    /// What was taken becomes durable; whoever is here is told when it cannot.
    pub(super) fn commit(&mut self, stop: bool) -> Result<(), NodeError> {
        self.advance();
        self.flush(stop).map_err(|error| {
            let reason = format!("the coordinator has stopped: {error}");
            for connected in self.members.connected.values() {
                let _ = connected.outbox.send(refusal(&reason, false));
            }
            error.into()
        })
    }

    pub(super) fn handle(&mut self, command: Command) {
        match command {
            Command::Inbound(Inbound::Opened(session, peer, frames)) => {
                self.members.open(session, peer, frames);
            }
            Command::Inbound(Inbound::Closed(session)) => self.members.close(session),
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
            Command::Params(answer) => {
                let (version, params) = self.machine.params();
                let _ = answer.send((version, params.into()));
            }
            Command::Change(params, answer) => {
                let _ = answer.send(self.change(&params));
            }
            Command::Members(answer) => {
                let _ = answer.send(self.list_members());
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
                let _ = answer.send(saved.map_err(NodeError::from));
            }
            Command::Status(answer) => {
                let status = CoordinatorStatus {
                    rounds: self.books.rounds,
                    clusters: self.books.clusters,
                    waiting_for: self.machine.waiting_for().into_iter().map(|client| client.0).collect(),
                    params_version: self.machine.params().0,
                    implausible: self.conduct.implausible(),
                    quarantined: self.conduct.quarantined().map(|client| client.0).collect(),
                    members: self.members.len(),
                    connected: self.members.connected.len(),
                    log: self.store.entries(),
                    ..self.status.clone()
                };
                let _ = answer.send(status);
            }
            Command::Stop => {}
        }
    }

    fn frame(&mut self, session: Session, kind: Kind) {
        if let Kind::Hello(hello) = kind {
            return self.hello(session, *hello);
        }
        let Some(client) = self.members.client(session) else { return };
        match kind {
            Kind::Envelope(envelope) => {
                if let Err(reason) = self.envelope(client, *envelope) {
                    self.reject(client, reason);
                }
            }
            Kind::Confirm(Confirm { sequence, peer: Some(peer) }) => {
                self.confirmed_between(client, NodeId(peer), sequence);
            }
            Kind::Confirm(confirmed) => self.confirmed(client, confirmed.sequence),
            Kind::Refusal(refusal) => {
                let reason = cut(&refusal.reason, REASON);
                tracing::warn!(%client, %reason, "a client withdraws: it sends nothing any more");
                self.members.drop_client(client);
            }
            Kind::Alive(alive) => self.members.alive(client, alive.position),
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

    fn hello(&mut self, session: Session, hello: Hello) {
        let Some((peer, frames)) = self.members.stranger(session) else { return };
        let client = NodeId(hello.client);
        let clients = self.seats.clients();
        let ends = if client.index() < clients { self.machine.ends(client) } else { Ends::default() };
        let (federation, parameters) = (&self.header.federation, self.header.parameters);
        let now = self.store.platform().wall();
        let refused = self
            .admission
            .refuse(&self.members, &hello, &peer, federation, now)
            .or_else(|| self.members.refuse(&hello, federation, clients, parameters, ends));
        // What it has confirmed is no longer kept: who lacks it comes with an old copy.
        let refused = refused.or_else(|| {
            let lacks = !self.members.starts_anew(&hello) && self.lacks(client, hello.received);
            lacks.then(|| outdated(client))
        });
        let disbelieved = self.conduct.refuses(client, hello.rejoins);
        let refused = refused.or(disbelieved.map(|reason| Refused { reason, last: true, old: false }));
        if let Some(Refused { reason, last, old }) = refused {
            self.status.turned_away += 1;
            tracing::warn!(%client, reason, "refused");
            let _ = frames.try_send(frame(Kind::Refusal(Refusal { reason, r#final: last, old_copy: old })));
            return;
        }
        if self.members.is_member(client) && self.members.starts_anew(&hello) {
            self.leave(client);
            self.free(client);
            self.forgive(client);
        }
        if hello.received > self.machine.ends(client).sent {
            // This store is an old copy. Clients send again what it lacks; numbers go on where they are.
            tracing::warn!(%client, "it has received more than this coordinator remembers: the store is an old copy");
            let now = self.clock.now();
            self.machine.behind(now, client, hello.received, &self.keys, &mut self.batch);
        }
        self.machine.queues().confirmed(client, hello.received);
        let known = self.members.knows_start(&hello) && self.members.knows_secret(&hello);
        let new = self.members.bind(&hello);
        self.granted_by_invitation(&hello);
        if !known {
            let (key, owner) = self.members.save(client);
            self.batch.set(key, owner);
        }
        if new && self.lockstep.is_none() {
            self.event(Event::Membership(Membership::Joined(client)));
        }
        self.members.connect(client, session, peer, frames, hello.received);
        let Ends { sent, received } = self.machine.ends(client);
        let (terms, parameters) = (self.terms.clone(), self.header.parameters);
        let (version, params) = self.machine.params();
        let change = (version > 0).then(|| Change { version, params: params.into() });
        let welcome = Welcome { received, terms, parameters, sent, change };
        self.after.push((client, frame(Kind::Welcome(welcome.into()))));
        self.touched.insert(client);
        tracing::info!(%client, "connected");
    }

    /// Whether a client that has received so much cannot be sent what follows.
    fn lacks(&mut self, client: NodeId, received: u64) -> bool {
        let sent = self.machine.ends(client).sent;
        let next = self.machine.queues().after(client, received).next();
        next.map_or(sent > received, |next| next.sequence - next.skipped > received + 1)
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
        if let Some(connected) = self.members.connected.get_mut(&client) {
            connected.outbox.confirmed(sequence);
        }
        self.touched.insert(client);
    }

    /// Resets a connection; the client comes back and starts from what is confirmed.
    pub(super) fn reject(&mut self, client: NodeId, reason: String) {
        self.status.refused += 1;
        tracing::warn!(%client, reason, "connection reset");
        if let Some(connected) = self.members.connected.get(&client) {
            let _ = connected.outbox.send(refusal(reason, false));
        }
        self.members.drop_client(client);
    }

    /// Log, then step; what follows from it waits for the next commit.
    pub(super) fn event(&mut self, event: Event<Vec<u8>>) {
        let now: Tick = self.lockstep.as_ref().map_or_else(|| self.clock.now(), |run| run.tick());
        let from = match &event {
            Event::Message { from, .. } | Event::Turned { from, .. } => Some(*from),
            _ => None,
        };
        let outcome = self.machine.event(now, event, &self.keys, &mut self.batch);
        if let Outcome::Refused(misbehaviour) = &outcome {
            self.status.refused += 1;
            tracing::warn!(%misbehaviour, "the machine refused a message");
        }
        if let Some(from) = from {
            self.status.received += 1;
            self.owe_confirmation(from);
        }
        let step = self.machine.take_step();
        self.books.enter(NodeId::SERVER, step.facts);
        self.status.sent += step.posted.len() as u64;
        self.touched.extend(step.posted.iter().map(|(to, _)| *to));
        if let Some(run) = &mut self.lockstep {
            run.sent(&step.posted);
        }
        if let (Some(from), Outcome::Refused(misbehaviour)) = (from, outcome)
            && misbehaviour.is_implausible()
        {
            self.accuse(from, &misbehaviour.to_string());
        }
    }

    /// Changes parameters that may change, here and at every client.
    fn change(&mut self, params: &str) -> Result<u64, ParamError> {
        let version = self.machine.params().0 + 1;
        self.machine.change(self.clock.now(), version, params, &mut self.batch)?;
        let change = Change { version, params: params.into() };
        let everyone = self.members.connected.keys();
        self.after.extend(everyone.map(|client| (*client, frame(Kind::Change(change.clone())))));
        Ok(version)
    }

    /// One commit for everything that came.
    fn flush(&mut self, stop: bool) -> Result<(), StoreError> {
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
        if !batch.is_empty() {
            self.store.commit(&batch)?;
            self.status.commits += 1;
        }
        Ok(())
    }
}
