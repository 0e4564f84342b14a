//! A client beside an app: decides, learns, and stays in touch with its
//! coordinator. Works while offline; what was acknowledged survives.
//! [`Client::builder`] has an example.

mod app;
mod apprentice;
mod ask;
mod builder;
mod coordinators;
mod flusher;
mod gain;
mod history;
pub(crate) mod inside;
mod inspect;
mod link;
mod lockstep;
mod member;
mod offer;
mod personalizer;
mod rank;
mod registry;
mod starts;
mod state;
mod status;
mod telemetry;
mod tickets;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use cahoots_core::drive::Saved;
use cahoots_core::{DecisionId, NodeId, Tick};
use tokio::sync::{Notify, oneshot};

pub use self::app::{Ack, Decision};
pub use self::apprentice::{ApprenticeConfig, ApprenticeStatus, Mode, Standing};
use self::apprentice::{Found, Tutored};
pub use self::ask::{ArmRef, Ask, Decider, NamedArm, NewArm, Ranked, Registered, Reply, Reward, Which};
pub use self::builder::ClientBuilder;
pub use self::coordinators::Coordinators;
use self::flusher::Flusher;
pub use self::gain::{GainConfig, GainStatus};
pub use self::history::HistoryColumns;
pub(crate) use self::inspect::inspect;
use self::member::Member;
pub(crate) use self::registry::PREFIX as REGISTERED;
use self::registry::Registry;
use self::starts::{Start, Starts};
use self::state::{Record, State};
use crate::books::Books;
use crate::clock::Clock;
use crate::decisions::{DecisionLog, DecisionLogConfig};
use crate::error::NodeError;
use crate::identity::{ClientSecurity, Secret};
use crate::limits::{ClientLimits, Counters};
use crate::live::Known;
use crate::platform::{Bug, Platform};
use crate::privacy::{Account, Ceiling};
use crate::secret;
use crate::store::{Batch, Store, StoreError, Sync};
use crate::terms::Terms;

pub use self::offer::Arms;
pub use self::personalizer::{Aggregation, PersonalizerConfig};
pub use self::status::{Drained, Status};
use self::telemetry::Spending;
pub use self::telemetry::{Share, Telemetry};
pub use self::tickets::TicketError;
use self::tickets::Tickets;

/// What a client needs to know.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// What this program can run.
    pub known: Arc<Known>,
    /// Name of the federation.
    pub federation: String,
    /// Where the coordinator is, as "https://host:port", or where several are; without one, the client keeps to itself.
    pub coordinator: Option<Coordinators>,
    /// The number of this client.
    pub client: u32,
    /// Its file.
    pub store: PathBuf,
    /// What "on disk" means.
    pub sync: Sync,
    /// The federation's terms, if they are to be known before the first connection.
    pub terms: Option<Terms>,
    /// Length of a tick.
    pub tick: Duration,
    /// After this time without a reward, a decision is given up.
    pub expiry: Duration,
    /// What is learned of a decision that expires without a reward, if anything is.
    pub default_reward: Option<f64>,
    /// How several rewards of one event count, where Personalizer's apps send them.
    pub personalizer: PersonalizerConfig,
    /// Where a record of decisions is kept, if anywhere.
    pub decisions: Option<DecisionLogConfig>,
    /// Log entries after which a snapshot is written, if the log is four times as large as the last one by then.
    pub snapshot_every: u64,
    /// The longest pause between two attempts to connect.
    pub longest_pause: Duration,
    /// What its app may take.
    pub limits: ClientLimits,
    /// How it shows who it is.
    pub security: ClientSecurity,
    /// The most that may be learned of its users from what it sends; without, whatever the terms say.
    pub privacy: Option<Ceiling>,
    /// Whether it knows what federation gains it, and what follows.
    pub gain: GainConfig,
    /// What it shows of its own.
    pub telemetry: Telemetry,
    /// Its app goes on deciding until it is certain to be better.
    pub apprentice: Option<ApprenticeConfig>,
}

/// The name under which a store says that it was put back from a copy, and has not been used since.
pub(crate) const RESTORED: &str = "restored";

