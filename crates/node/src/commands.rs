//! `serve` and `client` as commands: from a file to a running process, until a
//! signal or a failure. The first line on stdout says where it listens.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::client::Client;
use crate::config::{ClientFile, Given, ServeFile};
use crate::control::Control;
use crate::coordinator::{Coordinator, States};
use crate::error::NodeError;
use crate::face::Face;
use crate::http::{self, Listening};
use crate::limits::raise_files;
use crate::live::Known;
use crate::logs;
use crate::store::StoreError;
use crate::terms::Terms;

/// Exit code of an error: 2 when the input was wrong.
pub fn exit_code(error: &NodeError) -> u8 {
    match error {
        NodeError::Config(_) | NodeError::Store(StoreError::OtherKey { .. }) => 2,
        _ => 1,
    }
}

/// Log lines of programs for tests: warnings on stderr; `RUST_LOG` asks for more. For others there is [`logs::start`].
pub fn log() {
    logs::quiet();
}

/// This program's version, as logs say it.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, NodeError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2)))
        .enable_all()
        .build()
        .map_err(|e| NodeError::Stopped(e.to_string()))
}

pub(crate) async fn listen(address: &str, key: &str) -> Result<(TcpListener, String), NodeError> {
    let listener = TcpListener::bind(address)
        .await
        .map_err(|e| NodeError::listening(&e, http::cannot(address, key, &e)))?;
    let bound = listener.local_addr().map_err(|e| NodeError::Network(e.to_string()))?.to_string();
    Ok((listener, bound))
}

/// Signals that stop the process: from when this is made on they end nothing by themselves.
struct Signals(Option<(Signal, Signal)>);

impl Signals {
    fn heard() -> Signals {
        let on = |kind| signal(kind).map_err(|e| tracing::error!(%e, "no signals")).ok();
        Signals(on(SignalKind::terminate()).zip(on(SignalKind::interrupt())))
    }

    /// Ready when the process is told to stop; gives the signal's name.
    async fn told_to_stop(self) -> &'static str {
        let Some((mut term, mut int)) = self.0 else { return std::future::pending().await };
        tokio::select! {
            _ = term.recv() => "SIGTERM",
            _ = int.recv() => "SIGINT",
        }
    }
}

