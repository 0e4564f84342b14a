//! Standing by: the same log, the same machine, nothing said but who leads.

use std::collections::BTreeMap;
use std::time::Duration;

use cahoots_core::NodeId;
use cahoots_core::drive::ServerNode;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::fold::Fold;
use super::leading::{CONFIRMED, STATE, hex};
use super::looking::{Look, Model};
use super::opening::same_terms;
use super::replica::{ReplicaStatus, Role, Stalled, stalled};
use super::replicas::Member;
use super::status::{Attention, observation_bytes};
use super::watch::Watch;
use super::{Command, CoordinatorStatus, Digest, Health};
use crate::error::NodeError;
use crate::platform::Bug;
use crate::privacy::PromiseStatus;
use crate::replica::{Beacon, Pulse, Read, Replicated, Seen, Unusable};
use crate::secret;
use crate::store::{Home, StoreError};
use crate::transport::proto::{Frame, Refusal};
use crate::transport::{Inbound, Kind, Session, frame};

/// How long to wait where there is nothing to read, and where nobody answers.
const IDLE: Duration = Duration::from_millis(20);
const SILENT: Duration = Duration::from_millis(250);
/// How often the ends of the log are looked at, and what was seen is remembered.
const LOOK: Duration = Duration::from_millis(500);

/// Snapshots in a row that the log does not follow on, before that is believed: a list of them may be from the past.
const GAPS: u32 = 20;
/// What is wrong with a name that another has, too.
const NAMESAKE: &str =
    "another coordinator leads under the same name as this one: nobody can tell them apart";

/// From here on it leads.
pub(super) struct End {
    pub(super) member: Member,
    pub(super) home: Box<Replicated>,
    pub(super) fold: Option<Fold>,
    pub(super) beacon: Box<dyn Beacon>,
}

/// What a step came to.
enum Step {
    Read,
    Nothing,
    Leads,
}

/// A coordinator that stands by.
pub(super) struct Standby {
    member: Member,
    home: Option<Box<Replicated>>,
    fold: Option<Fold>,
    beacon: Option<Box<dyn Beacon>>,
    strangers: BTreeMap<Session, mpsc::Sender<Frame>>,
    /// Who leads: its name, where it is, and where its page is.
    leader: Option<String>,
    address: Option<String>,
    page: Option<String>,
    /// When the leader was last heard of, and how long to wait for it.
    sign: Duration,
    patience: Duration,
    /// When the ends of the log were last looked at.
    looked: Option<Duration>,
    caught_up: bool,
    /// Behind which message the log did not go on, and how often in a row.
    gap: Option<u64>,
    gaps: u32,
    /// Since when the log does not answer, and what was heard last.
    stalled: Option<Stalled>,
    /// Another coordinator leads under this one's name.
    namesake: bool,
    /// What follows from the terms alone.
    seats: usize,
    promised: PromiseStatus,
    watch: Watch,
}

impl Standby {
    pub(super) fn new(member: Member) -> Standby {
        let (sign, wall) = (member.platform.elapsed(), member.platform.wall().as_secs_f64());
        let terms = &member.config.terms;
        let live = terms.live(&member.config.known).ok();
        let seats = live.as_ref().and_then(|live| live.seats(terms).ok()).map_or(0, |seats| seats.clients());
        let promised =
            live.and_then(|live| live.promised(terms).ok()).map(|promised| PromiseStatus::of(&promised));
        let mut standby = Standby {
            seats,
            promised: promised.unwrap_or_default(),
            member,
            home: None,
            fold: None,
            beacon: None,
            strangers: BTreeMap::new(),
            leader: None,
            address: None,
            page: None,
            sign,
            patience: Duration::ZERO,
            looked: None,
            caught_up: false,
            stalled: None,
            gap: None,
            gaps: 0,
            namesake: false,
            watch: Watch::new(wall, super::watch::Traffic::default()),
        };
        standby.patience = standby.drawn(standby.member.replicas.lease);
        standby
    }

