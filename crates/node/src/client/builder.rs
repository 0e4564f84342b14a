//! A client from Rust, with what a file would leave out filled in.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{ApprenticeConfig, Client, ClientConfig, Coordinators, GainConfig, Telemetry};
use crate::decisions::DecisionLogConfig;
use crate::error::NodeError;
use crate::identity::ClientSecurity;
use crate::limits::ClientLimits;
use crate::live::Known;
use crate::privacy::Ceiling;
use crate::store::Sync;
use crate::terms::Terms;

/// A client in the making: see [`Client::builder`].
#[derive(Clone, Debug)]
pub struct ClientBuilder(ClientConfig);

impl Client {
    /// Client number `client` of a federation, who can run what is `known`. Unless told otherwise: no coordinator, a store
    /// `client-NUMBER.store` in the present folder, ticks of a second, an hour's patience for a reward.
    ///
    /// With terms of its own a client decides before it ever reaches a coordinator:
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use cahoots_core::Setting;
    /// use cahoots_node::client::{Arms, Client};
    /// use cahoots_node::{Known, Terms};
    ///
    /// # fn main() -> Result<(), cahoots_node::NodeError> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let store = folder.path().join("client");
    /// let known = Arc::new(Known::new(cahoots_algorithms::registry::ours()));
    /// let params = "ratio = 2.0".parse().unwrap();
    /// let terms = Terms::new(&known, "async-linucb", &params, Setting::linear(10, 2, 2), 0)?;
    /// let client = Client::builder(known, "shops", 3).store(store).terms(terms).open()?;
    /// let arms = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
    /// let decision = client.decide(None, Arms::Features(&arms))?;
    /// client.reward(decision.id, 1.0)?;
    /// assert_eq!(client.status().open_decisions, 0);
    /// client.stop();
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(known: Arc<Known>, federation: &str, client: u32) -> ClientBuilder {
        ClientBuilder(ClientConfig {
            known,
            federation: federation.into(),
            coordinator: None,
            client,
            store: format!("client-{client}.store").into(),
            sync: Sync::default(),
            terms: None,
            tick: Duration::from_secs(1),
            expiry: Duration::from_secs(3600),
            default_reward: None,
            personalizer: Default::default(),
            decisions: None,
            snapshot_every: 1000,
            longest_pause: Duration::from_secs(5),
            limits: ClientLimits::default(),
            security: ClientSecurity::default(),
            privacy: None,
            gain: Default::default(),
            telemetry: Default::default(),
            apprentice: None,
        })
    }
}

impl ClientBuilder {
    /// Connected to the coordinator at this address, as "https://host:port"; in plain text on this machine alone. Several,
    /// with commas between, where one of several coordinators leads.
    pub fn coordinator(self, url: impl Into<Coordinators>) -> Self {
        ClientBuilder(ClientConfig { coordinator: Some(url.into()), ..self.0 })
    }

    /// With its state in this file.
    pub fn store(self, path: impl Into<PathBuf>) -> Self {
        ClientBuilder(ClientConfig { store: path.into(), ..self.0 })
    }

    /// What "on disk" means.
    pub fn sync(self, sync: Sync) -> Self {
        ClientBuilder(ClientConfig { sync, ..self.0 })
    }

    /// With terms that it need not ask the coordinator for.
    pub fn terms(self, terms: Terms) -> Self {
        ClientBuilder(ClientConfig { terms: Some(terms), ..self.0 })
    }

    /// With ticks of this length.
    pub fn tick(self, tick: Duration) -> Self {
        ClientBuilder(ClientConfig { tick, ..self.0 })
    }

    /// Giving up a decision after so long without a reward.
    pub fn expiry(self, expiry: Duration) -> Self {
        ClientBuilder(ClientConfig { expiry, ..self.0 })
    }

    /// Learning this of a decision that expires without a reward, in place of giving it up.
    pub fn default_reward(self, reward: f64) -> Self {
        ClientBuilder(ClientConfig { default_reward: Some(reward), ..self.0 })
    }

    /// Showing who it is like this.
    pub fn security(self, security: ClientSecurity) -> Self {
        ClientBuilder(ClientConfig { security, ..self.0 })
    }

    /// Letting no more be learned of its users than this.
    pub fn privacy(self, ceiling: Ceiling) -> Self {
        ClientBuilder(ClientConfig { privacy: Some(ceiling), ..self.0 })
    }

    /// Knowing like this what federation gains it.
    pub fn gain(self, gain: GainConfig) -> Self {
        ClientBuilder(ClientConfig { gain, ..self.0 })
    }

    /// Showing this of its own to who runs the coordinator.
    pub fn telemetry(self, telemetry: Telemetry) -> Self {
        ClientBuilder(ClientConfig { telemetry, ..self.0 })
    }

    /// Keeping a record of its decisions.
    pub fn decisions(self, record: DecisionLogConfig) -> Self {
        ClientBuilder(ClientConfig { decisions: Some(record), ..self.0 })
    }

    /// Leaving decisions to its app until it is certain to be better.
    pub fn apprentice(self, apprentice: ApprenticeConfig) -> Self {
        ClientBuilder(ClientConfig { apprentice: Some(apprentice), ..self.0 })
    }

    /// All of it, for what is rarely changed.
    pub fn config(self) -> ClientConfig {
        self.0
    }

    /// Opens the store, replays what a kill interrupted, and is ready.
    pub fn open(self) -> Result<Client, NodeError> {
        Client::open(self.0)
    }
}
