//! The file of `cahoots client`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::serve::{AlgorithmTable, SettingTable};
use super::tls::{TlsTable, secret_text};
use super::{Given, Sources, five, hour, one, seconds, thousand};
use crate::client::{
    ApprenticeConfig, ClientConfig, Coordinators, GainConfig, PersonalizerConfig, Telemetry,
};
use crate::decisions::DecisionLogConfig;
use crate::error::NodeError;
use crate::http::{Entrance, may_listen};
use crate::identity::{Caller, ClientSecurity, Secret};
use crate::limits::ClientLimits;
use crate::live::Known;
use crate::privacy::Ceiling;
use crate::store::Sync;
use crate::terms::Terms;

/// What a client's file says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientFile {
    /// Name of the federation.
    pub federation: String,
    /// Where the coordinator is: "https://host:7700", or "http://127.0.0.1:7700" on one machine. Several, as an array or
    /// with commas between, where one of several coordinators leads.
    pub coordinator: Coordinators,
    /// The number of this client.
    pub client: u32,
    /// Its file.
    pub store: PathBuf,
    /// What "on disk" means: "disk" or "memory".
    #[serde(default)]
    pub sync: Sync,
    /// Where the app finds it: "127.0.0.1:7801" (port 0 takes a free one) or "unix:PATH".
    #[serde(default = "anywhere")]
    pub http: String,
    /// What the app must send as `authorization: Bearer TOKEN`; needed where others than this machine can reach `http`.
    pub token: Option<String>,
    /// A file that holds it.
    pub token_file: Option<PathBuf>,
    /// Origins whose pages may ask this client: "https://shop.example".
    #[serde(default)]
    pub origins: Vec<String>,
    /// Length of a tick in seconds.
    #[serde(default = "one")]
    pub tick: f64,
    /// Seconds after which a decision without a reward is given up.
    #[serde(default = "hour")]
    pub expiry: f64,
    /// What is learned of a decision that expires without a reward; without, it is given up.
    pub default_reward: Option<f64>,
    /// How several rewards of one event count, where Personalizer's apps send them.
    #[serde(default)]
    pub personalizer: PersonalizerConfig,
    /// A record of decisions is kept.
    pub decisions: Option<DecisionLogConfig>,
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
    /// Certificates, for "https://...".
    pub tls: Option<TlsTable>,
    /// Plain text may leave this machine.
    #[serde(default)]
    pub plain_text: bool,
    /// What `cahoots members FILE invite` gave at the coordinator: lets this client in the first time.
    pub invitation: Option<String>,
    /// A file that holds it.
    pub invitation_file: Option<PathBuf>,
    /// The most that may be learned of this client's users from what it sends.
    pub privacy: Option<Ceiling>,
    /// Whether the client knows what federation gains it, and what follows.
    #[serde(default)]
    pub gain: GainConfig,
    /// What it shows of its own to who runs the coordinator: nothing, unless it is listed.
    #[serde(default)]
    pub telemetry: Telemetry,
    /// Makes it an apprentice, whose app goes on deciding until it is certain to be better.
    pub apprentice: Option<ApprenticeConfig>,
    /// The federation's terms, to decide before the coordinator was ever reached.
    pub terms: Option<TermsTable>,
    /// Where each value is from.
    #[serde(skip)]
    pub sources: Sources,
}

/// Terms as a file gives them: exactly what the coordinator's file says.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
        ClientFile::given(&Given::file(path))
    }

    /// Reads a file, and what is given over it.
    pub fn given(given: &Given) -> Result<ClientFile, NodeError> {
        let (mut file, sources) = given.read::<ClientFile>()?;
        file.store = sources.folder("store").join(&file.store);
        if let Some(record) = &mut file.decisions {
            record.folder = sources.folder("decisions").join(&record.folder);
        }
        file.tls = file.tls.map(|tls| tls.beside(&sources));
        file.token_file = file.token_file.map(|file| sources.folder("token_file").join(file));
        file.invitation_file = file.invitation_file.map(|file| sources.folder("invitation_file").join(file));
        if let Some(socket) = file.http.strip_prefix("unix:") {
            file.http = format!("unix:{}", sources.folder("http").join(socket).display());
        }
        file.sources = sources;
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
        let wrong = |e: String| NodeError::Config(format!("{}: {e}", path.display()));
        self.limits.check().map_err(wrong)?;
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
            default_reward: self.default_reward,
            personalizer: self.personalizer,
            decisions: self
                .decisions
                .clone()
                .map(|record| record.check().map(|()| record))
                .transpose()
                .map_err(wrong)?,
            snapshot_every: self.snapshot_every.max(1),
            longest_pause: seconds(path, "longest_pause", self.longest_pause)?,
            limits: self.limits.clone(),
            security: self.security().map_err(wrong)?,
            privacy: self
                .privacy
                .map(|ceiling| ceiling.check().map(|()| ceiling))
                .transpose()
                .map_err(wrong)?,
            gain: self.gain.check().map(|()| self.gain).map_err(wrong)?,
            telemetry: self.telemetry.clone(),
            apprentice: self
                .apprentice
                .map(|apprentice| apprentice.check().map(|()| apprentice))
                .transpose()
                .map_err(wrong)?,
        })
    }

    /// What the file means, and whom the app's side is for, with all checked that a start checks before it makes a store.
    pub fn may_start(&self, known: &Arc<Known>, path: &Path) -> Result<(ClientConfig, Entrance), NodeError> {
        let config = self.config(known, path)?;
        config.may_call()?;
        if let Some(terms) = &config.terms {
            terms.live(known)?.deployable(terms)?;
        }
        let entrance = self.entrance(path)?;
        may_listen(&self.http, self.has_token())?;
        Ok((config, entrance))
    }

    /// Whom the app's side is for.
    pub fn entrance(&self, path: &Path) -> Result<Entrance, NodeError> {
        let token = secret_text("token", &self.token, &self.token_file);
        let entrance = token
            .and_then(|token| Entrance::new(token, self.origins.clone(), self.http.starts_with("unix:")));
        entrance.map_err(|e| NodeError::Config(format!("{}: {e}", path.display())))
    }

    /// Whether its app must show a token.
    pub fn has_token(&self) -> bool {
        self.token.is_some() || self.token_file.is_some()
    }

    fn security(&self) -> Result<ClientSecurity, String> {
        let files = self.tls.as_ref().map(TlsTable::files).transpose()?;
        let caller = files.map(|files| Arc::new(Caller::new(files, &self.federation)));
        // It is needed once: whoever has joined may throw it away.
        let file = self.invitation_file.clone().filter(|file| file.exists());
        let invitation = secret_text("invitation", &self.invitation, &file)?;
        let invitation = invitation.map(|text| Secret::parse(&text)).transpose()?;
        Ok(ClientSecurity { caller, invitation, plain_text: self.plain_text })
    }
}
