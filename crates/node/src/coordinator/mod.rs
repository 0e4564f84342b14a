//! The coordinator: one machine, one store, one thread that takes everything in
//! turn, and the streams around it.

mod admission;
mod change;
mod conduct;
mod core;
mod fold;
mod greeting;
pub(crate) mod inside;
mod inspect;
mod leading;
mod lockstep;
mod looking;
mod members;
mod membership;
mod opening;
mod orders;
mod relay;
mod replica;
mod replicas;
mod sending;
mod standby;
mod status;
mod strangers;
mod told;
mod unmerged;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::JoinHandle;
use std::time::Duration;

use cahoots_core::NodeId;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use crate::error::NodeError;
use crate::identity::{Gate, ServeSecurity};
use crate::limits::{Counters, ServeLimits};
use crate::live::Known;
use crate::platform::Platform;
use crate::prior::WarmStart;
use crate::store::Sync;
use crate::terms::Terms;
use crate::transport::{self, Inbound};

pub use self::change::{Changed, Version};
use self::core::Core;
pub(crate) use self::inspect::inspect;
use self::looking::Look;
pub use self::looking::Model;
pub use self::membership::MemberStatus;
pub use self::replica::{ReplicaStatus, Role, SnapshotStatus};
pub use self::replicas::Replicas;
pub use self::status::{Attention, CoordinatorStatus, Health, MostSpent, Plan};
pub use self::told::{SpentStatus, TelemetryStatus, ToldGain};
pub(crate) use self::watch::Curves;
pub use self::watch::{Columns, Entry, Happening};

/// Commands that may wait for the machine: beyond that, clients are held back.
const QUEUE: usize = 1024;

/// How often certificates are looked at: a revocation holds after so long.
const WATCH: Duration = Duration::from_millis(500);

/// How often a moment is kept of how it goes.
const SAMPLE: Duration = Duration::from_secs(1);

/// What a coordinator needs to know.
#[derive(Clone, Debug)]
pub struct CoordinatorConfig {
    /// What this program can run.
    pub known: Arc<Known>,
    /// Name of the federation.
    pub federation: String,
    /// Its file.
    pub store: PathBuf,
    /// What "on disk" means.
    pub sync: Sync,
    /// What the federation agrees on.
    pub terms: Terms,
    /// Length of a tick.
    pub tick: Duration,
    /// Log entries after which a snapshot is written, if the log is four times as large as the last one by then.
    pub snapshot_every: u64,
    /// What strangers and clients may take.
    pub limits: ServeLimits,
    /// Who is let in, and how it shows who it is.
    pub security: ServeSecurity,
    /// What a new federation is to begin from, if not from nothing.
    pub warm_start: Option<WarmStart>,
    /// What the federation is planned to send.
    pub plan: Option<Plan>,
}

/// Whose a coordinator's store says that it is.
pub(crate) fn owner(federation: &str) -> String {
    format!("{OWNER}{federation:?}")
}

const OWNER: &str = "the coordinator of federation ";

/// The federation whose coordinator owns a store, as it is quoted there; `None` where a client does.
pub(crate) fn federation_of(owner: &str) -> Option<&str> {
    owner.strip_prefix(OWNER)
}

/// What the machine's thread is told.
enum Command {
    Inbound(Inbound),
    Tick,
    /// Once a second.
    Sample,
    Look(Look),
    /// Removed, and what it contributed taken out again.
    Forget(NodeId, oneshot::Sender<Result<(), NodeError>>),
    Remove(NodeId, oneshot::Sender<Result<(), NodeError>>),
    Restore(NodeId, oneshot::Sender<Result<bool, NodeError>>),
    Release(NodeId, oneshot::Sender<Result<(), NodeError>>),
    Invite(NodeId, Duration, oneshot::Sender<Result<String, NodeError>>),
    Uninvite(NodeId, oneshot::Sender<Result<usize, NodeError>>),
    Backup(PathBuf, oneshot::Sender<Result<(), NodeError>>),
    /// Where the page is.
    PagePort(u16, oneshot::Sender<Result<(), NodeError>>),
    Params(oneshot::Sender<(u64, String)>),
    /// All parameters, in TOML.
    Change(String, oneshot::Sender<Result<u64, NodeError>>),
    /// The values of an earlier version again; without a number, of the one before.
    Revert(Option<u64>, oneshot::Sender<Result<u64, NodeError>>),
    History(oneshot::Sender<Result<Vec<Version>, NodeError>>),
    /// What the machine amounts to, as a digest.
    State(oneshot::Sender<Digest>),
    Stop,
}

impl From<Inbound> for Command {
    fn from(inbound: Inbound) -> Command {
        Command::Inbound(inbound)
    }
}

/// What a machine amounts to: whoever has read the same log has the same.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Digest {
    /// The last message of the log that is in it; how often a store was written, where there are no replicas.
    pub sequence: u64,
    /// SHA-256 of its state, in hexadecimal digits.
    pub sha256: String,
}

/// The end of a lockstep run: the state of the server, then of every client.
pub type States = Vec<Vec<u8>>;

