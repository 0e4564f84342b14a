//! A federation under load, measured on this machine: how long a decision
//! takes, how long until an upload has become someone's download, how many
//! uploads a coordinator takes, what a connected client costs; and, with nodes as
//! processes of their own, what an operator will see.

pub mod bare;
mod latency;
mod load;
mod nats;
mod operator;
mod process;
mod raw;

use std::path::{Path, PathBuf};
use std::time::Duration;

use cahoots_core::Setting;
use clap::ValueEnum;
use serde::Serialize;

use cahoots_node::NodeError;
use cahoots_node::Terms;
use cahoots_node::client::{Client, ClientConfig};
use cahoots_node::coordinator::CoordinatorConfig;
use cahoots_node::live::Known;
use cahoots_node::store::Sync;

/// One measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was measured.
    pub measure: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// How it was measured.
    pub how: String,
}

/// A part of all that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Decisions, and uploads until they are someone's download.
    Latency,
    /// Uploads and connections of one process.
    Load,
    /// Clients upload at a steady rate.
    Sustained,
    /// Clients upload as fast as they are confirmed, beside the transport alone; then a kill.
    Steady,
    /// All clients upload at once, many do not read.
    Burst,
    /// A client with many open decisions.
    Open,
}

/// How much to measure.
#[derive(Clone, Debug, clap::Args)]
pub struct LiveOptions {
    /// Shared features of an arm.
    #[arg(long, default_value_t = 25)]
    pub dim: usize,
    /// Arms per decision.
    #[arg(long, default_value_t = 25)]
    pub arms: usize,
    /// Clients that are connected at once for the memory measurement and in the burst.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub clients: u32,
    /// Clients in the burst that read slowly or not at all; at most half of them.
    #[arg(long, default_value_t = 500)]
    pub slow: u32,
    /// Clients that upload at a steady rate, or as fast as they are confirmed.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sustained_clients: u32,
    /// The steady rate: uploads per second of all of them.
    #[arg(long, default_value_t = 200.0)]
    pub rate: f64,
    /// How long they go on.
    #[arg(long, default_value_t = 5.0)]
    pub seconds: f64,
    /// Uploads before the coordinator is killed.
    #[arg(long, default_value_t = 20_000)]
    pub uploads: u64,
    /// Open decisions of a client.
    #[arg(long, default_value_t = 10_000)]
    pub open: usize,
    /// Scales the number of repetitions of latencies and of uploads in one process.
    #[arg(long, default_value_t = 1.0)]
    pub effort: f64,
    /// Several coordinators whose log NATS servers keep, and nothing else. Needs `nats-server` (NATS_SERVER=PATH).
    #[arg(long)]
    pub nats: bool,
    /// With --nats: uploads that clients confirm the consequences of, before a standby's memory is looked at.
    #[arg(long, default_value_t = 100_000)]
    pub confirmations: u64,
    /// With --nats: how often a leader and a server are killed.
    #[arg(long, default_value_t = 3)]
    pub deaths: u32,
    /// Only these parts.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<Part>,
    /// The program whose `serve`, `client` and `bare` are started.
    #[arg(skip)]
    pub program: PathBuf,
}

/// Measures everything; stores go to a temporary folder on the usual disk.
pub fn run(options: &LiveOptions, mut show: impl FnMut(&[Row])) -> Result<(), NodeError> {
    // Nodes that are started inherit it.
    allow_files(u64::from(options.clients.max(options.sustained_clients)) * 2 + 200);
    let folder = tempfile::tempdir().map_err(failed)?;
    let folder = folder.path();
    let is_wanted = |part| options.only.is_empty() || options.only.contains(&part);
    if options.nats {
        let mut rows = Vec::new();
        let measured = nats::measure(options, folder, &mut rows);
        show(&rows);
        return measured;
    }
    let parts: [(Part, Measure); 6] = [
        (Part::Latency, latency::measure),
        (Part::Load, load::measure),
        (Part::Sustained, operator::sustained),
        (Part::Steady, operator::steady),
        (Part::Burst, operator::burst),
        (Part::Open, operator::open_decisions),
    ];
    for (_, measure) in parts.into_iter().filter(|(part, _)| is_wanted(*part)) {
        let mut rows = Vec::new();
        measure(options, folder, &mut rows)?;
        show(&rows);
    }
    Ok(())
}

type Measure = fn(&LiveOptions, &Path, &mut Vec<Row>) -> Result<(), NodeError>;

fn failed(error: impl std::fmt::Display) -> NodeError {
    NodeError::Stopped(error.to_string())
}

fn repetitions(options: &LiveOptions, usual: usize) -> usize {
    ((usual as f64 * options.effort) as usize).max(10)
}

fn terms(options: &LiveOptions, users: usize, params: &str) -> Result<Terms, NodeError> {
    let setting = Setting::linear(users, options.dim, options.arms).with_horizon(1_000_000);
    Terms::new(&known(), "async-linucb", &toml::from_str(params).map_err(failed)?, setting, 1)
}

fn coordinator_config(folder: &Path, name: &str, sync: Sync, terms: Terms) -> CoordinatorConfig {
    CoordinatorConfig {
        warm_start: None,
        plan: None,
        known: known(),
        federation: name.into(),
        store: folder.join(format!("{name}.store")),
        sync,
        terms,
        tick: Duration::from_secs(1),
        snapshot_every: 1000,
        limits: Default::default(),
        security: Default::default(),
    }
}

fn client_config(
    folder: &Path,
    name: &str,
    client: u32,
    sync: Sync,
    coordinator: Option<String>,
) -> ClientConfig {
    let store = folder.join(format!("{name}-{client}.store"));
    let config = Client::builder(known(), name, client).store(store).sync(sync).config();
    let coordinator = coordinator.map(Into::into);
    ClientConfig { coordinator, longest_pause: Duration::from_secs(1), ..config }
}

/// The middle and the 99th percentile.
fn quantiles(
    mut times: Vec<Duration>,
    rows: &mut Vec<Row>,
    names: [&'static str; 2],
    unit: &'static str,
    how: &str,
) {
    times.sort_unstable();
    let scale = match unit {
        "us" => 1e6,
        _ => 1e3,
    };
    for (measure, quantile) in names.into_iter().zip([0.5, 0.99]) {
        let at = ((times.len() - 1) as f64 * quantile) as usize;
        rows.push(Row { measure, value: times[at].as_secs_f64() * scale, unit, how: how.into() });
    }
}

fn known() -> std::sync::Arc<Known> {
    std::sync::Arc::new(Known::new(cahoots_algorithms::registry::ours()))
}

/// A thousand connections need more files than some systems allow at first.
fn allow_files(files: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < files) {
        let current = limit.maximum.map_or(files, |most| most.min(files));
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum: limit.maximum });
    }
}
