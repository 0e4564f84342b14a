//! Free running under kills and over bad lines: every reward is a power of two in a coordinate of
//! its own, so that the merged sum shows which rewards were merged, and how often.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cahoots_algorithms::async_linucb::Server;
use cahoots_core::drive::saved_server;
use cahoots_node::store::{Store, Sync};
use toml::{Table, Value as Toml};

use super::cluster::{Cluster, FEDERATION, free_port};
use super::powers::{Balance, Diary, Merged, Powers};
use crate::proxy::{Damage, Proxy, Weather};

/// Powers of two per coordinate: their sum is exact.
const POWERS: usize = 40;

/// One federation with apps that send rewards while nodes are killed.
#[derive(Clone, Debug)]
pub struct FreeRound {
    /// Number of clients.
    pub clients: usize,
    /// Coordinates per client; each takes 40 rewards.
    pub coordinates: usize,
    /// Seed of the kills.
    pub seed: u64,
    /// Kill so often, and then let the apps rest.
    pub kills: u64,
    /// The longest pause between two kills.
    pub pause: Duration,
    /// What "on disk" means.
    pub sync: &'static str,
    /// Give up after this time.
    pub patience: Duration,
    /// What the line between clients and coordinator is like; then apps say all that they have to say.
    pub weather: Option<Weather>,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Kills.
    pub kills: u64,
    /// Rewards that apps sent.
    pub sent: usize,
    /// Rewards that were acknowledged.
    pub acknowledged: usize,
    /// Rewards that were merged, each once.
    pub merged: usize,
    /// What the line did.
    pub damage: Damage,
}

impl FreeRound {
    /// Runs it in `folder`; the counts, if conservation held.
    pub fn run(&self, exe: &Path, folder: &Path) -> Result<Counts, String> {
        let (mut cluster, proxy) = self.cluster(exe, folder)?;
        cluster.start_all()?;
        let stop = Arc::new(AtomicBool::new(false));
        let deadline = Instant::now() + self.patience;
        let apps: Vec<_> = (0..self.clients)
            .map(|i| {
                let (app, stop, powers) = (cluster.app(i), stop.clone(), self.powers());
                std::thread::spawn(move || powers.live(i, &app, &stop, deadline, Duration::ZERO))
            })
            .collect();
        while cluster.kills < self.kills && !apps.iter().all(std::thread::JoinHandle::is_finished) {
            cluster.pause(self.pause);
            cluster.kill_one()?;
        }
        stop.store(proxy.is_none(), Ordering::Relaxed);
        let diaries: Result<Vec<Diary>, String> =
            apps.into_iter().map(|app| app.join().map_err(|_| "an app panicked".to_string())?).collect();
        let diaries = diaries?;
        if let Some(proxy) = &proxy {
            proxy.calm();
        }
        cluster.settle(Duration::from_secs(20))?;
        cluster.stop_all()?;
        let merged = merged(folder)?;
        let damage = proxy.map(|proxy| proxy.damage()).unwrap_or_default();
        let Balance { sent, acknowledged, merged } = self.powers().balance(&diaries, &merged)?;
        Ok(Counts { kills: cluster.kills, sent, acknowledged, merged, damage })
    }

    fn cluster(&self, exe: &Path, folder: &Path) -> Result<(Cluster, Option<Proxy>), String> {
        let serve = format!(
            "sync = {:?}\n[setting]\nusers = {}\ndim = {}\narms = 1\n[algorithm]\nkind = \"async-linucb\"\nupload_ratio = 1.0\ndownload_ratio = 1.5\n",
            self.sync,
            self.clients,
            self.powers().dim()
        );
        let mut serve: Table = toml::from_str(&serve).map_err(|e| e.to_string())?;
        let mut client = Table::new();
        client.insert("sync".into(), Toml::String(self.sync.into()));
        let mut proxy = None;
        if let Some(weather) = self.weather {
            let coordinator = SocketAddr::from(([127, 0, 0, 1], free_port()?));
            let line = Proxy::start(coordinator, weather).map_err(|e| e.to_string())?;
            serve.insert("listen".into(), coordinator.to_string().into());
            let idle = [("idle".to_string(), Toml::Float(1.0))];
            serve.insert("limits".into(), Toml::Table(idle.into_iter().collect()));
            client.insert("coordinator".into(), format!("http://{}", line.address()).into());
            proxy = Some(line);
        }
        Ok((Cluster::new(exe, folder, self.clients, serve, &client, self.seed)?, proxy))
    }

    fn powers(&self) -> Powers {
        Powers { clients: self.clients, coordinates: self.coordinates, powers: POWERS }
    }
}

/// What the coordinator has merged, from its store.
fn merged(folder: &Path) -> Result<Vec<Merged>, String> {
    let owner = format!("the coordinator of federation {FEDERATION:?}");
    let (_, recovered) =
        Store::open(&folder.join("coordinator.store"), &owner, Sync::Memory).map_err(|e| e.to_string())?;
    let state = recovered.snapshot.ok_or("no snapshot after a clean shutdown")?;
    let server: Server = saved_server(&state).map_err(|e| e.to_string())?;
    let stats = server.view().stats();
    let count = |at: usize| stats.gram.packed()[at * (at + 1) / 2 + at];
    Ok(stats.moment.iter().enumerate().map(|(at, &sum)| Merged { sum, count: count(at) }).collect())
}
