//! The file of `cahoots serve`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cahoots_core::{NodeId, Setting};
use serde::{Deserialize, Serialize};

use super::nats::NatsTable;
use super::tls::secret_text;
use super::{Given, Sources, TlsTable, one, seconds, thousand};
use crate::coordinator::{CoordinatorConfig, Plan};
use crate::error::NodeError;
use crate::face::Access;
use crate::http::addresses;
use crate::identity::{Admit, Gate, ServeSecurity};
use crate::limits::ServeLimits;
use crate::live::Known;
use crate::prior::WarmStart;
use crate::store::Sync;
use crate::terms::Terms;

/// What a coordinator's file says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeFile {
    /// Name of the federation.
    pub federation: String,
    /// Where to listen, as "127.0.0.1:7700"; port 0 takes a free one.
    #[serde(default = "loopback")]
    pub listen: String,
    /// Where the page, the status and the metrics are: "127.0.0.1:7780", "unix:PATH", or "none". Port 0 takes a free one.
    #[serde(default = "anywhere")]
    pub http: String,
    /// What must be shown there: needed where others than this machine can reach it.
    pub token: Option<String>,
    /// A file that holds it.
    pub token_file: Option<PathBuf>,
    /// What the federation is planned to send, to be shown beside what it does.
    pub plan: Option<Plan>,
    /// The coordinator's file.
    pub store: PathBuf,
    /// The servers that keep its log, as "nats://a:4222,b:4222,c:4222", where several coordinators share one; on this machine's disk otherwise.
    pub log: Option<String>,
    /// How it is one of several coordinators.
    pub nats: Option<NatsTable>,
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
    /// What a new federation begins from.
    pub warm_start: Option<WarmStartTable>,
    /// Where each value is from.
    #[serde(skip)]
    pub sources: Sources,
}

/// An algorithm as a file names it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AlgorithmTable {
    /// Name in the registry.
    pub kind: String,
    /// Its parameters.
    #[serde(flatten)]
    pub params: toml::Table,
}

/// A setting as a file gives it.
#[derive(Clone, Debug, Serialize, Deserialize)]
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

/// What a new federation begins from: used when its store is made, and remembered there.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmStartTable {
    /// A file that `cahoots prior` made.
    pub prior: PathBuf,
    /// For how much of an observation each of its observations counts.
    #[serde(default = "one")]
    pub weight: f64,
}

/// A lockstep run.
#[derive(Clone, Debug, Serialize, Deserialize)]
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

fn anywhere() -> String {
    "127.0.0.1:0".into()
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
        ServeFile::given(&Given::file(path))
    }

    /// Reads a file, and what is given over it.
    pub fn given(given: &Given) -> Result<ServeFile, NodeError> {
        let (mut file, sources) = given.read::<ServeFile>()?;
        file.store = sources.folder("store").join(&file.store);
        file.tls = file.tls.map(|tls| tls.beside(&sources));
        file.nats = file.nats.map(|nats| nats.beside(&sources));
        if let Some(states) = file.lockstep.as_mut().and_then(|lockstep| lockstep.states.as_mut()) {
            *states = sources.folder("lockstep.states").join(&*states);
        }
        if let Some(warm) = &mut file.warm_start {
            warm.prior = sources.folder("warm_start.prior").join(&warm.prior);
        }
        file.token_file = file.token_file.map(|token| sources.folder("token_file").join(token));
        file.sources = sources;
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
        let terms = terms.map_err(|e| {
            NodeError::Config(format!("{}: {e}{}", path.display(), self.sources.besides("algorithm")))
        })?;
        Ok(CoordinatorConfig {
            known: known.clone(),
            federation: self.federation.clone(),
            store: self.store.clone(),
            sync: self.sync,
            terms,
            tick: seconds(path, "tick", self.tick)?,
            snapshot_every: self.snapshot_every.max(1),
            limits: self.limits.clone(),
            warm_start: self.warm_start(path)?,
            plan: self.plan,
            security: self.security().map_err(|e| NodeError::Config(format!("{}: {e}", path.display())))?,
        })
    }

    /// What the file means, and whom its page is for, with all checked that a start checks before it makes a store.
    pub fn may_start(
        &self,
        known: &Arc<Known>,
        path: &Path,
    ) -> Result<(CoordinatorConfig, Option<Access>), NodeError> {
        let config = self.config(known, path)?;
        config.terms.live(known)?.deployable(&config.terms)?;
        for address in addresses(&self.listen, "listen")? {
            config.security.may_listen(address.ip())?;
        }
        self.replicas(path, &self.listen)?;
        let access = self.access(path)?;
        if access.is_some() {
            self.may_show()?;
            addresses(&self.http, "http")?;
        }
        Ok((config, access))
    }

    /// Whom the page is for; nobody without an address.
    pub fn access(&self, path: &Path) -> Result<Option<Access>, NodeError> {
        if self.http == "none" {
            return Ok(None);
        }
        let wrong = |e: String| NodeError::Config(format!("{}: {e}", path.display()));
        let token = secret_text("token", &self.token, &self.token_file).map_err(wrong)?;
        let socket = self.http.starts_with("unix:");
        Access::new(token, socket, self.page_is_secure()).map(Some).map_err(wrong)
    }

    /// Whether the page is served over TLS: where certificates are there, and others than this machine can reach it.
    pub fn page_is_secure(&self) -> bool {
        self.tls.is_some() && !self.page_is_local()
    }

    fn page_is_local(&self) -> bool {
        let host = self.http.rsplit_once(':').map_or(&*self.http, |(host, _)| host);
        self.http.starts_with("unix:") || crate::identity::loopback(host)
    }

    /// Refuses to show the page to other machines without a token, or in plain text unless that was asked for.
    pub fn may_show(&self) -> Result<(), NodeError> {
        if self.page_is_local() {
            return Ok(());
        }
        if self.token.is_none() && self.token_file.is_none() {
            return Err(NodeError::Config(format!(
                "whoever reaches {} could watch this federation: listen on 127.0.0.1 or \"unix:PATH\", or set `token` or `token_file` \
                 (`openssl rand -hex 32` makes one)",
                self.http
            )));
        }
        if self.tls.is_none() && !self.plain_text {
            return Err(NodeError::Config(format!(
                "the token of {} would travel in plain text: give [tls], see `cahoots keys init`, or listen on 127.0.0.1 and let a \
                 proxy with TLS stand before it; `plain_text = true` allows it",
                self.http
            )));
        }
        Ok(())
    }

    fn warm_start(&self, path: &Path) -> Result<Option<WarmStart>, NodeError> {
        let Some(WarmStartTable { prior, weight }) = &self.warm_start else { return Ok(None) };
        if !(*weight > 0.0 && *weight <= 1.0) {
            return Err(NodeError::Config(format!(
                "{}: weight in [warm_start] must be above 0 and at most 1, not {weight}: it says for how much of an observation \
                 each of the prior's counts",
                path.display()
            )));
        }
        Ok(Some(WarmStart { prior: prior.clone(), weight: *weight }))
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
