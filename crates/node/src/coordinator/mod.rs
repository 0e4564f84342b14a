//! The coordinator: one machine, one store, one thread that takes everything in
//! turn, and the streams around it.

mod admission;
mod conduct;
mod core;
pub(crate) mod inside;
mod lockstep;
mod members;
mod membership;
mod relay;
mod sending;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use cahoots_core::{NodeId, ParamError};
use serde::Serialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use crate::control::Order;
use crate::error::NodeError;
use crate::identity::{Gate, ServeSecurity, may_be_plain};
use crate::limits::{Counters, Refusals, ServeLimits};
use crate::live::Known;
use crate::platform::Platform;
use crate::store::Sync;
use crate::terms::Terms;
use crate::transport::{self, Inbound};

use self::core::Core;
pub use self::membership::MemberStatus;

/// Commands that may wait for the machine: beyond that, clients are held back.
const QUEUE: usize = 1024;

/// How often certificates are looked at: a revocation holds after so long.
const WATCH: Duration = Duration::from_millis(500);

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
}

/// What a coordinator tells about itself.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CoordinatorStatus {
    /// Clients that ever joined.
    pub members: usize,
    /// Clients that are connected now.
    pub connected: usize,
    /// Messages taken and sent since the start of this process.
    pub received: u64,
    /// Messages sent by the machine since the start of this process.
    pub sent: u64,
    /// Messages between clients that were passed on.
    pub relayed: u64,
    /// Messages and confirmations that were refused: by the machine, or before they reached it or anyone.
    pub refused: u64,
    /// Messages of members with what no honest data give, since they joined or were restored.
    pub implausible: u64,
    /// Members of whom nothing is merged for that; `cahoots members FILE restore` lifts it.
    pub quarantined: Vec<u32>,
    /// Hellos that were refused since the start of this process.
    pub turned_away: u64,
    /// Commits since the start of this process.
    pub commits: u64,
    /// Log entries that a restart would replay.
    pub log: u64,
    /// Synchronous rounds held, ever.
    pub rounds: u64,
    /// Clusters as they now stand, where there are any.
    pub clusters: Option<u64>,
    /// Clients whose answer a round waits for: `deadline` and `quorum`, where the algorithm has them, let it go on
    /// without; `cahoots members FILE remove` excuses one for good.
    pub waiting_for: Vec<u32>,
    /// How often parameters that may change have changed.
    pub params_version: u64,
    /// What the limits refused since the start of this process.
    pub limits: Refusals,
}

/// Whose a coordinator's store says that it is.
pub(crate) fn owner(federation: &str) -> String {
    format!("the coordinator of federation {federation:?}")
}

/// What the machine's thread is told.
enum Command {
    Inbound(Inbound),
    Tick,
    Status(oneshot::Sender<CoordinatorStatus>),
    Members(oneshot::Sender<Vec<MemberStatus>>),
    /// Removed, and what it contributed taken out again.
    Forget(NodeId, oneshot::Sender<Result<(), NodeError>>),
    Remove(NodeId, oneshot::Sender<Result<(), NodeError>>),
    Restore(NodeId, oneshot::Sender<Result<bool, NodeError>>),
    Release(NodeId, oneshot::Sender<Result<(), NodeError>>),
    Invite(NodeId, Duration, oneshot::Sender<Result<String, NodeError>>),
    Uninvite(NodeId, oneshot::Sender<Result<usize, NodeError>>),
    Backup(PathBuf, oneshot::Sender<Result<(), NodeError>>),
    Params(oneshot::Sender<(u64, String)>),
    /// All parameters, in TOML.
    Change(String, oneshot::Sender<Result<u64, ParamError>>),
    Stop,
}

impl From<Inbound> for Command {
    fn from(inbound: Inbound) -> Command {
        Command::Inbound(inbound)
    }
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
    gate: Option<Arc<Gate>>,
    plain_text: bool,
    counters: Arc<Counters>,
}

impl Coordinator {
    /// Opens the store, replays what a kill interrupted, and is ready for streams.
    pub fn start(config: CoordinatorConfig) -> Result<Coordinator, NodeError> {
        let (tick, limits) = (config.tick, config.limits.clone());
        let (gate, plain_text) = (config.security.gate.clone(), config.security.plain_text);
        let (finish, finished) = oneshot::channel();
        let core = Core::open(config, finish, &Platform::System)?;
        let (commands, inbox) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("cahoots-coordinator".into())
            .spawn(move || core.run(inbox))
            .map_err(|e| NodeError::Stopped(e.to_string()))?;
        Ok(Coordinator {
            commands,
            thread: Some(thread),
            finished: Some(finished),
            tick,
            limits,
            gate,
            plain_text,
            counters: Arc::default(),
        })
    }