/// Whose a client's store says that it is.
pub(crate) fn owner(federation: &str, client: u32) -> String {
    format!("{} of federation {federation:?}", NodeId(client))
}

/// A running client.
pub struct Client {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    /// The flusher has something to do.
    work: Condvar,
    /// Inputs are not taken any more.
    over: Notify,
    known: Arc<Known>,
    federation: String,
    me: NodeId,
    instance: [u8; 16],
    secret: [u8; 32],
    /// The connection is not wanted any more.
    parting: Notify,
    /// What shows that the number is this client's, where nobody else can hear it.
    proof: Option<Proof>,
    limits: ClientLimits,
    counters: Arc<Counters>,
    personalizer: PersonalizerConfig,
    /// Where a coordinator may be.
    coordinators: Vec<String>,
}

/// What a client shows its coordinator.
struct Proof {
    secret: [u8; 32],
    invitation: Option<Secret>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic under the lock")
    }
}

impl Client {
    /// Opens the store, replays what a kill interrupted, and is ready.
    pub fn open(config: ClientConfig) -> Result<Client, NodeError> {
        let record = config.decisions.as_ref().map(|record| DecisionLog::open(record, config.client));
        let record = record.transpose().map_err(NodeError::Config)?;
        let (shared, flusher) = Client::prepare(&config, &Platform::System)?;
        if let Some(record) = record {
            shared.lock().record.keep(record);
        }
        let threads = start(&shared, flusher, config)?;
        Ok(Client { shared, threads })
    }

