//! How long one thing takes.

use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cahoots_core::{Keys, NodeId};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::{LiveOptions, Row, client_config, coordinator_config, failed, quantiles, repetitions, terms};
use cahoots_node::NodeError;
use cahoots_node::client::{Arms, Client, ClientConfig, Decision, GainConfig};
use cahoots_node::coordinator::Coordinator;
use cahoots_node::http;
use cahoots_node::store::Sync;

/// Connections that ask for decisions at once.
const CROWD: usize = 64;

/// Decisions, and the journey of a reward with and without a disk.
pub(super) fn measure(options: &LiveOptions, folder: &Path, rows: &mut Vec<Row>) -> Result<(), NodeError> {
    decide(options, folder, rows)?;
    round_trip(options, folder, Sync::Disk, rows)?;
    round_trip(options, folder, Sync::Memory, rows)
}

/// Several arm sets of unit vectors.
fn arm_sets(options: &LiveOptions) -> Vec<Vec<Vec<f64>>> {
    let mut rng = Keys::from_seed(5).policy(NodeId(0), 0);
    let mut row = || {
        let x: Vec<f64> = (0..options.dim).map(|_| rng.normal()).collect();
        let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        x.into_iter().map(|v| v / norm).collect()
    };
    (0..16).map(|_| (0..options.arms).map(|_| row()).collect()).collect()
}

/// A decision, in process and over HTTP; in process also without a shadow of the client's own data.
fn decide(options: &LiveOptions, folder: &Path, rows: &mut Vec<Row>) -> Result<(), NodeError> {
    let (sets, names) = (
        arm_sets(options),
        ["decide without a shadow, in process, p50", "decide without a shadow, in process, p99"],
    );
    decide_in_process(options, folder, "unshadowed", false, &sets, names, rows)?;
    let names = ["decide, in process, p50", "decide, in process, p99"];
    let client = decide_in_process(options, folder, "decide", true, &sets, names, rows)?;
    over_http(options, Arc::new(client), &sets, rows)
}

fn decide_in_process(
    options: &LiveOptions,
    folder: &Path,
    name: &str,
    shadow: bool,
    sets: &[Vec<Vec<f64>>],
    names: [&'static str; 2],
    rows: &mut Vec<Row>,
) -> Result<Client, NodeError> {
    let config = ClientConfig {
        terms: Some(terms(options, 1, "upload_ratio = inf")?),
        gain: GainConfig { shadow, ..GainConfig::default() },
        ..client_config(folder, name, 0, Sync::Memory, None)
    };
    let client = Client::open(config)?;
    for set in sets.iter().cycle().take(200) {
        let decision = client.decide(None, Arms::Features(set))?;
        client.reward(decision.id, 0.5)?;
    }
    let n = repetitions(options, 20_000);
    let mut times = Vec::with_capacity(n);
    for set in sets.iter().cycle().take(n) {
        let begun = Instant::now();
        let Decision { id, .. } = client.decide(None, Arms::Features(set))?;
        times.push(begun.elapsed());
        client.abandon(id)?;
    }
    let how = format!("d = {}, K = {}, {n} calls, logged, one thread", options.dim, options.arms);
    quantiles(times, rows, names, "us", &how);
    Ok(client)
}

fn over_http(
    options: &LiveOptions,
    client: Arc<Client>,
    sets: &[Vec<Vec<f64>>],
    rows: &mut Vec<Row>,
) -> Result<(), NodeError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(failed)?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let _serving = runtime.spawn(http::serve(listener, client));
    let requests: Vec<Arc<str>> =
        sets.iter().map(|set| request(&json!({ "arms": set }).to_string())).collect();
    let n = repetitions(options, 3000);
    let mut times = one(address, &requests, n + 100).map_err(failed)?;
    let how = format!("{} bytes of JSON, one kept connection on loopback, {n} calls", requests[0].len());
    quantiles(times.split_off(100), rows, ["decide, over HTTP, p50", "decide, over HTTP, p99"], "us", &how);
    let each = repetitions(options, 500);
    let rate = runtime.block_on(crowd(address, &requests[0], each)).map_err(failed)?;
    rows.push(Row {
        measure: "decide, over HTTP, at once",
        value: rate,
        unit: "1/s",
        how: format!("{CROWD} kept connections, {each} calls each; callers share the cores"),
    });
    runtime.shutdown_background();
    Ok(())
}