    /// Refuses to speak plain text to other machines, unless that was asked for.
    pub fn may_listen(&self, listener: &TcpListener) -> Result<(), NodeError> {
        if self.gate.is_some() {
            return Ok(());
        }
        let host = listener.local_addr().map_err(|e| NodeError::Network(e.to_string()))?.ip().to_string();
        let what = format!("this coordinator would listen on {host}");
        let fix = "`cahoots keys init DIR --federation NAME --host HOST` makes keys, and `[tls] keys = \"DIR/coordinator\"` uses them";
        may_be_plain(&host, self.plain_text, &what, fix).map_err(NodeError::Config)
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
        let watching = self.gate.clone().map(|gate| {
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(WATCH).await;
                    gate.refresh();
                }
            })
        });
        let (limits, counters, gate) = (self.limits.clone(), self.counters.clone(), self.gate.clone());
        let serving = transport::serve(listener, gate, self.commands.clone(), limits, counters, self.ended());
        let served = tokio::select! {
            served = serving => served,
            // Clients that will not let go are left behind.
            () = async { self.ended().await; tokio::time::sleep(Duration::from_secs(1)).await } => Ok(()),
        };
        ticking.abort();
        watching.inspect(|watching| watching.abort());
        served.map_err(NodeError::Network)
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

    /// What it is doing.
    pub async fn status(&self) -> Option<CoordinatorStatus> {
        let (answer, status) = oneshot::channel();
        self.commands.send(Command::Status(answer)).await.ok()?;
        let status = status.await.ok()?;
        Some(CoordinatorStatus { limits: self.counters.read(), ..status })
    }

    /// Who ever joined, and is not forgotten.
    pub async fn members(&self) -> Result<Vec<MemberStatus>, NodeError> {
        self.ask(Command::Members).await
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

    /// Does what whoever runs it asks for.
    pub async fn order(&self, order: Order) -> Result<serde_json::Value, NodeError> {
        let written = |value| serde_json::to_value(value).map_err(|e| NodeError::Stopped(e.to_string()));
        match order {
            Order::Status => {
                let status = self.status().await;
                let status =
                    status.ok_or_else(|| NodeError::Stopped("the coordinator has stopped".into()))?;
                serde_json::to_value(status).map_err(|e| NodeError::Stopped(e.to_string()))
            }
            Order::Members => written(self.members().await?),
            Order::Remove { client, forget: false } => {
                self.remove(client).await.map(|()| json!({ "removed": client }))
            }
            Order::Remove { client, forget: true } => {
                self.forget(client).await.map(|()| json!({ "removed": client, "forgotten": true }))
            }
            Order::Release { client } => self.release(client).await.map(|()| json!({ "released": client })),
            Order::Restore { client } => {
                let resumes = self.restore(client).await?;
                let next = if resumes { "it goes on" } else { "`cahoots rejoin` the client" };
                Ok(json!({ "restored": client, "next": next }))
            }
            Order::Invite { client, days } => {
                let valid = Duration::try_from_secs_f64(days * 86_400.0).map_err(|_| {
                    NodeError::Request(format!("an invitation holds for a number of days, not {days}"))
                })?;
                let invitation = self.invite(client, valid).await?;
                Ok(json!({ "client": client, "invitation": invitation, "days": days }))
            }
            Order::Uninvite { client } => {
                self.uninvite(client).await.map(|withdrawn| json!({ "withdrawn": withdrawn }))
            }
            Order::Backup { to } => self.backup(to.clone()).await.map(|()| json!({ "copied": to })),
            Order::Params { set } => {
                let (mut version, text) = self.params().await?;
                let mut params: toml::Table = text.parse().map_err(|e| NodeError::Stopped(format!("{e}")))?;
                if !set.is_empty() {
                    params.extend(set);
                    version = self.change(&params.to_string()).await?;
                }
                Ok(json!({ "version": version, "params": params }))
            }
            Order::Drain { .. } => {
                Err(NodeError::Request("a coordinator has nothing to drain: ask a client".into()))
            }
        }
    }

    /// Changes parameters that may change while a federation runs (all of them, in TOML), here and at every
    /// client; gives the number of the change.
    pub async fn change(&self, params: &str) -> Result<u64, NodeError> {
        let changed = self.ask(|answer| Command::Change(params.into(), answer)).await?;
        changed.map_err(|e| NodeError::Config(e.to_string()))
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