    /// Not the same for all: who tries to lead at the same moment is in the way.
    fn drawn(&self, least: Duration) -> Duration {
        let mut byte = [0; 1];
        let _ = self.member.platform.fill(&mut byte);
        least + (self.member.replicas.lease / 2).mul_f64(f64::from(byte[0]) / 255.0)
    }

    /// Until it leads; nothing where it was told to stop.
    pub(super) fn stand(mut self, inbox: &mut mpsc::Receiver<Command>) -> Result<Option<End>, NodeError> {
        loop {
            loop {
                match inbox.try_recv() {
                    Ok(Command::Stop) | Err(mpsc::error::TryRecvError::Disconnected) => return Ok(None),
                    Ok(command) => self.handle(command),
                    Err(mpsc::error::TryRecvError::Empty) => break,
                }
            }
            match self.turn()? {
                Some(Duration::ZERO) => {}
                Some(pause) => std::thread::sleep(pause),
                None => return Ok(Some(self.end())),
            }
        }
    }

    /// The log begins later than where this coordinator was: a newer snapshot covers what is between, or nothing does.
    fn begin_again(&mut self, path: std::path::PathBuf) -> Result<(), NodeError> {
        tracing::warn!("the log begins later than where this coordinator was: it reads on from a snapshot");
        let at = self.home.as_ref().map_or(0, |home| home.last());
        self.gaps = if self.gap == Some(at) { self.gaps + 1 } else { 0 };
        self.gap = Some(at);
        if self.gaps >= GAPS {
            let what = format!(
                "what followed message {at} is gone, and no snapshot covers it (what is left of the stream is of no use: `nats stream rm` removes it)"
            );
            return Err(StoreError::WentBack { path, what }.into());
        }
        (self.home, self.fold, self.looked, self.caught_up) = (None, None, None, false);
        Ok(())
    }

    /// A step, and how long to wait before the next one; nothing where it leads.
    pub(super) fn turn(&mut self) -> Result<Option<Duration>, NodeError> {
        match self.step() {
            Ok(Step::Read) => {
                self.stalled = None;
                Ok(Some(Duration::ZERO))
            }
            Ok(Step::Nothing) => {
                self.stalled = None;
                Ok(Some(IDLE))
            }
            Ok(Step::Leads) => Ok(None),
            Err(NodeError::Store(StoreError::Unanswered { what, .. })) => {
                self.unanswered(&what);
                Ok(Some(SILENT))
            }
            Err(NodeError::Store(StoreError::Behind { path })) => {
                self.begin_again(path)?;
                Ok(Some(SILENT))
            }
            Err(error) => Err(error),
        }
    }

    /// Its machine, once the log has begun.
    pub(super) fn machine(&mut self) -> Option<&mut dyn ServerNode> {
        Some(&mut *self.fold.as_mut()?.machine)
    }

    /// What goes on as a leader.
    pub(super) fn end(self) -> End {
        let home = self.home.expect("it leads a log");
        let beacon = self.beacon.expect("opened with the log");
        End { member: self.member, home, fold: self.fold, beacon }
    }

    fn unanswered(&mut self, what: &str) {
        // Whatever else is the matter later is said, too.
        if self.stalled.as_ref().is_none_or(|stalled| stalled.heard != what) {
            tracing::warn!(what, "the log does not answer: this coordinator waits for it");
        }
        let stalled = self.stalled.get_or_insert_with(|| Stalled::now(&self.member.platform));
        stalled.heard = what.into();
    }

    fn step(&mut self) -> Result<Step, NodeError> {
        let now = self.member.platform.elapsed();
        let Some(mut home) = self.home.take() else {
            self.open()?;
            return Ok(Step::Read);
        };
        let stepped = self.step_with(&mut home, now);
        self.home = Some(home);
        stepped
    }