    /// All of it but its threads.
    fn prepare(config: &ClientConfig, platform: &Platform) -> Result<(Arc<Shared>, Flusher), NodeError> {
        let me = NodeId(config.client);
        config.privacy.map_or(Ok(()), |ceiling| ceiling.check()).map_err(NodeError::Config)?;
        config.gain.check().map_err(NodeError::Config)?;
        config.limits.check().map_err(NodeError::Config)?;
        config.apprentice.map_or(Ok(()), |apprentice| apprentice.check()).map_err(NodeError::Config)?;
        let coordinators = config.coordinator.as_ref();
        let discreet = coordinators.map(|all| all.discreet(&config.security)).transpose()?;
        let owner = owner(&config.federation, config.client);
        let (mut store, recovered) = Store::open_on(platform, &config.store, &owner, config.sync)?;
        let mut first = Batch::default();
        let instance = secret::kept(&store, &mut first, "instance")?;
        let secret = secret::kept(&store, &mut first, "secret")?;
        let proof = secret::kept(&store, &mut first, secret::PROOF)?;
        let proof = Proof { secret: proof, invitation: config.security.invitation.clone() };
        let born = secret::born(&store, &mut first)?;
        let damaged = |what: String| StoreError::Damaged { path: config.store.clone(), what };
        let starts = Starts::restore(store.get("starts")?);
        let starts = starts.ok_or_else(|| damaged("its starts cannot be read".into()))?;
        let rejoins = store.get("rejoins")?.is_some_and(|flag| flag == [1]);
        let clock = Clock::on(platform.clone(), born, config.tick, secret::tick(&store)?);
        let mut state = State::new(starts, clock, state::ticks(config.expiry, config.tick));
        state.rejoins = rejoins;
        state.most_open = config.limits.open_decisions;
        state.most_kept = config.limits.kept_bytes;
        state.default_reward = config.default_reward;
        state.registry = Registry::restore(store.list(REGISTERED)?).map_err(damaged)?;
        state.journal.forgets = platform.has(Bug::ForgetNumber);
        state.ceiling = config.privacy;
        state.gain_config = config.gain;
        state.apprentice_config = config.apprentice;
        state.telemetry = config.telemetry.clone();
        state.spending = Spending::restore(store.get(Spending::KEY)?);
        let shadow = store.get(gain::KEY)?;
        state.account = Account::restore(store.get(Account::KEY)?).map_err(damaged)?;
        // Whoever goes on from a copy of this store must not draw the noise that this start draws.
        platform.fill(&mut state.key).map_err(|e| NodeError::Stopped(e.to_string()))?;
        if platform.has(Bug::ReuseNoise) {
            state.key = secret;
        }
        let stored = store.get("terms")?.and_then(|bytes| String::from_utf8(bytes).ok());
        let terms = match (&stored, &config.terms) {
            (Some(text), Some(given)) if *text != given.to_toml() => {
                return Err(NodeError::Config(format!(
                    "store {}: [terms] differ from those that this client joined under; remove them, or use a new store",
                    config.store.display()
                )));
            }
            (Some(text), _) => Some(Terms::from_toml(text)?),
            (None, given) => given.clone(),
        };
        if let Some(terms) = terms {
            if stored.is_none() {
                first.set("terms", terms.to_toml().into_bytes());
            }
            let queues = store.get("queues")?.unwrap_or_default();
            let saved = recovered.snapshot.as_deref().map(|state| Saved { state, queues: &queues });
            let books = Books::restore(store.get("books")?).map_err(damaged)?;
            let progress = store.get("lockstep")?;
            let mut member =
                Member::new(&config.known, terms, &config.federation, me, secret, saved, books, progress)?;
            for entry in &recovered.log {
                let tick = member
                    .machine
                    .replay(entry, &member.keys)
                    .map_err(|what| damaged(format!("a log entry cannot be replayed ({what})")))?;
                state.clock.seen(tick);
                let facts = member.machine.take_step().facts;
                if !platform.has(Bug::DropFacts) {
                    member.books.enter(me, facts);
                }
            }
            let new = saved.is_none() && recovered.log.is_empty();
            config.known.find(&member.terms.algorithm)?.deployable(&member.terms)?;
            member.promised = member.would_promise(member.machine.params().1)?;
            let within = member.within(config.privacy.as_ref(), &member.promised);
            if stored.is_none() {
                within.clone().map_err(|words| NodeError::Config(format!("[terms]: {words}")))?;
            }
            member.takes_default(config.default_reward).map_err(NodeError::Config)?;
            let open: BTreeSet<DecisionId> = member.machine.older_than(Tick::MAX).into_iter().collect();
            let tickets = Tickets::restore(store.list(tickets::PREFIX)?, |id| open.contains(&id));
            state.tickets = tickets.map_err(damaged)?;
            state.tickets.forgets = platform.has(Bug::ForgetTicket);
            state.record = Record::restore(store.list(state::RECORD)?, &open);
            if let Some(asked) = &config.apprentice {
                let found =
                    Found { state: store.get(apprentice::KEY)?, records: store.list(apprentice::PREFIX)? };
                let tutored = Tutored::of(&member, asked, config.default_reward, &found);
                state.apprentice = Some(tutored.map_err(NodeError::Config)?);
            }
            state.account.enter(&member.books.accountant);
            state.join(member, new, shadow);
            if let Err(words) = within
                && state.account.withdrawn().is_none()
            {
                state.withdraw(words);
            }
            state.hold_to_ceiling();
            if state.account.withdrawn().is_some() {
                state.discard();
            }
            if store.get(RESTORED)?.is_some_and(|flag| flag == [1]) {
                state.found_old();
                first.set(RESTORED, Vec::new());
            }
        }
        tracing::info!(
            entries = recovered.log.len(),
            commits = store.commits(),
            "store opened, log replayed"
        );
        let sent = state.member.as_ref().map_or(0, |member| member.machine.ends(NodeId::SERVER).sent);
        let epoch = secret::number(platform)?;
        state.starts.begin(Start { epoch, written: store.commits(), numbered: sent });
        first.set("starts", state.starts.save());
        // The epoch must be on disk before the first decision bears it.
        store.commit(&first)?;
        let pending = std::mem::take(&mut state.journal.batch);
        if !pending.is_empty() {
            store.commit(&pending)?;
        }
        state.durable = state.reached();
        state.position = store.commits();
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            work: Condvar::new(),
            over: Notify::new(),
            known: config.known.clone(),
            federation: config.federation.clone(),
            me,
            instance,
            secret,
            parting: Notify::new(),
            proof: Some(proof).filter(|_| discreet == Some(true)),
            limits: config.limits.clone(),
            counters: Arc::default(),
            personalizer: config.personalizer,
            coordinators: coordinators.map(|all| all.all().to_vec()).unwrap_or_default(),
        });
        Ok((shared, Flusher::new(store, config.snapshot_every)))
    }

    /// Features of an arm, shared and own together, and how many arms there usually are.
    pub fn offered(&self) -> Result<(usize, usize), NodeError> {
        let mut state = self.shared.lock();
        let member = state.ready()?;
        let seat = member.machine.seat();
        let width = if seat.dim == 0 { 0 } else { seat.dim + seat.local_dim };
        Ok((width, member.terms.setting.arms))
    }

    /// Can arms be ranked? Algorithms that explore by a schedule cannot.
    pub fn ranks(&self) -> Result<bool, NodeError> {
        Ok(self.shared.lock().ready()?.machine.seat().masks)
    }

    /// Does it learn beside what its app would do itself?
    pub fn is_apprentice(&self) -> bool {
        self.shared.lock().apprentice_config.is_some()
    }

    /// How several rewards of one event count.
    pub fn aggregation(&self) -> Aggregation {
        self.shared.personalizer.rewards
    }

    /// What its app may take.
    pub fn limits(&self) -> &ClientLimits {
        &self.shared.limits
    }

    /// How often a limit was met.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.shared.counters
    }

    /// Sends what has been learned and not sent yet, and waits up to `patience` until the coordinator has all
    /// of it on disk. Blocks.
    pub fn drain(&self, patience: Duration) -> Result<Drained, NodeError> {
        let until = std::time::Instant::now() + patience;
        let before = {
            let mut state = self.shared.lock();
            let before = state.ready()?.machine.unsent();
            state.drain()?;
            self.shared.work.notify_one();
            before
        };
        loop {
            let status = self.status();
            let drained = Drained {
                sent: before.saturating_sub(status.unsent),
                left: status.unsent,
                unconfirmed: status.unconfirmed,
            };
            if status.unconfirmed == 0 || std::time::Instant::now() >= until {
                return Ok(drained);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Becomes ready when inputs are not taken any more.
    pub async fn over(&self) {
        let over = self.shared.over.notified();
        if self.failure().is_none() {
            over.await;
        }
    }

    /// Writes a snapshot and stops. Blocks.
    pub fn stop(mut self) {
        self.halt();
    }

    fn halt(&mut self) {
        self.shared.lock().stop = true;
        self.shared.work.notify_one();
        self.shared.over.notify_waiters();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.halt();
    }
}

fn start(
    shared: &Arc<Shared>,
    flusher: Flusher,
    config: ClientConfig,
) -> Result<Vec<JoinHandle<()>>, NodeError> {
    let failed = |e: std::io::Error| NodeError::Stopped(format!("a thread could not be started: {e}"));
    let (flushing, tick) = (shared.clone(), config.tick);
    let flusher = std::thread::Builder::new().name("cahoots-flusher".into()).spawn(move || {
        if let Err(error) = flusher.run(&flushing, tick) {
            tracing::error!(%error, "the client has stopped");
        }
    });
    let mut threads = vec![flusher.map_err(failed)?];
    if let Some(coordinators) = config.coordinator {
        let linked = shared.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let link = std::thread::Builder::new().name("cahoots-link".into()).spawn(move || {
            let caller = config.security.caller;
            runtime.block_on(link::keep(linked, &coordinators, caller, config.longest_pause))
        });
        threads.push(link.map_err(failed)?);
    }
    Ok(threads)
}

impl ClientConfig {
    /// Refuses to speak to a coordinator whose address is none, or in plain text to another machine.
    pub(crate) fn may_call(&self) -> Result<(), NodeError> {
        self.coordinator.as_ref().map_or(Ok(()), |all| all.discreet(&self.security).map(drop))
    }
}

fn settle(durable: Result<Result<(), String>, oneshot::error::RecvError>) -> Result<(), NodeError> {
    match durable {
        Ok(Ok(())) => Ok(()),
        Ok(Err(reason)) => Err(NodeError::Stopped(reason)),
        Err(_) => Err(NodeError::Stopped("this client was shut down".into())),
    }
}
