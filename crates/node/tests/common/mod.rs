//! A federation in this process, and clients that speak the stream themselves.
#![allow(dead_code, reason = "every test file uses a part of it")]

pub(crate) mod document;
pub(crate) mod keys;
pub(crate) mod stranger;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cahoots_algorithms::async_linucb::{AsyncLinucb, Server};
use cahoots_algorithms::dp_mab::DdpMab;
use cahoots_core::drive::{Saved, saved_server};
use cahoots_core::{Keys, LinearStats, NodeId, Setting, wire};
use cahoots_node::client::{Client, ClientConfig};
use cahoots_node::coordinator::{Coordinator, CoordinatorConfig, CoordinatorStatus, MemberStatus};
use cahoots_node::identity::{ClientSecurity, ServeSecurity};
use cahoots_node::limits::{ClientLimits, Refusals, ServeLimits};
use cahoots_node::store::{Store, Sync};
use cahoots_node::transport::proto::{Frame, Hello, Welcome};
use cahoots_node::transport::{EnvelopeHeader, Kind, Outbox, Stream, dial, frame};
use cahoots_node::{Known, Terms};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Name of every federation here.
pub(crate) const FEDERATION: &str = "test";

/// Nothing here takes longer, unless it never comes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Ticks are short: what is not confirmed is sent again at each.
pub(crate) const TICK: Duration = Duration::from_millis(40);

/// An algorithm whose clients hear their server alone, and one whose clients hear their neighbours too.
pub(crate) fn known() -> Arc<Known> {
    Arc::new(Known::default().algorithm::<AsyncLinucb>().algorithm::<DdpMab>())
}

