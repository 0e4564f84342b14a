//! Lockstep under kills: whatever dies when, the run ends in the simulator's bytes.

use std::path::Path;
use std::time::{Duration, Instant};

use cahoots_node::{Known, Terms};
use cahoots_sim::run::Scenario;
use toml::{Table, Value as Toml};

use super::cluster::Cluster;
use crate::lockstep;

/// One run of an algorithm in a scenario.
pub struct LockstepRound<'a> {
    /// What the program can run.
    pub known: &'a Known,
    /// Name in the registry.
    pub algorithm: &'a str,
    /// Its parameters.
    pub params: &'a Table,
    /// World and horizon.
    pub scenario: &'a Scenario,
    /// Seed of the world.
    pub seed: u64,
    /// At most this many kills.
    pub kills: u64,
    /// The longest pause between two kills.
    pub pause: Duration,
    /// Give up after this time.
    pub patience: Duration,
}

impl LockstepRound<'_> {
    /// Runs it in `folder`; the number of kills, if the final bytes were right.
    pub fn run(&self, exe: &Path, folder: &Path) -> Result<u64, String> {
        let terms = lockstep::terms(self.known, self.algorithm, self.params, self.scenario, self.seed)
            .map_err(|e| e.to_string())?;
        let clients = terms.seats(self.known).map_err(|e| e.to_string())?.clients();
        let mut serve = Table::new();
        serve.insert("seed".into(), Toml::Integer(self.seed as i64));
        let mut algorithm = self.params.clone();
        algorithm.insert("kind".into(), self.algorithm.into());
        serve.insert("algorithm".into(), Toml::Table(algorithm));
        let mut table = Table::new();
        let scenario = Toml::try_from(self.scenario).map_err(|e| e.to_string())?;
        table.insert("scenario".into(), scenario);
        table.insert("states".into(), "states.bin".into());
        serve.insert("lockstep".into(), Toml::Table(table));
        let mut cluster = Cluster::new(exe, folder, clients, serve, &Table::new(), self.seed)?;
        cluster.start_all()?;
        let deadline = Instant::now() + self.patience;
        loop {
            if let Some(status) = cluster.process(0).ended() {
                return self.verdict(&mut cluster, status.success(), &terms);
            }
            if Instant::now() > deadline {
                return Err(format!("the run did not end: {}", cluster.process(0).complaints()));
            }
            if cluster.kills < self.kills {
                cluster.pause(self.pause);
                if cluster.process(0).ended().is_none() {
                    cluster.kill_one()?;
                }
            } else {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }

    fn verdict(&self, cluster: &mut Cluster, success: bool, terms: &Terms) -> Result<u64, String> {
        if !success {
            return Err(cluster.process(0).complaints());
        }
        let bytes = std::fs::read(cluster.folder().join("states.bin")).map_err(|e| e.to_string())?;
        let states: Vec<Vec<u8>> = postcard::from_bytes(&bytes).map_err(|e| e.to_string())?;
        let expected =
            self.known.lockstep().and_then(|runs| runs.final_states(terms)).map_err(|e| e.to_string())?;
        match (0..expected.len().max(states.len())).find(|&i| states.get(i) != expected.get(i)) {
            None => Ok(cluster.kills),
            Some(0) => Err("the coordinator's final state is not the simulator's".into()),
            Some(i) => Err(format!("client {}'s final state is not the simulator's", i - 1)),
        }
    }
}
