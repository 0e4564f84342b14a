//! `serve` and `client` as commands: from a file to a running process, until a
//! signal or a failure. The first line on stdout says where it listens.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::client::Client;
use crate::config::{ClientFile, ServeFile};
use crate::control::Control;
use crate::coordinator::{Coordinator, States};
use crate::error::NodeError;
use crate::http::{self, Listening};
use crate::limits::raise_files;
use crate::live::Known;
use crate::terms::Terms;

/// Exit code of an error: 2 when the input was wrong.
pub fn exit_code(error: &NodeError) -> u8 {
    match error {
        NodeError::Config(_) => 2,
        _ => 1,
    }
}

/// Log lines on stderr; `RUST_LOG` says how many.
pub fn log() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into());
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}

fn runtime() -> Result<tokio::runtime::Runtime, NodeError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2)))
        .enable_all()
        .build()
        .map_err(|e| NodeError::Stopped(e.to_string()))
}

async fn listen(address: &str, key: &str) -> Result<(TcpListener, String), NodeError> {
    let listener = TcpListener::bind(address).await.map_err(|e| {
        NodeError::Config(format!(
            "cannot listen on {address}: {e}; choose another `{key}` (port 0 takes a free one)"
        ))
    })?;
    let bound = listener.local_addr().map_err(|e| NodeError::Network(e.to_string()))?.to_string();
    Ok((listener, bound))
}

/// Ready when the process is told to stop.
async fn told_to_stop() {
    let on = |kind| signal(kind).map_err(|e| tracing::error!(%e, "no signals"));
    let (Ok(mut term), Ok(mut int)) = (on(SignalKind::terminate()), on(SignalKind::interrupt())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

/// Runs a coordinator until it is told to stop or, in lockstep, until the run is over.
pub fn serve(known: &Arc<Known>, path: &Path) -> Result<(), NodeError> {
    let file = ServeFile::read(path)?;
    let config = file.config(known, path)?;
    let terms = config.terms.clone();
    raise_files(config.limits.connections);
    let runtime = runtime()?;
    let store = config.store.clone();
    let mut coordinator = Coordinator::start(config)?;
    let finished = coordinator.finished();
    let coordinator = Arc::new(coordinator);
    let outcome = runtime.block_on(async {
        let (listener, bound) = listen(&file.listen, "listen").await?;
        coordinator.may_listen(&listener)?;
        let control = Control::open(&store);
        println!("{}", json!({ "listening": bound }));
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
        tokio::select! {
            served = coordinator.serve(listener) => served.map(|()| None),
            () = orders => Ok(None),
            () = told_to_stop() => Ok(None),
            Some(states) = result => Ok(Some(states)),
        }
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    let stopped = match Arc::try_unwrap(coordinator) {
        Ok(coordinator) => coordinator.stop(),
        Err(_) => {
            Err(NodeError::Stopped("an order was still under way; what was acknowledged is on disk".into()))
        }
    };
    let states = outcome?;
    stopped?;
    match states {
        Some(states) => {
            conclude(known, &terms, states, file.lockstep.and_then(|lockstep| lockstep.states).as_deref())
        }
        None => Ok(()),
    }
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
pub fn client(known: &Arc<Known>, path: &Path) -> Result<(), NodeError> {
    let file = ClientFile::read(path)?;
    let config = file.config(known, path)?;
    raise_files(config.limits.connections);
    let runtime = runtime()?;
    let drain = file.drain.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
    let entrance = file.entrance(path)?;
    let client = Arc::new(Client::open(config)?);
    let refused = runtime.block_on(async {
        let folder = path.parent().unwrap_or(Path::new(""));
        let (listener, bound) = http::listen(&file.http, folder, file.has_token()).await?;
        let control = Control::open(&file.store);
        println!("{}", json!({ "listening": bound }));
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
            () = told_to_stop() => None,
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
            Ok(drained) => eprintln!("{}", json!({ "drained": drained })),
            Err(error) => eprintln!("not drained: {error}"),
        }
    }
    runtime.shutdown_timeout(Duration::from_millis(200));
    if let Ok(client) = Arc::try_unwrap(client) {
        client.stop();
    }
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
