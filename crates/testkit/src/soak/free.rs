//! Free running under kills and over bad lines: every reward is a power of two in a coordinate of
//! its own, so that the merged sum shows which rewards were merged, and how often.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cahoots_algorithms::async_linucb::Server;
use cahoots_core::LinearStats;
use cahoots_core::drive::saved_server;
use cahoots_node::store::{Store, Sync};
use serde_json::json;
use toml::{Table, Value as Toml};

use super::cluster::{App, Cluster, FEDERATION, free_port};
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

/// What one app did: rewards by number.
#[derive(Default)]
struct Diary {
    sent: BTreeSet<usize>,
    acknowledged: BTreeSet<usize>,
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
                let (app, stop, round) = (cluster.app(i), stop.clone(), self.clone());
                std::thread::spawn(move || round.live(i, &app, &stop, deadline))
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
        let mut counts = Counts { kills: cluster.kills, damage, ..Counts::default() };
        for (i, diary) in diaries.iter().enumerate() {
            let merged = self.of_client(i, &merged)?;
            if let Some(lost) = diary.acknowledged.difference(&merged).next() {
                return Err(format!("reward {lost} of client {i} was acknowledged and never merged"));
            }
            if let Some(made_up) = merged.difference(&diary.sent).next() {
                return Err(format!("reward {made_up} of client {i} was merged and never sent"));
            }
            counts.sent += diary.sent.len();
            counts.acknowledged += diary.acknowledged.len();
            counts.merged += merged.len();
        }
        Ok(counts)
    }

    fn cluster(&self, exe: &Path, folder: &Path) -> Result<(Cluster, Option<Proxy>), String> {
        let serve = format!(
            "sync = {:?}\n[setting]\nusers = {}\ndim = {}\narms = 1\n[algorithm]\nkind = \"async-linucb\"\nupload_ratio = 1.0\ndownload_ratio = 1.5\n",
            self.sync,
            self.clients,
            self.clients * self.coordinates
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

    /// The life of an app: decide, reward, again when there was no answer.
    fn live(&self, client: usize, app: &App, stop: &AtomicBool, deadline: Instant) -> Result<Diary, String> {
        let mut diary = Diary::default();
        let late = || Instant::now() > deadline;
        for reward in 0..self.coordinates * POWERS {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let mut arm = vec![0.0; self.clients * self.coordinates];
            arm[client * self.coordinates + reward / POWERS] = 1.0;
            let value = (1u64 << (reward % POWERS)) as f64;
            let id = loop {
                match app.post("/decide", &json!({ "arms": [arm] })) {
                    Ok((200, answer)) => break answer["id"].clone(),
                    Ok((503, _)) | Err(_) if !late() => std::thread::sleep(Duration::from_millis(2)),
                    other => return Err(format!("decide: {other:?}")),
                }
            };
            diary.sent.insert(reward);
            loop {
                match app.post("/reward", &json!({ "id": id, "reward": value })) {
                    Ok((200, _)) => {
                        diary.acknowledged.insert(reward);
                        break;
                    }
                    // The decision died with the process; so did any reward for it.
                    Ok((404, _)) => break,
                    Ok((503, _)) | Err(_) if !late() => std::thread::sleep(Duration::from_millis(2)),
                    other => return Err(format!("reward: {other:?}")),
                }
            }
        }
        Ok(diary)
    }

    /// The rewards of one client that are in the sum, each once.
    fn of_client(&self, client: usize, merged: &LinearStats) -> Result<BTreeSet<usize>, String> {
        let mut found = BTreeSet::new();
        for coordinate in 0..self.coordinates {
            let at = client * self.coordinates + coordinate;
            let sum = merged.moment[at];
            let count = merged.gram.packed()[at * (at + 1) / 2 + at];
            let bits = sum as u64;
            if bits as f64 != sum || f64::from(bits.count_ones()) != count {
                return Err(format!(
                    "client {client}: {count} rewards give {sum}: one was merged twice or in part"
                ));
            }
            found.extend(
                (0..POWERS).filter(|power| bits >> power & 1 == 1).map(|power| coordinate * POWERS + power),
            );
        }
        Ok(found)
    }
}

/// What the coordinator has merged, from its store.
fn merged(folder: &Path) -> Result<LinearStats, String> {
    let owner = format!("the coordinator of federation {FEDERATION:?}");
    let (_, recovered) =
        Store::open(&folder.join("coordinator.store"), &owner, Sync::Memory).map_err(|e| e.to_string())?;
    let state = recovered.snapshot.ok_or("no snapshot after a clean shutdown")?;
    let server: Server = saved_server(&state).map_err(|e| e.to_string())?;
    Ok(server.view().stats().clone())
}