/// A whole request.
fn request(body: &str) -> Arc<str> {
    let length = body.len();
    let head = "POST /decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    format!("{head}\r\ncontent-length: {length}\r\n\r\n{body}").into()
}

/// A connection that costs its owner next to nothing.
struct Caller {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Caller {
    async fn connect(address: SocketAddr) -> io::Result<Caller> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Caller { stream, answer: Vec::new() })
    }

    async fn call(&mut self, request: &str) -> io::Result<()> {
        self.stream.write_all(request.as_bytes()).await?;
        self.answer.clear();
        // An answer is small, and its JSON ends it.
        while !self.answer.ends_with(b"}") {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        if self.answer.starts_with(b"HTTP/1.1 200") {
            return Ok(());
        }
        Err(io::Error::other(String::from_utf8_lossy(&self.answer).into_owned()))
    }
}

/// How long each of so many calls takes, by a thread that does nothing else.
fn one(address: SocketAddr, requests: &[Arc<str>], calls: usize) -> io::Result<Vec<Duration>> {
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut answer = [0; 4096];
    let mut times = Vec::with_capacity(calls);
    for request in requests.iter().cycle().take(calls) {
        let begun = Instant::now();
        stream.write_all(request.as_bytes())?;
        let length = stream.read(&mut answer)?;
        times.push(begun.elapsed());
        let answer = &answer[..length];
        if !(answer.starts_with(b"HTTP/1.1 200") && answer.ends_with(b"}")) {
            return Err(io::Error::other(String::from_utf8_lossy(answer).into_owned()));
        }
    }
    Ok(times)
}

/// Decisions a second when many connections ask at once; nobody gives rewards.
async fn crowd(address: SocketAddr, request: &Arc<str>, each: usize) -> io::Result<f64> {
    let mut callers = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..CROWD {
        let request = request.clone();
        callers.spawn(async move {
            let mut caller = Caller::connect(address).await?;
            for _ in 0..each {
                caller.call(&request).await?;
            }
            Ok::<_, io::Error>(())
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended??;
    }
    Ok((CROWD * each) as f64 / begun.elapsed().as_secs_f64())
}

/// From a reward at one client to the merged view at another.
fn round_trip(
    options: &LiveOptions,
    folder: &Path,
    sync: Sync,
    rows: &mut Vec<Row>,
) -> Result<(), NodeError> {
    let (name, names, how) = match sync {
        Sync::Disk => (
            "trip-disk",
            ["upload to merged download, fsync, p50", "upload to merged download, fsync, p99"],
            "two commits with fsync",
        ),
        Sync::Memory => (
            "trip-memory",
            ["upload to merged download, no fsync, p50", "upload to merged download, no fsync, p99"],
            "two commits without fsync",
        ),
    };
    let terms = terms(options, 2, "ratio = 1.0")?;
    let coordinator = Coordinator::start(coordinator_config(folder, name, sync, terms))?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(failed)?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).map_err(failed)?;
    let url = format!("http://{}", listener.local_addr().map_err(failed)?);
    let coordinator = Arc::new(coordinator);
    let serving = coordinator.clone();
    runtime.spawn(async move { serving.serve(listener).await });
    let open = |i| Client::open(client_config(folder, name, i, sync, Some(url.clone())));
    let (giver, taker) = (open(0)?, open(1)?);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !(giver.status().connected && taker.status().connected) {
        if Instant::now() > deadline {
            return Err(failed("the clients did not connect"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let sets = arm_sets(options);
    let n = repetitions(options, 200);
    let mut times = Vec::with_capacity(n);
    for set in sets.iter().cycle().take(n) {
        let before = taker.status().downloads;
        let decision = giver.decide(None, Arms::Features(set))?;
        let begun = Instant::now();
        giver.reward(decision.id, 0.5)?;
        while taker.status().downloads == before {
            if begun.elapsed() > Duration::from_secs(10) {
                return Err(failed("an upload never became a download"));
            }
            std::thread::sleep(Duration::from_micros(20));
        }
        times.push(begun.elapsed());
    }
    let how = format!(
        "reward at one client until the view is applied at another: {how}, gRPC on loopback, {n} uploads"
    );
    quantiles(times, rows, names, "ms", &how);
    giver.stop();
    taker.stop();
    runtime.shutdown_background();
    Ok(())
}
