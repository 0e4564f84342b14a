//! Several coordinators on a log that NATS servers keep: uploads that are durable there, and how long nobody takes any after a death.

use std::path::Path;
use std::time::{Duration, Instant};

use cahoots_node::NodeError;
use cahoots_testkit::nats::{Coordinators, NatsCluster, Serving};
use cahoots_testkit::soak::FEDERATION;
use tokio::runtime::Runtime;

use super::raw::{Raw, uploads};
use super::{LiveOptions, Row, failed, quantiles};

/// Streams that upload at once.
const UPLOADERS: u32 = 64;
/// Nothing here takes longer, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Clients that there can be: attempts after a death each take a number of their own.
const SEATS: u32 = 10_000;

fn seconds(milliseconds: &mut [f64]) -> (f64, f64) {
    milliseconds.sort_by(f64::total_cmp);
    let middle = milliseconds.get(milliseconds.len() / 2).copied().unwrap_or(f64::NAN);
    (middle, milliseconds.last().copied().unwrap_or(f64::NAN))
}

/// A federation on so many servers.
struct Running {
    servers: NatsCluster,
    coordinators: Coordinators,
    runtime: Runtime,
    /// Numbers that were used.
    used: u32,
}

impl Running {
    fn start(
        options: &LiveOptions,
        folder: &Path,
        servers: usize,
        coordinators: usize,
    ) -> Result<Running, NodeError> {
        let folder = folder.join(format!("nats-{servers}"));
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let mut cluster = NatsCluster::start(&folder, servers).map_err(failed)?;
        cluster.await_ready(PATIENCE).map_err(failed)?;
        let serve = format!(
            "[algorithm]\nkind = \"async-linucb\"\n[setting]\nusers = {SEATS}\ndim = {}\narms = {}\n",
            options.dim, options.arms
        );
        let terms = Serving {
            serve: serve.parse().map_err(failed)?,
            lease: 2.0,
            single: servers == 1,
            monitor: cluster.monitor_urls(),
        };
        let mut all = Coordinators::new(&options.program, &folder, terms).map_err(failed)?;
        for _ in 0..coordinators {
            all.add(&cluster.urls()).map_err(failed)?;
        }
        all.start_all().map_err(failed)?;
        all.await_one_leader(PATIENCE).map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(failed)?;
        Ok(Running { servers: cluster, coordinators: all, runtime, used: 0 })
    }

    fn leader(&mut self) -> Result<usize, NodeError> {
        self.coordinators.await_one_leader(PATIENCE).map_err(failed)
    }

    fn url(&self, coordinator: usize) -> String {
        self.coordinators.addresses().swap_remove(coordinator)
    }

    /// Many streams upload as the window allows: how long it took, and every upload by itself.
    fn upload(&mut self, dim: usize, each: u64) -> Result<(Duration, Vec<Duration>), NodeError> {
        let leader = self.leader()?;
        let (url, first) = (self.url(leader), self.used);
        self.used += UPLOADERS;
        let uploads = uploads(dim, each);
        self.runtime.block_on(async {
            let mut connected = Vec::new();
            for client in first..first + UPLOADERS {
                connected.push(Raw::connect(&url, FEDERATION, client).await?);
            }
            let begun = Instant::now();
            let tasks: Vec<_> =
                connected.into_iter().map(|raw| tokio::spawn(raw.upload_timed(uploads.clone()))).collect();
            let mut times = Vec::new();
            for task in tasks {
                times.extend(task.await.map_err(failed)??);
            }
            Ok((begun.elapsed(), times))
        })
    }