    fn step_with(&mut self, home: &mut Replicated, now: Duration) -> Result<Step, NodeError> {
        let name = self.member.replicas.name.clone();
        if !home.is_beginning() {
            if home.is_in_doubt() {
                self.listen(home.epoch(), now);
                self.look_around(home, now)?;
                if home.is_in_doubt() {
                    self.caught_up = false;
                    return Ok(Step::Nothing);
                }
            }
            let read = match home.follow() {
                // Nobody keeps it: for now, or because it is gone, which whoever answers for all of them knows.
                Err(error @ StoreError::Unanswered { .. }) => {
                    self.look_around(home, now)?;
                    return Err(error.into());
                }
                read => read?,
            };
            self.listen(home.epoch(), now);
            if !read.is_empty() {
                self.sign = now;
                for read in read {
                    self.take(home, read)?;
                }
                return Ok(Step::Read);
            }
            if self.look_around(home, now)? {
                let place = home.replica();
                self.caught_up =
                    place.is_some_and(|place| place.sequence >= place.end) && home.is_all_there();
                self.remember(home);
            }
            let untouched = home.last() == 0 && home.epoch() == 0;
            let silent = now.saturating_sub(self.sign) > self.patience;
            if !self.caught_up || !(silent || untouched) {
                return Ok(Step::Nothing);
            }
            tracing::info!(
                name,
                epoch = home.epoch() + 1,
                "no sign of a leader: this coordinator tries to lead"
            );
        }
        if home.begin(&name)? {
            return Ok(Step::Leads);
        }
        self.sign = now;
        self.patience = self.drawn(self.member.replicas.lease);
        Ok(Step::Read)
    }

    /// Where the log begins and ends, now and then; whether it was looked at.
    fn look_around(&mut self, home: &mut Replicated, now: Duration) -> Result<bool, NodeError> {
        if self.looked.is_some_and(|looked| now.saturating_sub(looked) <= LOOK) {
            return Ok(false);
        }
        home.look_around()?;
        self.looked = Some(now);
        Ok(true)
    }

    /// The newest snapshot, and all that is to be had beside it.
    fn open(&mut self) -> Result<(), NodeError> {
        let Member { config, replicas, platform, .. } = &mut self.member;
        let path = std::path::PathBuf::from(&replicas.servers);
        let unusable = |unusable| match unusable {
            Unusable::Silent(what) => StoreError::Unanswered { path: path.clone(), what }.into(),
            Unusable::Wrong(error) => error,
        };
        if self.beacon.is_none() {
            self.beacon = Some(replicas.keeper.beacon().map_err(unusable)?);
        }
        let engine = replicas.keeper.engine().map_err(unusable)?;
        let open = if replicas.accept_rollback { Replicated::open_what_fits } else { Replicated::open };
        let (mut home, snapshot) = open(&path, replicas.key.clone(), engine, platform.clone())?;
        if replicas.accept_rollback {
            home.accept_rollback()?;
            Seen::forget(&config.store, platform);
        } else if let Some(seen) = Seen::recall(&config.store, platform) {
            home.remember(seen);
        }
        self.fold = match home.get("secret")? {
            None => None,
            Some(_) => Some(begin(&self.member, &home, snapshot.as_deref())?),
        };
        self.home = Some(Box::new(home));
        Ok(())
    }

