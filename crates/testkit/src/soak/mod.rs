//! Kills under load, many of them: federations of real processes on this
//! machine, in lockstep and running free. Every failure names the seed that
//! runs it again.

mod cluster;
mod free;
mod powers;
mod process;
mod rounds;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cahoots_node::Known;
use cahoots_sim::run::Scenario;
use serde::Serialize;
use serde_json::json;
use toml::Table;

use crate::lockstep;

pub use cluster::{App, Cluster, FEDERATION, free_port};
pub use free::{Counts, FreeRound};
pub use powers::{Balance, Diary, Merged, Powers};
pub use process::Process;
pub use rounds::LockstepRound;

/// How long and how hard.
#[derive(Clone, Debug)]
pub struct Soak {
    /// What that program can run.
    pub known: Arc<Known>,
    /// The program that has `serve` and `client`.
    pub exe: PathBuf,
    /// Kill so often, in both modes together.
    pub kills: u64,
    /// Seed of the first round; every round has the next one.
    pub seed: u64,
    /// Stop after this time, whatever the number of kills.
    pub longest: Option<Duration>,
}

/// What a soak gave.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SoakReport {
    /// Kills in lockstep runs.
    pub lockstep_kills: u64,
    /// Lockstep runs, all of which ended in the simulator's bytes.
    pub lockstep_runs: u64,
    /// Kills in free running federations.
    pub free_kills: u64,
    /// Free running federations.
    pub free_runs: u64,
    /// Rewards that apps sent.
    pub sent: usize,
    /// Rewards that were acknowledged.
    pub acknowledged: usize,
    /// Rewards that were merged, each once.
    pub merged: usize,
}

/// Scenarios small enough to be killed through, one of which fits every algorithm.
fn scenarios() -> Vec<Scenario> {
    let read = |value| serde_json::from_value(value).expect("a scenario that can be read");
    vec![
        read(
            json!({ "horizon": 600, "environment": { "kind": "linear", "clients": 4, "dim": 4, "arms": 5 } }),
        ),
        read(json!({ "horizon": 200, "environment":
            { "kind": "arms", "clients": 4, "arms": 5, "arrivals": "all", "rewards": "bernoulli" } })),
        read(json!({ "horizon": 600, "environment":
            { "kind": "users", "users": 8, "servers": 3, "clusters": 2, "dim": 4, "arms": 5 } })),
        read(json!({ "horizon": 300, "environment":
            { "kind": "split", "clients": 4, "dim_global": 3, "dim_local": 2, "arms": 5 } })),
    ]
}

/// Parameters that make an algorithm talk a lot.
fn talkative(algorithm: &str) -> Table {
    let text = match algorithm {
        "async-linucb" => "ratio = 1.2",
        "fed-linucb" => "upload_ratio = 1.2",
        "sync-linucb" => "sync_threshold = 0.5",
        _ => "",
    };
    toml::from_str(text).expect("a table")
}

/// Kills until there were enough kills; `progress` sees a line after each round.
pub fn soak(soak: &Soak, progress: &mut dyn FnMut(&str)) -> Result<SoakReport, String> {
    let mut report = SoakReport::default();
    let begun = Instant::now();
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut seed = soak.seed;
    while report.lockstep_kills + report.free_kills < soak.kills
        && soak.longest.is_none_or(|longest| begun.elapsed() < longest)
    {
        let place = folder.path().join(seed.to_string());
        let left = soak.kills - report.lockstep_kills - report.free_kills;
        let what = if seed.is_multiple_of(2) {
            let names: Vec<&str> = soak.known.algorithms.names().collect();
            let name = names[(seed / 2) as usize % names.len()];
            let params = talkative(name);
            let fits = scenarios()
                .into_iter()
                .find(|scenario| lockstep::terms(&soak.known, name, &params, scenario, seed).is_ok());
            let Some(scenario) = fits else {
                progress(&format!("seed {seed}: {name} skipped: none of the small worlds fits it"));
                seed += 1;
                continue;
            };
            let round = LockstepRound {
                known: &soak.known,
                algorithm: name,
                params: &params,
                scenario: &scenario,
                seed,
                kills: left.min(40),
                pause: Duration::from_millis(30),
                patience: Duration::from_secs(120),
            };
            let kills = round.run(&soak.exe, &place).map_err(|e| rerun(seed, name, &e))?;
            report.lockstep_kills += kills;
            report.lockstep_runs += 1;
            format!("lockstep {name}: {kills} kills, final bytes equal the simulator's")
        } else {
            let round = FreeRound {
                clients: 3,
                coordinates: 6,
                seed,
                kills: left.min(25),
                pause: Duration::from_millis(80),
                sync: if seed % 4 == 1 { "disk" } else { "memory" },
                patience: Duration::from_secs(120),
                weather: None,
            };
            let counts = round.run(&soak.exe, &place).map_err(|e| rerun(seed, "free running", &e))?;
            report.free_kills += counts.kills;
            report.free_runs += 1;
            report.sent += counts.sent;
            report.acknowledged += counts.acknowledged;
            report.merged += counts.merged;
            format!(
                "free running: {} kills, {} rewards sent, {} acknowledged, {} merged, each once",
                counts.kills, counts.sent, counts.acknowledged, counts.merged
            )
        };
        progress(&format!("seed {seed}: {what}"));
        let _ = std::fs::remove_dir_all(&place);
        seed += 1;
    }
    Ok(report)
}

fn rerun(seed: u64, what: &str, error: &str) -> String {
    format!(
        "{what}, seed {seed}: {error}\nrun it again with: cargo run --release -p cahoots-bench -- soak --seed {seed} --kills 40"
    )
}