    /// Until anybody takes an upload again.
    fn silence(&mut self, dim: usize) -> Result<Duration, NodeError> {
        let (begun, one) = (Instant::now(), uploads(dim, 1));
        while begun.elapsed() < PATIENCE {
            for coordinator in 0..self.coordinators.count() {
                if !self.coordinators.runs(coordinator) {
                    continue;
                }
                let (url, client) = (self.url(coordinator), self.used);
                self.used += 1;
                let uploads = one.clone();
                let attempt =
                    async move { Raw::connect(&url, FEDERATION, client).await?.upload(uploads).await };
                let done = self
                    .runtime
                    .block_on(async { tokio::time::timeout(Duration::from_millis(500), attempt).await });
                if matches!(done, Ok(Ok(()))) {
                    return Ok(begun.elapsed());
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(failed("nobody took an upload any more"))
    }
}

/// Durable uploads per second, and how long each took.
fn throughput(
    options: &LiveOptions,
    running: &mut Running,
    rows: &mut Vec<Row>,
    names: [&'static str; 3],
    how: &str,
) -> Result<(), NodeError> {
    let each = options.uploads.div_ceil(u64::from(UPLOADERS)).max(10);
    // The first uploads find everything cold.
    running.upload(options.dim, each.div_ceil(10))?;
    let (elapsed, times) = running.upload(options.dim, each)?;
    let total = each * u64::from(UPLOADERS);
    let how = format!("d = {}, {UPLOADERS} streams, {total} uploads, sync always, {how}", options.dim);
    rows.push(Row {
        measure: names[0],
        value: total as f64 / elapsed.as_secs_f64(),
        unit: "1/s",
        how: how.clone(),
    });
    quantiles(times, rows, [names[1], names[2]], "ms", &how);
    Ok(())
}

/// All of it.
pub(super) fn measure(options: &LiveOptions, folder: &Path, rows: &mut Vec<Row>) -> Result<(), NodeError> {
    {
        let mut one = Running::start(options, folder, 1, 1)?;
        let names = [
            "R1: durable uploads per second",
            "R1: upload to confirmation, middle",
            "R1: upload to confirmation, 99%",
        ];
        throughput(options, &mut one, rows, names, "one server, one coordinator, all on this machine")?;
    }
    let mut three = Running::start(options, folder, 3, 3)?;
    let names = [
        "R3: durable uploads per second",
        "R3: upload to confirmation, middle",
        "R3: upload to confirmation, 99%",
    ];
    throughput(options, &mut three, rows, names, "three servers, three coordinators, all on this machine")?;
    standby(options, &mut three, rows)?;
    deaths(options, &mut three, rows)
}

/// What a standby holds when clients have confirmed many messages.
fn standby(options: &LiveOptions, running: &mut Running, rows: &mut Vec<Row>) -> Result<(), NodeError> {
    let resident = |running: &Running| -> Result<f64, NodeError> {
        let standby = running.coordinators.standby().ok_or_else(|| failed("nobody stands by"))?;
        let pid = running.coordinators.pid(standby).ok_or_else(|| failed("it does not run"))?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(failed)?;
        Ok(super::process::number(&status, "VmRSS:") as f64 / 1024.0)
    };
    let before = resident(running)?;
    let each = options.confirmations.div_ceil(u64::from(UPLOADERS)).max(10);
    running.upload(options.dim, each)?;
    // The last watermark is at most a second old.
    std::thread::sleep(Duration::from_secs(3));
    let after = resident(running)?;
    let how = format!(
        "{} uploads and the views that follow, confirmed by clients that read at once",
        each * u64::from(UPLOADERS)
    );
    rows.push(Row { measure: "R3: a standby's memory before", value: before, unit: "MiB", how: how.clone() });
    rows.push(Row { measure: "R3: a standby's memory after", value: after, unit: "MiB", how });
    Ok(())
}

/// How long nobody takes an upload after a kill -9.
fn deaths(options: &LiveOptions, running: &mut Running, rows: &mut Vec<Row>) -> Result<(), NodeError> {
    let (mut leaders, mut servers) = (Vec::new(), Vec::new());
    for _ in 0..options.deaths {
        let leader = running.leader()?;
        running.coordinators.kill(leader);
        leaders.push(running.silence(options.dim)?.as_secs_f64());
        running.coordinators.start_all().map_err(failed)?;
        running.leader()?;
    }
    for _ in 0..options.deaths {
        running.servers.await_current(PATIENCE).map_err(failed)?;
        let server = running.servers.log_leader().ok_or_else(|| failed("no server leads the log"))?;
        running.servers.kill(server);
        servers.push(running.silence(options.dim)?.as_secs_f64());
        running.servers.start_server(server).map_err(failed)?;
    }
    let how = format!("{} times kill -9, until an upload is durable again; lease 2 s", options.deaths);
    let mut row = |measure, value| rows.push(Row { measure, value, unit: "s", how: how.clone() });
    let (middle, most) = seconds(&mut leaders);
    row("without service after the leading coordinator's death, middle", middle);
    row("without service after the leading coordinator's death, longest", most);
    let (middle, most) = seconds(&mut servers);
    row("without service after the death of the server that leads the log, middle", middle);
    row("without service after the death of the server that leads the log, longest", most);
    Ok(())
}