    /// What the leader has written.
    fn take(&mut self, home: &Replicated, read: Read) -> Result<(), NodeError> {
        let Read { sequence, leader, batch, .. } = read;
        if let Some(leader) = leader {
            tracing::info!(leader, epoch = read.epoch, "leads");
            (self.address, self.page) = (None, None);
            self.leader = Some(leader);
        }
        if self.fold.is_none() && home.get("secret")?.is_some() {
            self.fold = Some(begin(&self.member, home, None)?);
        }
        let Some(fold) = &mut self.fold else { return Ok(()) };
        let path = || home.path().to_path_buf();
        let skipped = self.member.platform.has(Bug::SkipInput) && sequence % 8 == 0;
        for entry in batch.entries().iter().skip(usize::from(skipped)) {
            fold.take(entry, &self.member.platform).map_err(|what| StoreError::Broken {
                path: path(),
                what: format!("message {sequence}: {what}"),
            })?;
        }
        for (name, value) in batch.values() {
            match name.as_str() {
                CONFIRMED => {
                    let confirmed: Vec<(u32, u64)> = postcard::from_bytes(value).unwrap_or_default();
                    for (client, sequence) in confirmed {
                        fold.machine.queues().confirmed(NodeId(client), sequence);
                    }
                }
                STATE => {
                    let own = Sha256::digest(fold.machine.save());
                    if own[..] != value[..] {
                        return Err(NodeError::Stopped(differs(sequence, &hex(&own), &hex(value))));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What others say of who leads.
    fn listen(&mut self, epoch: u64, now: Duration) {
        while let Some(pulse) = self.beacon.as_mut().and_then(|beacon| beacon.heard()) {
            let Pulse { instance, name, address, page, epoch: its, resigns, .. } = pulse;
            // Of itself, before; or of one that does not know yet that it leads no longer.
            if instance == self.member.instance || its < epoch {
                continue;
            }
            let namesake = name == self.member.replicas.name;
            if namesake && !self.namesake {
                tracing::warn!(name, address, "{NAMESAKE}");
            }
            self.namesake = namesake;
            if resigns {
                (self.leader, self.address, self.page) = (None, None, None);
                self.patience = self.drawn(Duration::ZERO) / 4;
            } else {
                if self.leader.as_ref() != Some(&name) {
                    self.patience = self.drawn(self.member.replicas.lease);
                }
                (self.leader, self.address, self.page) = (Some(name), Some(address), page);
            }
            self.sign = now;
        }
    }

    fn remember(&self, home: &Replicated) {
        if let Some(seen) = home.seen().filter(|_| home.is_all_there())
            && let Err(error) = seen.keep(&self.member.config.store, &self.member.platform)
        {
            tracing::warn!(%error, "where the log is could not be remembered beside the store");
        }
    }

    fn words(&self) -> String {
        match (&self.leader, &self.address) {
            (Some(leader), Some(address)) => {
                format!("this coordinator stands by: {leader} leads, at {address}")
            }
            (Some(leader), None) => format!("this coordinator stands by: {leader} leads"),
            _ => "this coordinator stands by, and knows of nobody who leads".into(),
        }
    }

    pub(super) fn handle(&mut self, command: Command) {
        self.watch.at(self.member.platform.wall().as_secs_f64());
        let refused = || NodeError::Request(format!("{}; ask there", self.words()));
        match command {
            Command::Inbound(Inbound::Opened(session, _, frames)) => {
                self.strangers.insert(session, frames);
            }
            Command::Inbound(Inbound::Closed(session)) => drop(self.strangers.remove(&session)),
            Command::Inbound(Inbound::Frame(session, _)) => {
                if let Some(frames) = self.strangers.remove(&session) {
                    let leader = self.address.clone().unwrap_or_default();
                    let refusal = Refusal { reason: self.words(), r#final: false, old_copy: false, leader };
                    let _ = frames.try_send(frame(Kind::Refusal(refusal)));
                }
            }
            Command::Look(look) => self.look(look),
            Command::State(answer) => drop(answer.send(self.digest())),
            Command::Params(answer) => {
                let params = self.fold.as_ref().map(|fold| fold.machine.params());
                let (version, params) = params.unwrap_or((0, ""));
                let _ = answer.send((version, params.into()));
            }
            Command::Forget(_, answer) | Command::Remove(_, answer) | Command::Release(_, answer) => {
                drop(answer.send(Err(refused())));
            }
            Command::Restore(_, answer) => drop(answer.send(Err(refused()))),
            Command::Invite(_, _, answer) => drop(answer.send(Err(refused()))),
            Command::Uninvite(_, answer) => drop(answer.send(Err(refused()))),
            Command::Backup(_, answer) => drop(answer.send(Err(refused()))),
            Command::PagePort(_, answer) => drop(answer.send(Ok(()))),
            Command::Change(_, answer) | Command::Revert(_, answer) => drop(answer.send(Err(refused()))),
            Command::History(answer) => drop(answer.send(Err(refused()))),
            Command::Sample => self.watch.sample(0, None),
            Command::Tick | Command::Stop => {}
        }
    }

    fn look(&mut self, look: Look) {
        match look {
            Look::Status(answer) => drop(answer.send(self.status())),
            Look::Members(_, answer) => drop(answer.send((self.watch.revision, Vec::new()))),
            Look::Model(most, answer) => {
                let learnt = self.fold.as_ref().map(|fold| fold.machine.learnt(most)).unwrap_or_default();
                let reward_noise = self.member.config.terms.setting.reward_noise;
                let _ = answer.send(Model { models: learnt.0, all: learnt.1, reward_noise });
            }
            Look::Curves(answer) => drop(answer.send(self.watch.curves())),
            Look::Journal(answer) => drop(answer.send(self.watch.journal())),
        }
    }

    fn digest(&self) -> Digest {
        let sequence = self.home.as_ref().map_or(0, |home| home.last());
        let sha256 = self.fold.as_ref().map(|fold| hex(&Sha256::digest(fold.machine.save())));
        Digest { sequence, sha256: sha256.unwrap_or_default() }
    }

    fn status(&self) -> CoordinatorStatus {
        let Member { config, replicas, .. } = &self.member;
        let place = self.home.as_ref().and_then(|home| home.replica());
        let replica = place.map(|place| ReplicaStatus::of(&place, &replicas.name, &replicas.servers));
        let replica = replica.unwrap_or_else(|| ReplicaStatus {
            name: replicas.name.clone(),
            servers: replicas.servers.clone(),
            ..ReplicaStatus::default()
        });
        let role = if self.caught_up { Role::StandingBy } else { Role::CatchingUp };
        let mut attention: Vec<_> = self.stalled.as_ref().map(stalled).into_iter().collect();
        if self.namesake {
            attention.push(Attention {
                kind: "name",
                client: None,
                since: None,
                words: format!("{NAMESAKE} ({})", replicas.name),
                remedy: "give each a `name` of its own in [nats], and start this one again".into(),
            });
        }
        let mut sentence = format!("T{}.", &self.words()[1..]);
        if self.stalled.is_some() {
            sentence = "The servers that keep the log do not answer: this coordinator waits for them.".into();
        }
        CoordinatorStatus {
            federation: config.federation.clone(),
            algorithm: config.terms.algorithm.clone(),
            version: env!("CARGO_PKG_VERSION"),
            now: self.watch.now,
            started: self.watch.started,
            health: if attention.is_empty() { Health::Ok } else { Health::Attention },
            sentence,
            attention,
            observations: self.fold.as_ref().and_then(|fold| fold.machine.observations()),
            observation_bytes: observation_bytes(&config.terms.setting),
            seats: self.seats,
            params_version: self.fold.as_ref().map_or(0, |fold| fold.machine.params().0),
            privacy: self.promised.clone(),
            log: self.home.as_ref().map_or(0, |home| home.entries()),
            rounds: self.fold.as_ref().map_or(0, |fold| fold.books.rounds),
            clusters: self.fold.as_ref().and_then(|fold| fold.books.clusters),
            replica: Some(ReplicaStatus {
                role,
                leader: self.leader.clone(),
                leader_address: self.address.clone(),
                leader_page: self.page.clone(),
                stalled_since: self.stalled.as_ref().map(|stalled| stalled.since),
                ..replica
            }),
            ..CoordinatorStatus::default()
        }
    }
}

/// A machine as the log has it so far: under the same terms as here, or not at all.
fn begin(member: &Member, home: &Replicated, snapshot: Option<&[u8]>) -> Result<Fold, NodeError> {
    same_terms(&member.config, home)?;
    let secret = secret::kept(home, &mut crate::store::Batch::default(), "secret")?;
    let keys = secret::keys(&member.config.terms, secret);
    Fold::begin(&member.config, home, snapshot, keys)
}

fn differs(sequence: u64, own: &str, leaders: &str) -> String {
    format!(
        "this coordinator has read the same log as its leader and come to something else (after message {sequence}: {own} here, {leaders} there), so it \
         stops before it leads: run the same build at every coordinator, and start this one again, which reads on from a snapshot; if that does not help, \
         report it"
    )
}
