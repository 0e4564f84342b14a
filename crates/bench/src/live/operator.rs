//! What an operator will see: nodes as processes of their own, sustained load, bursts with slow readers, kills.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::bare::Echo;
use super::process::{Process, Usage, soon, store_bytes};
use super::raw::{Common, Pace, Raw, Reads, Views, uploads};
use super::{LiveOptions, Row, failed, repetitions};
use cahoots_node::NodeError;

/// Name of every federation here.
const FEDERATION: &str = "bench";
/// Nothing here takes longer, unless it never comes.
const PATIENCE: u64 = 900;
/// Between two frames of who reads slowly.
const PAUSE: Duration = Duration::from_millis(100);
const KIB: f64 = 1024.0;

fn runtime() -> Result<Runtime, NodeError> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(failed)
}

/// A coordinator's file for so many clients; gives it and the store.
fn serve_file(
    options: &LiveOptions,
    folder: &Path,
    name: &str,
    clients: u32,
) -> Result<(PathBuf, PathBuf), NodeError> {
    let (file, store) = (folder.join(format!("{name}.toml")), folder.join(format!("{name}.store")));
    let text = format!(
        "federation = \"{FEDERATION}\"\nlisten = \"127.0.0.1:0\"\nstore = {store:?}\nsync = \"disk\"\n\
         [algorithm]\nkind = \"async-linucb\"\n[setting]\nusers = {clients}\ndim = {}\narms = {}\n",
        options.dim, options.arms
    );
    std::fs::write(&file, text).map_err(failed)?;
    Ok((file, store))
}

/// How clients went about it, and what came of it.
struct Went {
    /// Until every upload of those who read was confirmed.
    elapsed: Duration,
    /// What the process had used by then.
    usage: Usage,
    /// What clients were sent until then.
    views: Arc<Views>,
}

impl Went {
    /// The same amount of sending, per upload.
    fn echo(&self, uploads: u64) -> Echo {
        let (number, bytes) = (self.views.number.load(Relaxed), self.views.bytes.load(Relaxed));
        Echo { views: number as f64 / uploads as f64, bytes: (bytes / number.max(1)) as usize }
    }
}

/// Lets all clients upload, the first `slow` of them reading slowly (one half) or not at all (the other).
async fn together(
    process: &Process,
    clients: Vec<Raw>,
    slow: usize,
    each: u64,
    dim: usize,
    pace: impl Fn(usize) -> Pace,
) -> Result<Went, NodeError> {
    let (confirmed, mut heard) = mpsc::unbounded_channel();
    let (over, ended) = watch::channel(false);
    let views = Arc::<Views>::default();
    let common = Common { uploads: uploads(dim, each), confirmed, over: ended, views: views.clone() };
    let (readers, mut parts) = (clients.len() - slow, JoinSet::new());
    let begun = Instant::now();
    // Who does not read is heard of, if at all, when it is over.
    let (quiet, _unheard) = mpsc::unbounded_channel();
    for (i, raw) in clients.into_iter().enumerate() {
        let (reads, common) = match i {
            i if i >= slow => (Reads::AtOnce, common.clone()),
            i if i % 2 == 0 => (Reads::Slowly(PAUSE), Common { confirmed: quiet.clone(), ..common.clone() }),
            _ => (Reads::Nothing, Common { confirmed: quiet.clone(), ..common.clone() }),
        };
        parts.spawn(raw.take_part(pace(i), reads, common));
    }
    drop(common);
    let mut done = 0;
    soon(PATIENCE, "confirmations", async {
        while done < readers {
            tokio::select! {
                Some(()) = heard.recv() => done += 1,
                // Nobody leaves before it is over, unless something went wrong.
                Some(left) = parts.join_next() => left.map_err(failed)??,
            }
        }
        Ok::<_, NodeError>(())
    })
    .await??;
    let went = Went { elapsed: begun.elapsed(), usage: process.usage()?, views };
    let _ = over.send(true);
    soon(PATIENCE, "the last confirmations", async {
        while let Some(left) = parts.join_next().await {
            left.map_err(failed)??;
        }
        Ok::<_, NodeError>(())
    })
    .await??;
    Ok(went)
}

/// The same clients at the transport alone: uploads confirmed per second.
fn bare(options: &LiveOptions, folder: &Path, clients: u32, each: u64, echo: Echo) -> Result<f64, NodeError> {
    let runtime = runtime()?;
    let file = folder.join("bare.json");
    std::fs::write(&file, json!(echo).to_string()).map_err(failed)?;
    let process = Process::start(options, "bare", &file)?;
    let went = runtime.block_on(async {
        let raws = Raw::connect_all(&process.url, FEDERATION, clients).await?;
        together(&process, raws, 0, each, options.dim, |_| Pace::AtOnce).await
    })?;
    runtime.shutdown_background();
    Ok((u64::from(clients) * each) as f64 / went.elapsed.as_secs_f64())
}