pub(crate) fn terms(known: &Known, algorithm: &str, params: &str, setting: Setting) -> Terms {
    Terms::new(known, algorithm, &params.parse().unwrap(), setting, 5).unwrap()
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A client of this federation, wherever its coordinator is.
pub(crate) fn open(known: &Arc<Known>, folder: &Path, url: &str, client: u32) -> Client {
    open_as(known, folder, url, client, ClientSecurity::default(), None)
}

/// The same, showing who it is; with terms it decides before it is let in.
pub(crate) fn open_as(
    known: &Arc<Known>,
    folder: &Path,
    url: &str,
    client: u32,
    security: ClientSecurity,
    terms: Option<Terms>,
) -> Client {
    Client::open(ClientConfig {
        known: known.clone(),
        federation: FEDERATION.into(),
        coordinator: Some(url.into()),
        client,
        store: store_of(folder, client),
        sync: Sync::Memory,
        terms,
        tick: TICK,
        expiry: Duration::from_secs(3600),
        default_reward: None,
        snapshot_every: 1000,
        longest_pause: TICK,
        limits: ClientLimits::default(),
        security,
        privacy: None,
        gain: Default::default(),
        telemetry: Default::default(),
        apprentice: None,
        personalizer: Default::default(),
        decisions: None,
    })
    .unwrap()
}

/// Never twice the same.
fn rand() -> u128 {
    Instant::now().elapsed().as_nanos()
        + std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()
}

pub(crate) fn store_of(folder: &Path, client: u32) -> PathBuf {
    folder.join(format!("client-{client}"))
}

/// The machine of a client that has stopped, its links and its open decisions.
pub(crate) fn saved(folder: &Path, client: u32) -> Vec<u8> {
    let owner = format!("{} of federation {FEDERATION:?}", NodeId(client));
    let (_, recovered) = Store::open(&store_of(folder, client), &owner, Sync::Memory).unwrap();
    recovered.snapshot.expect("a client that stops writes a snapshot")
}

/// A coordinator with its store in a folder.
pub(crate) fn coordinator(known: &Arc<Known>, terms: Terms, folder: &Path) -> CoordinatorConfig {
    CoordinatorConfig {
        warm_start: None,
        plan: None,
        known: known.clone(),
        federation: FEDERATION.into(),
        store: folder.join("coordinator"),
        sync: Sync::Memory,
        terms,
        tick: TICK,
        snapshot_every: 1000,
        limits: ServeLimits::default(),
        security: Default::default(),
    }
}

/// A coordinator, and a folder for all stores.
pub(crate) struct Federation {
    pub known: Arc<Known>,
    pub terms: Terms,
    pub folder: Arc<tempfile::TempDir>,
    pub runtime: Runtime,
    pub url: String,
    coordinator: Arc<Coordinator>,
    serving: JoinHandle<()>,
}

impl Federation {
    pub(crate) fn start(known: &Arc<Known>, terms: Terms) -> Federation {
        Federation::start_within(known, terms, ServeLimits::default())
    }

    /// With limits of its own.
    pub(crate) fn start_within(known: &Arc<Known>, terms: Terms, limits: ServeLimits) -> Federation {
        Federation::at(
            known,
            terms,
            Arc::new(tempfile::tempdir().unwrap()),
            "127.0.0.1:0",
            limits,
            Default::default(),
        )
    }

    /// With a clock of its own.
    pub(crate) fn start_ticking(known: &Arc<Known>, terms: Terms, tick: Duration) -> Federation {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let config = CoordinatorConfig { tick, ..coordinator(known, terms, folder.path()) };
        Federation::of(config, folder, "127.0.0.1:0")
    }

    /// With whom it lets in.
    pub(crate) fn start_secure(
        known: &Arc<Known>,
        terms: Terms,
        limits: ServeLimits,
        security: ServeSecurity,
    ) -> Federation {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Federation::at(known, terms, folder, "127.0.0.1:0", limits, security)
    }

    /// Where it was, with whom it lets in.
    pub(crate) fn resume_secure(
        known: &Arc<Known>,
        terms: Terms,
        folder: Arc<tempfile::TempDir>,
        security: ServeSecurity,
    ) -> Federation {
        Federation::at(known, terms, folder, "127.0.0.1:0", ServeLimits::default(), security)
    }

    /// Where it was, if it was there before.
    pub(crate) fn resume(
        known: &Arc<Known>,
        terms: Terms,
        folder: Arc<tempfile::TempDir>,
        address: &str,
    ) -> Federation {
        Federation::at(known, terms, folder, address, ServeLimits::default(), Default::default())
    }

    fn at(
        known: &Arc<Known>,
        terms: Terms,
        folder: Arc<tempfile::TempDir>,
        address: &str,
        limits: ServeLimits,
        security: ServeSecurity,
    ) -> Federation {
        let config = CoordinatorConfig { limits, security, ..coordinator(known, terms, folder.path()) };
        Federation::of(config, folder, address)
    }

    fn of(config: CoordinatorConfig, folder: Arc<tempfile::TempDir>, address: &str) -> Federation {
        let runtime = runtime();
        let (known, terms, security) = (config.known.clone(), config.terms.clone(), config.security.clone());
        let coordinator = Arc::new(Coordinator::start(config).unwrap());
        let listener = runtime.block_on(TcpListener::bind(address)).unwrap();
        let scheme = if security.gate.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let served = coordinator.clone();
        let serving = runtime.spawn(async move { drop(served.serve(listener).await) });
        Federation { known, terms, folder, runtime, url, coordinator, serving }
    }

    pub(crate) fn coordinator(&self) -> &Arc<Coordinator> {
        &self.coordinator
    }

    pub(crate) fn address(&self) -> String {
        self.url.split_once("://").unwrap().1.into()
    }

    /// A client as it is, connected.
    pub(crate) fn client(&self, client: u32) -> Client {
        let open = open(&self.known, self.folder.path(), &self.url, client);
        until("connected", || open.status().connected);
        open
    }

    pub(crate) fn status(&self) -> CoordinatorStatus {
        self.runtime.block_on(self.coordinator.status()).expect("it runs")
    }

    pub(crate) async fn counted(&self) -> Refusals {
        self.coordinator.status().await.expect("it runs").limits
    }

    pub(crate) fn members(&self) -> Vec<MemberStatus> {
        self.runtime.block_on(self.coordinator.members()).expect("it runs")
    }

    pub(crate) fn change(&self, params: &str) -> Result<u64, String> {
        self.runtime.block_on(self.coordinator.change(params)).map_err(|e| e.to_string())
    }

    /// What the coordinator has merged.
    pub(crate) fn merged(&self) -> LinearStats {
        saved_server::<Server>(&self.saved()).unwrap().view().stats().clone()
    }

    /// The coordinator's machine and its links, as they are now.
    pub(crate) fn saved(&self) -> Vec<u8> {
        let copy = self.folder.path().join(format!("copy-{}", rand()));
        self.runtime.block_on(self.coordinator.backup(copy.clone())).unwrap();
        let owner = format!("the coordinator of federation {FEDERATION:?}");
        let (store, recovered) = Store::open(&copy, &owner, Sync::Memory).unwrap();
        let queues = store.get("queues").unwrap().unwrap_or_default();
        let saved = recovered.snapshot.as_deref().map(|state| Saved { state, queues: &queues });
        let live = self.terms.live(&self.known).unwrap();
        let mut machine = live.coordinator(&self.terms, saved).unwrap();
        for entry in &recovered.log {
            machine.replay(entry, &Keys::from_seed(self.terms.seed)).unwrap();
        }
        machine.save()
    }

    pub(crate) fn backup(&self, to: &Path) {
        self.runtime.block_on(self.coordinator.backup(to.into())).unwrap();
    }

    pub(crate) fn remove(&self, client: u32) -> Result<(), String> {
        self.runtime.block_on(self.coordinator.remove(client)).map_err(|e| e.to_string())
    }

    pub(crate) fn forget(&self, client: u32) -> Result<(), String> {
        self.runtime.block_on(self.coordinator.forget(client)).map_err(|e| e.to_string())
    }

    pub(crate) fn restore(&self, client: u32) -> Result<bool, String> {
        self.runtime.block_on(self.coordinator.restore(client)).map_err(|e| e.to_string())
    }

    pub(crate) fn invite(&self, client: u32, valid: Duration) -> Result<String, String> {
        self.runtime.block_on(self.coordinator.invite(client, valid)).map_err(|e| e.to_string())
    }

    pub(crate) fn uninvite(&self, client: u32) -> Result<usize, String> {
        self.runtime.block_on(self.coordinator.uninvite(client)).map_err(|e| e.to_string())
    }

    pub(crate) fn release(&self, client: u32) -> Result<(), String> {
        self.runtime.block_on(self.coordinator.release(client)).map_err(|e| e.to_string())
    }

    /// Stops cleanly; what is left is in the folder.
    pub(crate) fn stop(self) -> Arc<tempfile::TempDir> {
        self.serving.abort();
        let _ = self.runtime.block_on(self.serving);
        let Ok(coordinator) = Arc::try_unwrap(self.coordinator) else { panic!("it is not served any more") };
        coordinator.stop().unwrap();
        self.runtime.shutdown_timeout(Duration::from_millis(200));
        self.folder
    }
}

/// A client without a disk and without a machine: only its end of the stream.
pub(crate) struct Raw {
    frames: mpsc::Sender<Frame>,
    stream: Stream,
    me: u32,
    pub welcome: Welcome,
    /// What it has confirmed last.
    pub received: u64,
}

impl Raw {
    /// Connects and says hello.
    pub(crate) async fn connect(url: &str, me: u32) -> Raw {
        Raw::greet(url, Raw::hello(me)).await.expect("no welcome")
    }

    /// What a new client says first.
    pub(crate) fn hello(me: u32) -> Hello {
        Hello {
            federation: FEDERATION.into(),
            client: me,
            instance: vec![me as u8; 16],
            version: wire::VERSION,
            parameters: 0,
            received: 0,
            sent: 0,
            epochs: vec![u64::from(me) + 1],
            written: vec![0],
            numbered: vec![0],
            rejoins: false,
            invitation: Vec::new(),
            secret: Vec::new(),
        }
    }

    /// Connects and says this hello; or why it is not welcome.
    pub(crate) async fn greet(url: &str, hello: Hello) -> Result<Raw, String> {
        let (frames, outgoing) = Outbox::channel();
        let (me, received) = (hello.client, hello.received);
        frames.try_send(frame(Kind::Hello(hello.into()))).unwrap();
        let mut stream = dial(url, outgoing).await.unwrap();
        match stream.next().await.unwrap().and_then(|frame| frame.kind) {
            Some(Kind::Welcome(welcome)) => Ok(Raw { frames, stream, me, welcome: *welcome, received }),
            Some(Kind::Refusal(refusal)) => Err(refusal.reason),
            other => panic!("{other:?}"),
        }
    }

    /// Why it is not to come back, which it must be told.
    pub(crate) async fn last_refusal(mut self) -> String {
        loop {
            match self.next().await.expect("a refusal before the end") {
                Kind::Refusal(refusal) if refusal.r#final => return refusal.reason,
                _ => {}
            }
        }
    }

    pub(crate) async fn send(&self, kind: Kind) {
        self.frames.send(frame(kind)).await.unwrap();
    }

    /// An envelope that says whatever it is to say.
    pub(crate) fn envelope(&self, from: NodeId, to: NodeId, sequence: u64, payload: Vec<u8>) -> Kind {
        envelope(self.welcome.parameters, from, to, sequence, payload)
    }

    /// The same from itself.
    pub(crate) fn own(&self, to: NodeId, sequence: u64, payload: Vec<u8>) -> Kind {
        self.envelope(NodeId(self.me), to, sequence, payload)
    }

    /// What comes next; `None` when the other side has closed.
    pub(crate) async fn next(&mut self) -> Option<Kind> {
        let next = tokio::time::timeout(PATIENCE, self.stream.next()).await.expect("something comes");
        next.unwrap_or(None).and_then(|frame| frame.kind)
    }

    /// What comes next of another client's, be it passed on or pretended.
    pub(crate) async fn next_of_peers(&mut self) -> Option<Kind> {
        loop {
            match self.next().await {
                Some(Kind::Envelope(envelope)) if envelope.from == NodeId::SERVER.0 => {}
                other => return other,
            }
        }
    }

    /// Why the connection was reset, which it must be.
    pub(crate) async fn reset(mut self) -> String {
        let reason = loop {
            match self.next().await.expect("a refusal before the end") {
                Kind::Refusal(refusal) => {
                    assert!(!refusal.r#final, "a client may come back: {refusal:?}");
                    break refusal.reason;
                }
                Kind::Envelope(_) | Kind::Confirm(_) => {}
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(self.next().await, None, "the connection is closed");
        reason
    }
}

/// An envelope that says whatever it is to say.
pub(crate) fn envelope(parameters: u64, from: NodeId, to: NodeId, sequence: u64, payload: Vec<u8>) -> Kind {
    let header = EnvelopeHeader { federation: FEDERATION.into(), from, parameters };
    Kind::Envelope(header.around(to, sequence, 0, payload).into())
}
