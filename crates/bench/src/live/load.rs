//! How much at once.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cahoots_sim::memory::resident_bytes;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::raw::{self, Raw};
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

/// Uploads per second, with and without a disk, and the memory of connections.
pub(super) fn measure(options: &LiveOptions, folder: &Path, rows: &mut Vec<Row>) -> Result<(), NodeError> {
    uploads(options, folder, Sync::Disk, rows)?;
    uploads(options, folder, Sync::Memory, rows)?;
    memory(options, folder, rows)
}

/// Uploads per second that one coordinator merges and makes durable.
fn uploads(options: &LiveOptions, folder: &Path, sync: Sync, rows: &mut Vec<Row>) -> Result<(), NodeError> {
    let (name, measure) = match sync {
        Sync::Disk => ("load-disk", "uploads merged per second, fsync"),
        Sync::Memory => ("load-memory", "uploads merged per second, no fsync"),
    };
    let Running { runtime, coordinator, url } = start(options, folder, name, sync, UPLOADERS as usize)?;
    let each = repetitions(options, 1000) as u64;
    let uploads = raw::uploads(options.dim, each);
    let (elapsed, commits) = runtime.block_on(async {
        let mut connected = Vec::new();
        for client in 0..UPLOADERS {
            connected.push(Raw::connect(&url, name, client).await?);
        }
        let before = coordinator.status().await.map_or(0, |status| status.commits);
        let begun = Instant::now();
        let uploading: Vec<_> =
            connected.into_iter().map(|raw| tokio::spawn(raw.upload(uploads.clone()))).collect();
        for upload in uploading {
            upload.await.map_err(failed)??;
        }
        let elapsed = begun.elapsed();
        let after = coordinator.status().await.map_or(0, |status| status.commits);
        Ok::<_, NodeError>((elapsed, after - before))
    })?;
    let total = each * u64::from(UPLOADERS);
    rows.push(Row {
        measure,
        value: total as f64 / elapsed.as_secs_f64(),
        unit: "1/s",
        how: format!("d = {}, {UPLOADERS} streams, {total} uploads in {commits} commits, coordinator and streams in one process", options.dim),
    });
    runtime.shutdown_background();
    Ok(())
}

/// Memory of one more connected client.
fn memory(options: &LiveOptions, folder: &Path, rows: &mut Vec<Row>) -> Result<(), NodeError> {
    let Running { runtime, coordinator, url } =
        start(options, folder, "memory", Sync::Memory, options.clients as usize)?;
    let grown = runtime.block_on(async {
        let mut connected = vec![Raw::connect(&url, "memory", 0).await?];
        let before = resident_bytes().unwrap_or_default();
        for client in 1..options.clients {
            connected.push(Raw::connect(&url, "memory", client).await?);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let all = coordinator.status().await.map_or(0, |status| status.connected);
        if all != options.clients as usize {
            return Err(failed(format!("only {all} of {} clients are connected", options.clients)));
        }
        Ok(resident_bytes().unwrap_or_default().saturating_sub(before))
    })?;
    rows.push(Row {
        measure: "memory per connected client",
        value: grown as f64 / 1024.0 / f64::from(options.clients - 1),
        unit: "KiB",
        how: format!(
            "{} streams, each a TCP connection of its own, both ends in this process",
            options.clients
        ),
    });
    runtime.shutdown_background();
    Ok(())
}
