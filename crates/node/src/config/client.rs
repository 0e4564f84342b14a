//! The file of `cahoots client`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::serve::{AlgorithmTable, SettingTable};
use super::{beside, five, hour, one, read, seconds, thousand};
use crate::client::ClientConfig;
use crate::error::NodeError;
use crate::limits::ClientLimits;
use crate::live::Known;
use crate::store::Sync;
use crate::terms::Terms;

/// What a client's file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientFile {
    /// Name of the federation.
    pub federation: String,
    /// Where the coordinator is: "http://127.0.0.1:7700".
    pub coordinator: String,
    /// The number of this client.
    pub client: u32,
    /// Its file.
    pub store: PathBuf,
    /// What "on disk" means: "disk" or "memory".
    #[serde(default)]
    pub sync: Sync,
    /// Where the app finds it; port 0 takes a free one.
    #[serde(default = "anywhere")]
    pub http: String,
    /// Length of a tick in seconds.
    #[serde(default = "one")]
    pub tick: f64,
    /// Seconds after which a decision without a reward is given up.
    #[serde(default = "hour")]
    pub expiry: f64,
    /// Log entries after which a snapshot is written, if the log is four times as large as the last one by then.
    #[serde(default = "thousand")]
    pub snapshot_every: u64,
    /// The longest pause in seconds between two attempts to connect.
    #[serde(default = "five")]
    pub longest_pause: f64,
    /// Seconds that a client which is told to stop takes to send what it has learned and not sent yet; without, it
    /// keeps that for its next start.
    pub drain: Option<f64>,
    /// What the app may take.
    #[serde(default)]
    pub limits: ClientLimits,
    /// The federation's terms, to decide before the coordinator was ever reached.
    pub terms: Option<TermsTable>,
}

/// Terms as a file gives them: exactly what the coordinator's file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TermsTable {
    /// Seed of the federation's decisions.
    #[serde(default)]
    pub seed: u64,
    /// The algorithm: `kind`, and its parameters.
    pub algorithm: AlgorithmTable,
    /// What is given before anything is learned.
    pub setting: SettingTable,
}

fn anywhere() -> String {
    "127.0.0.1:0".into()
}

impl ClientFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<ClientFile, NodeError> {
        let mut file: ClientFile = read(path)?;
        file.store = beside(path, &file.store);
        Ok(file)
    }

    /// What the file means, checked.
    pub fn config(&self, known: &Arc<Known>, path: &Path) -> Result<ClientConfig, NodeError> {
        self.drain.map(|patience| seconds(path, "drain", patience)).transpose()?;
        let terms = self.terms.as_ref().map(|terms| {
            let AlgorithmTable { kind, params } = &terms.algorithm;
            Terms::new(known, kind, params, terms.setting.setting(), terms.seed)
                .map_err(|e| NodeError::Config(format!("{}: terms: {e}", path.display())))
        });
        if !self.coordinator.starts_with("http://") {
            let why = format!(
                "{}: coordinator must look like \"http://127.0.0.1:7700\", not {:?}",
                path.display(),
                self.coordinator
            );
            return Err(NodeError::Config(why));
        }
        Ok(ClientConfig {
            known: known.clone(),
            federation: self.federation.clone(),
            coordinator: Some(self.coordinator.clone()),
            client: self.client,
            store: self.store.clone(),
            sync: self.sync,
            terms: terms.transpose()?,
            tick: seconds(path, "tick", self.tick)?,
            expiry: seconds(path, "expiry", self.expiry)?,
            snapshot_every: self.snapshot_every.max(1),
            longest_pause: seconds(path, "longest_pause", self.longest_pause)?,
            limits: self.limits.clone(),
        })
    }
}
