//! The files of the demo's federation, as anyone would write them.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use cahoots_lab::LabError;
use cahoots_node::replica::LogKey;

use super::servers::{self, Server};
use super::tastes::{ARMS, DIM, REWARD_NOISE, Tastes};

/// Name of the federation.
const FEDERATION: &str = "demo";

/// How everybody decides, alone or together.
const COMMON: &str = "radius = { fixed = 0.4 }";

/// How the live federation learns.
const ALGORITHM: &str = "\
kind = \"hetofed-e\"
sync_threshold = 30.0
test = { cut = 0.1 }
clusters_per_step = 4
deadline = 20                     # ticks: rounds do not wait longer for who is away
";

/// What all ways to learn have in common, so that they can be compared.
pub(super) fn common() -> toml::Table {
    COMMON.parse().expect("a table")
}

/// What is written.
pub(super) struct Files {
    /// One; or three, which share a log.
    pub(super) coordinators: Vec<PathBuf>,
    /// Those who keep it, and what runs them.
    pub(super) servers: Vec<Server>,
    pub(super) nats: PathBuf,
    pub(super) clients: Vec<PathBuf>,
    /// Where the page is.
    pub(super) page: String,
    /// Where each client's app finds it.
    pub(super) apps: Vec<String>,
}

/// Where a node's state is, given its file.
pub(super) fn store(file: &Path) -> PathBuf {
    file.with_extension("store")
}

/// Writes the files of everyone; `nats` is the program that keeps the log of three coordinators, if it is to be so.
pub(super) fn write(folder: &Path, tastes: Tastes, nats: Option<PathBuf>) -> Result<Files, LabError> {
    let Tastes { clients, seed } = tastes;
    let servers = if nats.is_some() { write_servers(folder)? } else { Vec::new() };
    let names: &[&str] = if nats.is_some() { &["a", "b", "c"] } else { &["coordinator"] };
    let (mut coordinators, mut addresses, mut page) = (Vec::new(), Vec::new(), String::new());
    for name in names {
        let (listen, http) = (free_address()?, free_address()?);
        let coordinator = folder.join(format!("{name}.toml"));
        let (log, nats) = if servers.is_empty() { Default::default() } else { replicated(&servers) };
        put(
            &coordinator,
            &format!(
                "federation = \"{FEDERATION}\"
listen = \"{listen}\"
http = \"{http}\"            # the page
store = \"{name}.store\"
{log}sync = \"memory\"                   # survives kill -9, not a power cut
tick = 0.05
seed = {seed}
{nats}
[setting]
users = {clients}
dim = {DIM}
arms = {ARMS}
reward_noise = {REWARD_NOISE:?}

[algorithm]
{ALGORITHM}{COMMON}
"
            ),
        )?;
        coordinators.push(coordinator);
        addresses.push(format!("\"http://{listen}\""));
        if page.is_empty() {
            page = http;
        }
    }
    let coordinator =
        if addresses.len() == 1 { addresses.remove(0) } else { format!("[{}]", addresses.join(", ")) };
    let (mut files, mut apps) = (Vec::new(), Vec::new());
    for client in 0..clients {
        let app = free_address()?;
        let file = folder.join(format!("client-{client}.toml"));
        put(
            &file,
            &format!(
                "federation = \"{FEDERATION}\"
coordinator = {coordinator}
client = {client}
store = \"client-{client}.store\"
sync = \"memory\"
tick = 0.05
http = \"{app}\"           # for the app
longest_pause = 0.5
"
            ),
        )?;
        files.push(file);
        apps.push(app);
    }
    Ok(Files { coordinators, servers, nats: nats.unwrap_or_default(), clients: files, page, apps })
}

/// Three servers and the key that seals what they keep.
fn write_servers(folder: &Path) -> Result<Vec<Server>, LabError> {
    LogKey::make(&folder.join("log.key")).map_err(super::super::serve::failed)?;
    let addresses = || (0..3).map(|_| free_address()).collect::<Result<Vec<_>, _>>();
    let (clients, monitors, routes) = (addresses()?, addresses()?, addresses()?);
    let mut servers = Vec::new();
    for (i, ((address, monitor), route)) in clients.into_iter().zip(monitors).zip(&routes).enumerate() {
        let name = format!("nats-{}", i + 1);
        let file = folder.join(format!("{name}.conf"));
        let data = std::path::absolute(folder.join(&name)).unwrap_or_else(|_| folder.join(&name));
        put(&file, &servers::configuration(&name, &address, &monitor, route, &routes, &data))?;
        servers.push(Server { file, name, address, monitor });
    }
    Ok(servers)
}

/// Which servers keep a coordinator's log, and how.
fn replicated(servers: &[Server]) -> (String, String) {
    let addresses: Vec<&str> = servers.iter().map(|server| &*server.address).collect();
    let monitors: Vec<String> =
        servers.iter().map(|server| format!("\"http://{}\"", server.monitor)).collect();
    (
        format!("log = \"nats://{}\"\n", addresses.join(",")),
        format!("\n[nats]\nkey = \"log.key\"\nmonitor = [{}]\n", monitors.join(", ")),
    )
}

/// Deletes all files of the store of a node that is not running.
pub(super) fn delete_store(file: &Path) -> Result<(), LabError> {
    let store = store(file);
    let (folder, name) = (store.parent().unwrap_or(Path::new("")), store.file_name().unwrap_or_default());
    let failed = |error: std::io::Error| LabError::io("delete", &store, &error);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let ours =
            path.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(name.as_encoded_bytes()));
        if ours && path.is_file() {
            std::fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok(())
}

fn put(file: &Path, text: &str) -> Result<(), LabError> {
    std::fs::write(file, text).map_err(|error| LabError::io("write", file, &error))
}

/// An address that nobody uses at the moment. Whoever is killed comes back to it, so its port is not one of those that the
/// system gives to outgoing connections (32768 and above on Linux): one of them could take it meanwhile.
fn free_address() -> Result<String, LabError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const FROM: u32 = 10_240;
    const PORTS: u32 = 22_000;
    // Demos begin at different places.
    let begin = std::process::id().wrapping_mul(7919) % PORTS;
    for _ in 0..PORTS {
        let port = FROM + (begin + NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS;
        let address = format!("127.0.0.1:{port}");
        if TcpListener::bind(&address).is_ok() {
            return Ok(address);
        }
    }
    Err(LabError::Failed("no port of this machine is free".into()))
}