/// A running coordinator.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use cahoots_core::Setting;
/// use cahoots_node::client::{Arms, Client};
/// use cahoots_node::coordinator::{Coordinator, CoordinatorConfig};
/// use cahoots_node::store::Sync;
/// use cahoots_node::{Known, Terms};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let runtime = tokio::runtime::Runtime::new()?;
/// // Upload whenever there is something new: one client's reward is at the coordinator at once.
/// let known = Arc::new(Known::new(cahoots_algorithms::registry::ours()));
/// let terms = Terms::new(&known, "async-linucb", &"ratio = 1.0".parse()?, Setting::linear(2, 2, 2), 0)?;
/// let coordinator = Arc::new(Coordinator::start(CoordinatorConfig {
///     known: known.clone(),
///     federation: "shops".into(),
///     store: folder.path().join("coordinator"),
///     sync: Sync::Memory,
///     terms,
///     tick: Duration::from_secs(1),
///     snapshot_every: 1000,
///     limits: Default::default(),
///     security: Default::default(),
///     warm_start: None,
///     plan: None,
/// })?);
/// let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
/// let url = format!("http://{}", listener.local_addr()?);
/// let serving = coordinator.clone();
/// runtime.spawn(async move { serving.serve(listener).await });
///
/// let client = Client::builder(known, "shops", 0).coordinator(url).store(folder.path().join("client")).open()?;
/// while !client.status().joined {
///     std::thread::sleep(Duration::from_millis(5));
/// }
/// let decision = client.decide(None, Arms::Features(&[vec![1.0, 0.0], vec![0.0, 1.0]]))?;
/// client.reward(decision.id, 1.0)?;
/// while runtime.block_on(coordinator.status()).expect("it runs").received == 0 {
///     std::thread::sleep(Duration::from_millis(5));
/// }
/// client.stop();
/// # Ok(())
/// # }
/// ```
pub struct Coordinator {
    commands: mpsc::Sender<Command>,
    thread: Option<JoinHandle<Result<(), NodeError>>>,
    finished: Option<oneshot::Receiver<States>>,
    tick: Duration,
    limits: ServeLimits,
    security: ServeSecurity,
    page_port: Option<u16>,
    counters: Arc<Counters>,
    /// Questions of those who watch.
    asked: AtomicU64,
}

impl Coordinator {
    /// Opens the store, replays what a kill interrupted, and is ready for streams.
    pub fn start(config: CoordinatorConfig) -> Result<Coordinator, NodeError> {
        let (tick, limits) = (config.tick, config.limits.clone());
        let security = config.security.clone();
        let (finish, finished) = oneshot::channel();
        let mut core = Core::open(config, finish, &Platform::System)?;
        let page_port = core.page_port()?;
        let work = move |inbox| core.run(inbox);
        let started = Coordinator::around(work, tick, limits, security)?;
        Ok(Coordinator { finished: Some(finished), page_port, ..started })
    }

    /// One of several coordinators of a federation, whose log others keep: it stands by, and leads when nobody else does.
    pub fn replicated(config: CoordinatorConfig, replicas: Replicas) -> Result<Coordinator, NodeError> {
        let (tick, limits) = (config.tick, config.limits.clone());
        let security = config.security.clone();
        let member = replicas::Member::new(config, replicas, Platform::System)?;
        Coordinator::around(move |inbox| member.run(inbox), tick, limits, security)
    }

    /// A thread that takes commands, and whoever sends them.
    fn around(
        work: impl FnOnce(mpsc::Receiver<Command>) -> Result<(), NodeError> + Send + 'static,
        tick: Duration,
        limits: ServeLimits,
        security: ServeSecurity,
    ) -> Result<Coordinator, NodeError> {
        let (commands, inbox) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("cahoots-coordinator".into())
            .spawn(move || work(inbox))
            .map_err(|e| NodeError::Stopped(e.to_string()))?;
        Ok(Coordinator {
            commands,
            thread: Some(thread),
            finished: None,
            tick,
            limits,
            security,
            page_port: None,
            counters: Arc::default(),
            asked: AtomicU64::new(0),
        })
    }

    /// What the limits have refused.
    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Where connections become secure, if they do.
    pub(crate) fn gate(&self) -> Option<&Arc<Gate>> {
        self.security.gate.as_ref()
    }

    /// Refuses to speak plain text to other machines, unless that was asked for.
    pub fn may_listen(&self, listener: &TcpListener) -> Result<(), NodeError> {
        let at = listener.local_addr().map_err(|e| NodeError::Network(e.to_string()))?;
        self.security.may_listen(at.ip())
    }

    /// The port that its page had the last time, where any would do.
    pub(crate) fn page_port(&self) -> Option<u16> {
        self.page_port
    }

    /// The port that its page has, to be taken again.
    pub(crate) async fn remember_page_port(&self, port: u16) -> Result<(), NodeError> {
        self.ask(|answer| Command::PagePort(port, answer)).await?
    }