/// Runs a coordinator until it is told to stop or, in lockstep, until the run is over.
pub fn serve(known: &Arc<Known>, given: impl Into<Given>) -> Result<(), NodeError> {
    let given = given.into();
    let file = ServeFile::given(&given)?;
    let (config, access) = file.may_start(known, given.path())?;
    let terms = config.terms.clone();
    raise_files(config.limits.connections);
    let runtime = runtime()?;
    let store = config.store.clone();
    // Before there is a store: a start that fails leaves none behind.
    let (listener, bound) = runtime.block_on(listen(&file.listen, "listen"))?;
    let early = match &access {
        Some(_) if is_stated(&file.http) => {
            Some(runtime.block_on(http::listen_anywhere(&file.http, Path::new("")))?)
        }
        _ => None,
    };
    let mut coordinator = file.start(config, given.path(), &bound)?;
    let finished = coordinator.finished();
    let coordinator = Arc::new(coordinator);
    let outcome = runtime.block_on(async {
        let signals = Signals::heard();
        coordinator.may_listen(&listener)?;
        let control = Control::open(&store);
        let page = match (access, early) {
            (Some(access), Some((listening, at))) => Some((access, listening, at)),
            (Some(access), None) => {
                let (listening, at) = page(&file, &coordinator).await?;
                Some((access, listening, at))
            }
            (None, _) => None,
        };
        let mut first = json!({ "listening": bound });
        if let Some((_, _, at)) = &page {
            first["http"] = json!(at);
        }
        println!("{first}");
        let http = page.as_ref().map(|(_, _, at)| at.clone());
        let showing = page.map(|(access, listener, _)| {
            let face = Face::new(coordinator.clone(), access);
            face.is_ready();
            let gate = coordinator.gate().filter(|_| file.page_is_secure()).cloned();
            match listener {
                Listening::Tcp(listener) => tokio::spawn(face.serve(listener, gate)),
                Listening::Unix(listener) => tokio::spawn(face.serve(listener, gate)),
            }
        });
        let (federation, algorithm) = (&*file.federation, &*terms.algorithm);
        tracing::info!(
            version = VERSION,
            federation,
            algorithm,
            store = %store.display(),
            listening = bound,
            http,
            "started"
        );
        let result = async {
            match finished {
                Some(finished) => finished.await.ok(),
                None => None,
            }
        };
        let asked = coordinator.clone();
        let orders = control.serve(move |order| {
            let asked = asked.clone();
            async move { asked.order(order).await }
        });
        let outcome = tokio::select! {
            served = coordinator.serve(listener) => served.map(|()| None),
            () = orders => Ok(None),
            signal = signals.told_to_stop() => {
                tracing::info!(signal, "stopping");
                Ok(None)
            }
            Some(states) = result => Ok(Some(states)),
        };
        showing.inspect(|showing| showing.abort());
        outcome
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    let stopped = match Arc::try_unwrap(coordinator) {
        Ok(coordinator) => coordinator.stop(),
        Err(_) => {
            Err(NodeError::Stopped("an order was still under way; what was acknowledged is on disk".into()))
        }
    };
    // Why the coordinator stopped says more than what failed because it had.
    stopped?;
    let states = outcome?;
    tracing::info!("stopped: all that was taken is on disk");
    match states {
        Some(states) => {
            conclude(known, &terms, states, file.lockstep.and_then(|lockstep| lockstep.states).as_deref())
        }
        None => Ok(()),
    }
}

/// Whether this is an address with a port, which can be taken before anything else is there.
pub(crate) fn is_stated(http: &str) -> bool {
    !http.starts_with("unix:") && http::at_any_port(http).is_none()
}

/// The page at a socket, or at a port of the system's choice, which is remembered.
pub(crate) async fn page(
    file: &ServeFile,
    coordinator: &Coordinator,
) -> Result<(Listening, String), NodeError> {
    let last = coordinator.page_port();
    let (listening, at) = http::listen_again(&file.http, file.sources.folder("http"), last).await?;
    if let Listening::Tcp(listener) = &listening {
        let port = listener.local_addr().map_err(|e| NodeError::Network(e.to_string()))?.port();
        if last != Some(port) {
            coordinator.remember_page_port(port).await?;
        }
    }
    Ok((listening, at))
}

/// Compares the end of a lockstep run with the simulator's.
fn conclude(known: &Known, terms: &Terms, states: States, path: Option<&Path>) -> Result<(), NodeError> {
    if let Some(path) = path {
        let bytes = postcard::to_stdvec(&states).expect("bytes can be written");
        std::fs::write(path, bytes).map_err(|e| NodeError::Stopped(format!("{}: {e}", path.display())))?;
    }
    let expected = known.lockstep()?.final_states(terms)?;
    let different: Vec<usize> =
        (0..expected.len()).filter(|&i| states.get(i) != Some(&expected[i])).collect();
    let verdict = if different.is_empty() { "equal" } else { "different" };
    println!("{}", json!({ "lockstep": verdict, "nodes": expected.len(), "different": different }));
    if different.is_empty() {
        Ok(())
    } else {
        Err(NodeError::Stopped("the final states are not the simulator's".into()))
    }
}

/// Runs a client beside an app until it is told to stop or cannot go on.
pub fn client(known: &Arc<Known>, given: impl Into<Given>) -> Result<(), NodeError> {
    let given = given.into();
    let path = given.path();
    let file = ClientFile::given(&given)?;
    let (config, entrance) = file.may_start(known, path)?;
    raise_files(config.limits.connections);
    let runtime = runtime()?;
    let drain = file.drain.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
    let at_its_address = || runtime.block_on(http::listen(&file.http, Path::new(""), file.has_token()));
    // Before there is a store: a start that fails leaves none behind. A socket may be in the store's folder.
    let early = if file.http.starts_with("unix:") { None } else { Some(at_its_address()?) };
    let client = Arc::new(Client::open(config)?);
    let refused = runtime.block_on(async {
        let signals = Signals::heard();
        let (listener, bound) = match early {
            Some(early) => early,
            None => http::listen(&file.http, Path::new(""), file.has_token()).await?,
        };
        let control = Control::open(&file.store);
        println!("{}", json!({ "listening": bound }));
        tracing::info!(
            version = VERSION,
            federation = file.federation,
            client = file.client,
            coordinator = %file.coordinator,
            store = %file.store.display(),
            http = bound,
            "started"
        );
        let serving = match listener {
            Listening::Tcp(listener) => tokio::spawn(http::serve_behind(listener, entrance, client.clone())),
            Listening::Unix(listener) => tokio::spawn(http::serve_behind(listener, entrance, client.clone())),
        };
        let asked = client.clone();
        let orders = control.serve(move |order| {
            let asked = asked.clone();
            async move {
                let answer = tokio::task::spawn_blocking(move || asked.order(order)).await;
                answer.map_err(|e| NodeError::Stopped(e.to_string()))?
            }
        });
        let refused = tokio::select! {
            signal = signals.told_to_stop() => {
                tracing::info!(signal, "stopping");
                None
            }
            () = orders => None,
            reason = refusal(&client) => Some(reason),
        };
        serving.abort();
        Ok::<_, NodeError>(refused)
    })?;
    if refused.is_none()
        && let Some(patience) = drain
    {
        match client.drain(patience) {
            Ok(drained) => tracing::info!(
                sent = drained.sent,
                left = drained.left,
                unconfirmed = drained.unconfirmed,
                "drained"
            ),
            Err(error) => tracing::warn!(%error, "not drained"),
        }
    }
    runtime.shutdown_timeout(Duration::from_millis(200));
    if let Ok(client) = Arc::try_unwrap(client) {
        client.stop();
    }
    tracing::info!("stopped: all that was taken is on disk");
    match refused {
        Some(reason) => Err(NodeError::Stopped(reason)),
        None => Ok(()),
    }
}

/// What a client cannot recover from by itself ends the process, so that a supervisor acts. A full disk does not: it
/// waits for space.
async fn refusal(client: &Client) -> String {
    client.over().await;
    match client.failure() {
        Some(reason) => reason,
        None => std::future::pending().await,
    }
}
