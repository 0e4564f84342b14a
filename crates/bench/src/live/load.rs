//! How much at once.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cahoots_core::LinearStats;
use cahoots_sim::memory::resident_bytes;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::raw::Raw;
use super::{LiveOptions, Row, coordinator_config, failed, repetitions, terms};
use cahoots_node::NodeError;
use cahoots_node::coordinator::Coordinator;
use cahoots_node::store::Sync;

/// Streams that upload at once.
const UPLOADERS: u32 = 16;

struct Running {
    runtime: Runtime,
    coordinator: Arc<Coordinator>,
    url: String,
}

fn start(
    options: &LiveOptions,
    folder: &Path,
    name: &str,
    sync: Sync,
    users: usize,
) -> Result<Running, NodeError> {
    let terms = terms(options, users, "")?;
    let coordinator = Arc::new(Coordinator::start(coordinator_config(folder, name, sync, terms))?);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(failed)?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).map_err(failed)?;
    let url = format!("http://{}", listener.local_addr().map_err(failed)?);
    let serving = coordinator.clone();
    runtime.spawn(async move { serving.serve(listener).await });
    Ok(Running { runtime, coordinator, url })
}

/// Uploads per second that one coordinator merges and makes durable.
pub(super) fn uploads(
    options: &LiveOptions,
    folder: &Path,
    sync: Sync,
    rows: &mut Vec<Row>,
) -> Result<(), NodeError> {
    let (name, measure) = match sync {
        Sync::Disk => ("load-disk", "uploads merged per second, fsync"),
        Sync::Memory => ("load-memory", "uploads merged per second, no fsync"),
    };
    let Running { runtime, coordinator, url } = start(options, folder, name, sync, UPLOADERS as usize)?;
    let each = repetitions(options, 1000) as u64;
    let mut stats = LinearStats::empty(options.dim);
    for i in 0..options.dim {
        let x: Vec<f64> = (0..options.dim).map(|j| if i == j { 1.0 } else { 0.1 }).collect();
        stats.observe(&x, 0.5);
    }
    let (elapsed, commits) = runtime.block_on(async {
        let mut connected = Vec::new();
        for client in 0..UPLOADERS {
            connected.push(Raw::connect(&url, name, client).await?);
        }
        let before = coordinator.status().await.map_or(0, |status| status.commits);
        let begun = Instant::now();
        let uploading: Vec<_> =
            connected.into_iter().map(|raw| tokio::spawn(raw.upload(each, stats.clone()))).collect();
        for upload in uploading {
            upload.await.map_err(failed)??;
        }
        let elapsed = begun.elapsed();
        let after = coordinator.status().await.map_or(0, |status| status.commits);
        Ok::<_, NodeError>((elapsed, after - before))
    })?;
    let uploads = each * u64::from(UPLOADERS);
    rows.push(Row {
        measure,
        value: uploads as f64 / elapsed.as_secs_f64(),
        unit: "1/s",
        how: format!("d = {}, {UPLOADERS} streams, {uploads} uploads in {commits} commits, coordinator and streams in one process", options.dim),
    });
    runtime.shutdown_background();
    Ok(())
}

/// Memory of one more connected client.
pub(super) fn memory(options: &LiveOptions, folder: &Path, rows: &mut Vec<Row>) -> Result<(), NodeError> {
    allow_files(options.clients as u64 * 2 + 200);
    let Running { runtime, coordinator, url } =
        start(options, folder, "memory", Sync::Memory, options.clients)?;
    let grown = runtime.block_on(async {
        let mut connected = vec![Raw::connect(&url, "memory", 0).await?];
        let before = resident_bytes().unwrap_or_default();
        for client in 1..options.clients as u32 {
            connected.push(Raw::connect(&url, "memory", client).await?);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let all = coordinator.status().await.map_or(0, |status| status.connected);
        if all != options.clients {
            return Err(failed(format!("only {all} of {} clients are connected", options.clients)));
        }
        Ok(resident_bytes().unwrap_or_default().saturating_sub(before))
    })?;
    rows.push(Row {
        measure: "memory per connected client",
        value: grown as f64 / 1024.0 / (options.clients - 1) as f64,
        unit: "KiB",
        how: format!(
            "{} streams, each a TCP connection of its own, both ends in this process",
            options.clients
        ),
    });
    runtime.shutdown_background();
    Ok(())
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
