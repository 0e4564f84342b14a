//! The file of `cahoots serve`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cahoots_core::{NodeId, Setting};
use serde::Deserialize;

use super::{TlsTable, beside, one, read, seconds, thousand};
use crate::coordinator::CoordinatorConfig;
use crate::error::NodeError;
use crate::identity::{Admit, Gate, ServeSecurity};
use crate::limits::ServeLimits;
use crate::live::Known;
use crate::store::Sync;
use crate::terms::Terms;

/// What a coordinator's file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeFile {
    /// Name of the federation.
    pub federation: String,
    /// Where to listen, as "127.0.0.1:7700"; port 0 takes a free one.
    #[serde(default = "loopback")]
    pub listen: String,
    /// The coordinator's file.
    pub store: PathBuf,
    /// What "on disk" means: "disk" or "memory".
    #[serde(default)]
    pub sync: Sync,
    /// Seed of the federation's decisions.
    #[serde(default)]
    pub seed: u64,
    /// Length of a tick in seconds.
    #[serde(default = "one")]
    pub tick: f64,
    /// Log entries after which a snapshot is written, if the log is four times as large as the last one by then.
    #[serde(default = "thousand")]
    pub snapshot_every: u64,
    /// What strangers and clients may take.
    #[serde(default)]
    pub limits: ServeLimits,
    /// Certificates: TLS is spoken, and nothing else.
    pub tls: Option<TlsTable>,
    /// Plain text may leave this machine.
    #[serde(default)]
    pub plain_text: bool,
    /// Who is let in: "certificates", "tokens" or "anyone".
    pub admit: Option<Admit>,
    /// The algorithm: `kind`, and its parameters.
    pub algorithm: AlgorithmTable,
    /// What is given before anything is learned; not in lockstep, where the scenario says it.
    pub setting: Option<SettingTable>,
    /// A run in the simulator's order. For tests.
    pub lockstep: Option<LockstepTable>,
}

/// An algorithm as a file names it.
#[derive(Clone, Debug, Deserialize)]
pub struct AlgorithmTable {
    /// Name in the registry.
    pub kind: String,
    /// Its parameters.
    #[serde(flatten)]
    pub params: toml::Table,
}

/// A setting as a file gives it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingTable {
    /// Those for whom decisions are made.
    pub users: usize,
    /// Shared features of an arm; 0 for plain arms.
    #[serde(default)]
    pub dim: usize,
    /// Arms offered per decision.
    pub arms: usize,
    /// Ticks the federation will run, where an algorithm wants to know.
    #[serde(default = "long")]
    pub horizon: u64,
    /// Sub-Gaussian scale of the reward noise.
    #[serde(default = "tenth")]
    pub reward_noise: f64,
    /// The longest that an arm's features can be, in Euclidean norm; without it, no feature is beyond 2^100.
    #[serde(default)]
    pub context_norm: Option<f64>,
    /// The smallest and the largest reward; without it, none is beyond 2^100.
    #[serde(default)]
    pub reward_range: Option<(f64, f64)>,
    /// Whether servers that add up keep apart what each client has contributed, so that one can be forgotten.
    #[serde(default = "yes")]
    pub keep_apart: bool,
    /// Features of a user's own, per user.
    #[serde(default)]
    pub local_dims: Vec<usize>,
    /// Client of each user, where a client has many.
    #[serde(default)]
    pub hosts: Vec<u32>,
}

/// A lockstep run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockstepTable {
    /// World and horizon, for who knows how to run in lockstep.
    pub scenario: toml::Table,
    /// Where to write the final states.
    pub states: Option<PathBuf>,
}

fn loopback() -> String {
    "127.0.0.1:7700".into()
}

fn long() -> u64 {
    i64::MAX as u64
}

fn yes() -> bool {
    true
}

fn tenth() -> f64 {
    0.1
}

impl SettingTable {
    /// As the core has it.
    pub fn setting(&self) -> Setting {
        Setting {
            users: self.users,
            dim: self.dim,
            local_dims: self.local_dims.clone(),
            arms: self.arms,
            horizon: self.horizon,
            reward_noise: self.reward_noise,
            hosts: self.hosts.iter().copied().map(NodeId).collect(),
            smallest_gap: None,
            context_norm: self.context_norm,
            reward_range: self.reward_range,
            keep_apart: self.keep_apart,
        }
    }
}

impl ServeFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<ServeFile, NodeError> {
        let mut file: ServeFile = read(path)?;
        file.store = beside(path, &file.store);
        file.tls = file.tls.map(|tls| tls.beside(path));
        if let Some(states) = file.lockstep.as_mut().and_then(|lockstep| lockstep.states.as_mut()) {
            *states = beside(path, states);
        }
        Ok(file)
    }

    /// What the file means, checked.
    pub fn config(&self, known: &Arc<Known>, path: &Path) -> Result<CoordinatorConfig, NodeError> {
        let AlgorithmTable { kind, params } = &self.algorithm;
        let terms = match (&self.lockstep, &self.setting) {
            (Some(lockstep), None) => known
                .lockstep()
                .and_then(|runs| runs.terms(known, kind, params, &lockstep.scenario, self.seed)),
            (None, Some(setting)) => Terms::new(known, kind, params, setting.setting(), self.seed),
            (Some(_), Some(_)) => Err(NodeError::Config(
                "[setting] and [lockstep] exclude each other: the scenario is the setting".into(),
            )),
            (None, None) => {
                Err(NodeError::Config("[setting] is missing: it says users, dim and arms".into()))
            }
        };
        let terms = terms.map_err(|e| NodeError::Config(format!("{}: {e}", path.display())))?;
        Ok(CoordinatorConfig {
            known: known.clone(),
            federation: self.federation.clone(),
            store: self.store.clone(),
            sync: self.sync,
            terms,
            tick: seconds(path, "tick", self.tick)?,
            snapshot_every: self.snapshot_every.max(1),
            limits: self.limits.clone(),
            security: self.security().map_err(|e| NodeError::Config(format!("{}: {e}", path.display())))?,
        })
    }

    /// Who is let in. What was not asked for is the safest of what can be.
    fn security(&self) -> Result<ServeSecurity, String> {
        let plain_text = self.plain_text;
        let Some(tls) = &self.tls else {
            return match self.admit {
                Some(Admit::Certificates) => Err("admit = \"certificates\" needs [tls]: see `cahoots keys init`".into()),
                Some(Admit::Tokens) if plain_text => Err(
                    "invitations must not travel in plain text: give [tls], see `cahoots keys init`, instead of plain_text".into(),
                ),
                None if plain_text => Err(
                    "plain_text = true says nothing of who is let in: with admit = \"anyone\", whoever reaches this coordinator can \
                     claim any number that is free; certificates and invitations need [tls], see `cahoots keys init`"
                        .into(),
                ),
                admit => Ok(ServeSecurity { gate: None, admit: admit.unwrap_or(Admit::Anyone), plain_text }),
            };
        };
        let admit = self.admit.unwrap_or(Admit::Certificates);
        let gate = Gate::open(tls.files()?, &self.federation, admit)?;
        Ok(ServeSecurity { gate: Some(Arc::new(gate)), admit, plain_text })
    }
}