/// What a coordinator writes, computes and holds while clients upload at a steady rate.
pub(super) fn sustained(options: &LiveOptions, folder: &Path, rows: &mut Vec<Row>) -> Result<(), NodeError> {
    let (clients, rate) = (options.sustained_clients, options.rate);
    let each = ((rate * options.seconds / f64::from(clients)).round() as u64).max(1);
    let (file, _) = serve_file(options, folder, "sustained", clients)?;
    let runtime = runtime()?;
    let process = Process::start(options, "serve", &file)?;
    let (before, went) = runtime.block_on(async {
        let raws = Raw::connect_all(&process.url, FEDERATION, clients).await?;
        let before = process.usage()?;
        let period = Duration::from_secs_f64(f64::from(clients) / rate);
        let pace = |i: usize| Pace::Every(Duration::from_secs_f64(i as f64 / rate), period);
        Ok::<_, NodeError>((before, together(&process, raws, 0, each, options.dim, pace).await?))
    })?;
    let (total, after) = (u64::from(clients) * each, went.usage);
    let received = uploads(options.dim, each).iter().map(Vec::len).sum::<usize>() as f64 * f64::from(clients);
    let how = format!(
        "{clients} clients, {total} uploads of {:.0} bytes at {rate:.0}/s with fsync, coordinator a process of its own",
        received / total as f64
    );
    let mut row = |measure, value, unit| rows.push(Row { measure, value, unit, how: how.clone() });
    row(
        "sustained: bytes to the device per byte received",
        (after.device - before.device) as f64 / received,
        "",
    );
    row(
        "sustained: bytes handed over, sockets too, per byte received",
        (after.handed - before.handed) as f64 / received,
        "",
    );
    row("sustained: processor time per upload", (after.cpu - before.cpu) * 1e6 / total as f64, "us");
    row("sustained: memory of the coordinator", after.resident as f64 / KIB / KIB, "MiB");
    runtime.shutdown_background();
    Ok(())
}

/// Uploads per second that a coordinator's process takes, beside the transport alone; and how soon it is back
/// when it is killed after that.
pub(super) fn steady(options: &LiveOptions, folder: &Path, rows: &mut Vec<Row>) -> Result<(), NodeError> {
    let clients = options.sustained_clients;
    let each = options.uploads.div_ceil(u64::from(clients));
    let total = u64::from(clients) * each;
    let alone = bare(options, folder, clients, each, Echo::default())?;
    let (file, store) = serve_file(options, folder, "steady", clients + 1)?;
    let runtime = runtime()?;
    let process = Process::start(options, "serve", &file)?;
    let went = runtime.block_on(async {
        let raws = Raw::connect_all(&process.url, FEDERATION, clients).await?;
        together(&process, raws, 0, each, options.dim, |_| Pace::AtOnce).await
    })?;
    let merged = total as f64 / went.elapsed.as_secs_f64();
    let how = format!("{clients} clients, {total} uploads as the window allows, processes of their own");
    let mut row = |measure, value, unit, how: &str| rows.push(Row { measure, value, unit, how: how.into() });
    row("steady: uploads merged per second, fsync", merged, "1/s", &how);
    row("steady: uploads confirmed per second by the transport alone", alone, "1/s", &how);
    row("steady: merged to the transport alone", merged / alone, "", &how);
    let echo = went.echo(total);
    let sending = bare(options, folder, clients, each, echo)?;
    let how_sending =
        format!("the same, and {:.2} views of {} bytes sent per upload", echo.views, echo.bytes);
    row(
        "steady: uploads confirmed per second by a transport that sends as much",
        sending,
        "1/s",
        &how_sending,
    );
    row("steady: merged to a transport that sends as much", merged / sending, "", &how_sending);
    row("steady: processor time per upload", went.usage.cpu * 1e6 / total as f64, "us", &how);

    let bytes = store_bytes(&store);
    process.kill()?;
    let begun = Instant::now();
    let process = Process::start(options, "serve", &file)?;
    runtime.block_on(async {
        // A client that never uploaded, so that nothing is asked of it.
        let stranger = Raw::connect(&process.url, FEDERATION, clients);
        soon(PATIENCE, "a welcome", stranger).await?.map(drop)
    })?;
    let how = format!(
        "kill -9 after {total} uploads, until the next process welcomes a client; its store takes {:.1} MB",
        bytes as f64 / 1e6
    );
    row("recovery: kill to the first welcome", begun.elapsed().as_secs_f64() * 1e3, "ms", &how);
    runtime.shutdown_background();
    Ok(())
}