    /// Serves streams on `listener` until the coordinator stops or fails.
    pub async fn serve(&self, listener: TcpListener) -> Result<(), NodeError> {
        self.may_listen(&listener)?;
        let ticks = self.commands.clone();
        let interval = self.tick;
        let ticking = tokio::spawn(async move {
            let mut every = tokio::time::interval(interval);
            every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            loop {
                every.tick().await;
                if ticks.send(Command::Tick).await.is_err() {
                    return;
                }
            }
        });
        let samples = self.commands.clone();
        let sampling = tokio::spawn(async move {
            let mut every = tokio::time::interval(SAMPLE);
            every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            loop {
                every.tick().await;
                if samples.send(Command::Sample).await.is_err() {
                    return;
                }
            }
        });
        let gate = self.security.gate.clone();
        let watching = gate.clone().map(|gate| {
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(WATCH).await;
                    gate.refresh();
                }
            })
        });
        let (limits, counters) = (self.limits.clone(), self.counters.clone());
        let serving = transport::serve(listener, gate, self.commands.clone(), limits, counters, self.ended());
        let served = tokio::select! {
            served = serving => served,
            // Clients that will not let go are left behind.
            () = async { self.ended().await; tokio::time::sleep(Duration::from_secs(1)).await } => Ok(()),
        };
        ticking.abort();
        sampling.abort();
        watching.inspect(|watching| watching.abort());
        served.map_err(NodeError::Network)
    }

    /// Whether the machine's thread has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.commands.is_closed()
    }

    /// Becomes ready when the machine's thread has ended, by order or by failure.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let commands = self.commands.clone();
        async move { commands.closed().await }
    }

    /// The states at the end of a lockstep run; can be asked for once.
    pub fn finished(&mut self) -> Option<oneshot::Receiver<States>> {
        self.finished.take()
    }

    /// A client leaves: what it contributed stays, nobody waits for it, and it is not let in again.
    pub async fn remove(&self, client: u32) -> Result<(), NodeError> {
        self.ask(|answer| Command::Remove(NodeId(client), answer)).await?
    }

    /// The same, and all that came under its number is taken out of what is merged, where the algorithm can.
    pub async fn forget(&self, client: u32) -> Result<(), NodeError> {
        self.ask(|answer| Command::Forget(NodeId(client), answer)).await?
    }

    /// A client's number is free again: for its owner who lost his disk, or for someone else.
    pub async fn release(&self, client: u32) -> Result<(), NodeError> {
        self.ask(|answer| Command::Release(NodeId(client), answer)).await?
    }

    /// A quarantined client is believed again: `true` if it goes on as it is, `false` if it has to rejoin.
    pub async fn restore(&self, client: u32) -> Result<bool, NodeError> {
        self.ask(|answer| Command::Restore(NodeId(client), answer)).await?
    }

    /// Grants a number to whoever comes with what this gives, once, and before `valid` is over.
    pub async fn invite(&self, client: u32, valid: Duration) -> Result<String, NodeError> {
        self.ask(|answer| Command::Invite(NodeId(client), valid, answer)).await?
    }

    /// Takes back the invitations to a number that nobody has used; gives how many.
    pub async fn uninvite(&self, client: u32) -> Result<usize, NodeError> {
        self.ask(|answer| Command::Uninvite(NodeId(client), answer)).await?
    }

    /// Copies the store, as it is now, to another path; the federation goes on meanwhile.
    pub async fn backup(&self, to: PathBuf) -> Result<(), NodeError> {
        self.ask(|answer| Command::Backup(to, answer)).await?
    }

    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, NodeError> {
        let stopped = || NodeError::Stopped("the coordinator has stopped".into());
        let (answer, answered) = oneshot::channel();
        self.commands.send(question(answer)).await.map_err(|_| stopped())?;
        answered.await.map_err(|_| stopped())
    }

    /// How often parameters have changed, and all of them, in TOML.
    pub async fn params(&self) -> Result<(u64, String), NodeError> {
        self.ask(Command::Params).await
    }

    /// Changes parameters that may change while a federation runs (all of them, in TOML), here and at every
    /// client; gives the number of the change.
    pub async fn change(&self, params: &str) -> Result<u64, NodeError> {
        self.ask(|answer| Command::Change(params.into(), answer)).await?
    }

    /// The values of an earlier version of the parameters hold again, as a new version, whose number this gives; without
    /// a number, those of the version before.
    pub async fn revert(&self, version: Option<u64>) -> Result<u64, NodeError> {
        self.ask(|answer| Command::Revert(version, answer)).await?
    }

    /// What its machine amounts to: equal wherever the same log was read.
    pub async fn digest(&self) -> Result<Digest, NodeError> {
        self.ask(Command::State).await
    }

    /// Every version of the parameters that is on record, the oldest first.
    pub async fn versions(&self) -> Result<Vec<Version>, NodeError> {
        self.ask(Command::History).await?
    }

    /// Writes a snapshot and stops; or says why it had stopped before. Blocks.
    pub fn stop(mut self) -> Result<(), NodeError> {
        let _ = self.commands.blocking_send(Command::Stop);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => {
                Err(NodeError::Stopped("the coordinator's thread panicked; its store is intact".into()))
            }
            None => Ok(()),
        }
    }
}
