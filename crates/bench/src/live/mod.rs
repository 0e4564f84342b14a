//! A federation under load, measured on this machine: how long a decision
//! takes, how long until an upload has become someone's download, how many
//! uploads a coordinator takes, what a connected client costs.

mod latency;
mod load;
mod raw;

use std::path::Path;
use std::time::Duration;

use cahoots_core::Setting;
use serde::Serialize;

use cahoots_node::NodeError;
use cahoots_node::Terms;
use cahoots_node::client::ClientConfig;
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

/// How much to measure.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// Shared features of an arm.
    pub dim: usize,
    /// Arms per decision.
    pub arms: usize,
    /// Clients that are connected at once for the memory measurement.
    pub clients: usize,
    /// Scales the number of repetitions; 1 takes about half a minute.
    pub effort: f64,
}

impl Default for LiveOptions {
    fn default() -> Self {
        LiveOptions { dim: 25, arms: 25, clients: 1000, effort: 1.0 }
    }
}

/// Measures everything; stores go to a temporary folder on the usual disk.
pub fn run(options: &LiveOptions) -> Result<Vec<Row>, NodeError> {
    let folder = tempfile::tempdir().map_err(|e| NodeError::Stopped(e.to_string()))?;
    let mut rows = Vec::new();
    latency::decide(options, folder.path(), &mut rows)?;
    for sync in [Sync::Disk, Sync::Memory] {
        latency::round_trip(options, folder.path(), sync, &mut rows)?;
        load::uploads(options, folder.path(), sync, &mut rows)?;
    }
    load::memory(options, folder.path(), &mut rows)?;
    Ok(rows)
}

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
        known: known(),
        federation: name.into(),
        store: folder.join(format!("{name}.store")),
        sync,
        terms,
        tick: Duration::from_secs(1),
        snapshot_every: 1000,
        limits: Default::default(),
    }
}

fn client_config(
    folder: &Path,
    name: &str,
    client: u32,
    sync: Sync,
    coordinator: Option<String>,
) -> ClientConfig {
    ClientConfig {
        known: known(),
        federation: name.into(),
        coordinator,
        client,
        store: folder.join(format!("{name}-{client}.store")),
        sync,
        terms: None,
        tick: Duration::from_secs(1),
        expiry: Duration::from_secs(3600),
        snapshot_every: 1000,
        longest_pause: Duration::from_secs(1),
        limits: Default::default(),
    }
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