/// Everyone uploads at once, and many do not read what they are sent.
pub(super) fn burst(options: &LiveOptions, folder: &Path, rows: &mut Vec<Row>) -> Result<(), NodeError> {
    let (clients, each) = (options.clients, 2);
    let slow = options.slow.min(options.clients / 2) as usize;
    let alone = bare(options, folder, clients, each, Echo::default())?;
    let (file, store) = serve_file(options, folder, "burst", clients)?;
    let runtime = runtime()?;
    let process = Process::start(options, "serve", &file)?;
    let (empty, connected, went) = runtime.block_on(async {
        let empty = process.usage()?;
        let raws = Raw::connect_all(&process.url, FEDERATION, clients).await?;
        let connected = process.usage()?;
        Ok::<_, NodeError>((
            empty,
            connected,
            together(&process, raws, slow, each, options.dim, |_| Pace::AtOnce).await?,
        ))
    })?;
    let peak = process.usage()?.peak;
    let sending = bare(options, folder, clients, each, went.echo(u64::from(clients) * each))?;
    let confirmed = u64::from(clients - slow as u32) * each;
    let merged = confirmed as f64 / went.elapsed.as_secs_f64();
    let how = format!(
        "{clients} clients with {each} uploads each at once, {slow} of them reading slowly or not at all, with fsync"
    );
    let per_client = |bytes: u64| bytes.saturating_sub(empty.resident) as f64 / KIB / f64::from(clients);
    let mut row = |measure, value, unit| rows.push(Row { measure, value, unit, how: how.clone() });
    row("burst: uploads of those who read, merged per second", merged, "1/s");
    row("burst: uploads confirmed per second by the transport alone", alone, "1/s");
    row("burst: merged to the transport alone", merged / alone, "");
    row("burst: merged to a transport that sends as much", merged / sending, "");
    row("burst: coordinator's memory per connected client, before", per_client(connected.resident), "KiB");
    row("burst: coordinator's peak memory per connected client", per_client(peak), "KiB");
    row("burst: the coordinator's store", store_bytes(&store) as f64 / 1e6, "MB");
    let received = uploads(options.dim, each).iter().map(Vec::len).sum::<usize>() as f64 * f64::from(clients);
    row(
        "burst: bytes to the device per byte received",
        (went.usage.device - connected.device) as f64 / received,
        "",
    );
    runtime.shutdown_background();
    Ok(())
}

/// What a client's process writes for a reward while many decisions are open.
pub(super) fn open_decisions(
    options: &LiveOptions,
    folder: &Path,
    rows: &mut Vec<Row>,
) -> Result<(), NodeError> {
    let (file, store) = (folder.join("open.toml"), folder.join("open.store"));
    // Nobody is at that address: a client goes on alone.
    let text = format!(
        "federation = \"{FEDERATION}\"\ncoordinator = \"http://127.0.0.1:9\"\nclient = 0\nstore = {store:?}\nsync = \"disk\"\n\
         http = \"127.0.0.1:0\"\n[terms]\nalgorithm = {{ kind = \"async-linucb\", upload_ratio = inf }}\n\
         setting = {{ users = 1, dim = {}, arms = 2 }}\n",
        options.dim
    );
    std::fs::write(&file, text).map_err(failed)?;
    let process = Process::start(options, "client", &file)?;
    let agent = ureq::Agent::new_with_defaults();
    let post = |path: &str, body: serde_json::Value| {
        let mut answer = agent
            .post(format!("{}/{path}", process.url))
            .content_type("application/json")
            .send(body.to_string())
            .map_err(failed)?;
        answer.body_mut().read_to_string().map_err(failed)
    };
    let arm =
        |i: usize| (0..options.dim).map(|j| ((i * 31 + j * 17) % 97) as f64 / 500.0).collect::<Vec<_>>();
    let decide = |i: usize| {
        let answer = post("decide", json!({ "arms": [arm(i), arm(i + 1)] }))?;
        let answer: serde_json::Value = serde_json::from_str(&answer).map_err(failed)?;
        Ok::<_, NodeError>(answer["id"].clone())
    };
    let open = (0..options.open).map(decide).collect::<Result<Vec<_>, _>>()?;
    let rewards = repetitions(options, 1000).min(options.open);
    let before = process.usage()?;
    for id in &open[..rewards] {
        post("reward", json!({ "id": id, "reward": 0.5 }))?;
    }
    let after = process.usage()?;
    let how = format!(
        "{} open decisions, {rewards} rewards one by one over HTTP with fsync; a device is sent whole pages",
        options.open
    );
    let mut row = |measure, value, unit| rows.push(Row { measure, value, unit, how: how.clone() });
    row("client: bytes to the device per reward", (after.device - before.device) as f64 / rewards as f64, "");
    row(
        "client: bytes handed over, sockets too, per reward",
        (after.handed - before.handed) as f64 / rewards as f64,
        "",
    );
    Ok(())
}
