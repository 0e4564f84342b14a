//! A log that NATS JetStream keeps: a stream of records, a bucket of snapshots, and signs of life beside them.
//!
//! What is here knows the engine's habits: an answer that does not come says nothing, "not found" is not final, and whoever answers may
//! do so from the past. What follows from them is decided in [`replica`](crate::replica), which knows no network.

mod beacon;
mod check;
mod engine;
mod object;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::{Context, ContextBuilder};
use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};
use async_nats::jetstream::{self, object_store};
use async_nats::{Client, ConnectOptions};
use tokio::runtime::Runtime;

use crate::config::token;
use crate::error::NodeError;
use crate::platform::Platform;
use crate::replica::{Beacon, Engine, Keeper, LogKey, Silence, Unusable};

/// How long an answer may take. The servers' own elections take longer: whoever waits for one asks again.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a silent line is tried: the default takes minutes to notice a frozen server.
const PING: Duration = Duration::from_secs(2);

/// Where the servers are, and what is asked of them.
#[derive(Clone, Debug)]
pub struct NatsConfig {
    /// Addresses of the servers, as `nats://host:4222` or `tls://host:4222`.
    pub servers: Vec<String>,
    /// Names the federation, and so its stream.
    pub federation: String,
    /// One replica of the stream is enough.
    pub single: bool,
    /// Nobody looks whether the servers sync before they answer.
    pub assume_synced: bool,
    /// A stream that is gone is made anew behind the last snapshot.
    pub accept_rollback: bool,
    /// Where the servers' monitoring is, as `http://host:8222`.
    pub monitor: Vec<String>,
    /// A file with what lets this coordinator in.
    pub credentials: Option<PathBuf>,
    /// Whom to believe that a server is one of ours.
    pub ca: Option<PathBuf>,
}

/// A connection to the servers.
pub struct Nats {
    config: NatsConfig,
    runtime: Arc<Runtime>,
    client: Client,
    context: Context,
}

impl Nats {
    /// Connects; whoever cannot be reached now is tried again.
    pub fn connect(config: NatsConfig) -> Result<Nats, Unusable> {
        let wrong = |what: String| Unusable::Wrong(NodeError::Config(what));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("cahoots-nats")
            .enable_all()
            .build()
            .map_err(|e| wrong(e.to_string()))?;
        let mut options = ConnectOptions::new()
            .name("cahoots")
            .ping_interval(PING)
            .connection_timeout(PATIENCE)
            .request_timeout(Some(PATIENCE))
            .reconnect_delay_callback(|tries| Duration::from_millis(if tries < 4 { 50 } else { 250 }));
        if let Some(credentials) = &config.credentials {
            let text = std::fs::read_to_string(credentials)
                .map_err(|e| wrong(format!("credentials in [nats]: {}: {e}", credentials.display())))?;
            options = options.credentials(&text).map_err(|e| {
                wrong(format!(
                    "credentials in [nats]: {}: {e}; `nsc generate creds` makes such a file",
                    credentials.display()
                ))
            })?;
        }
        if let Some(ca) = &config.ca {
            options = options.add_root_certificates(ca.clone()).require_tls(true);
        }
        let silent = |e: async_nats::ConnectError| {
            Unusable::Silent(format!("no NATS server at {} ({e})", config.servers.join(",")))
        };
        let client = runtime.block_on(options.connect(&config.servers)).map_err(silent)?;
        let context = {
            let _inside = runtime.enter();
            ContextBuilder::new().timeout(PATIENCE).ack_timeout(PATIENCE).build(client.clone())
        };
        Ok(Nats { config, runtime: Arc::new(runtime), client, context })
    }

    fn replicas(&self) -> usize {
        if self.config.single { 1 } else { 3 }
    }

    /// The stream and its bucket, made where there are none, and checked.
    pub fn engine(&self) -> Result<Box<dyn Engine>, Unusable> {
        self.runtime.block_on(async {
            let server = self.client.server_info();
            check::recent(&server.server_name, &server.version)?;
            check::synced(&self.config).await?;
            let token = token(&self.config.federation);
            let bucket = self.bucket(&format!("cahoots-{token}")).await?;
            let (name, subject) = (format!("cahoots-{token}-log"), format!("cahoots.{token}.log"));
            let first =
                object::last_snapshot(&bucket).await.map_err(|Silence(what)| Unusable::Silent(what))?;
            self.stream(&name, &subject, first).await?;
            let context = self.context.clone();
            let stream =
                context.get_stream_no_info(&name).await.map_err(|e| Unusable::Silent(e.to_string()))?;
            let (client, runtime) = (self.client.clone(), self.runtime.clone());
            let engine =
                engine::JetStream { runtime, client, context, stream, bucket, name, subject, silences: 0 };
            Ok(Box::new(engine) as Box<dyn Engine>)
        })
    }

    async fn bucket(&self, name: &str) -> Result<object_store::ObjectStore, Unusable> {
        if let Ok(bucket) = self.context.get_object_store(name).await {
            return Ok(bucket);
        }
        let config =
            object_store::Config { bucket: name.into(), num_replicas: self.replicas(), ..Default::default() };
        let made = self.context.create_object_store(config).await;
        made.map_err(|e| self.cannot_be_made("bucket", name, e.to_string()))
    }

    async fn stream(&self, name: &str, subject: &str, snapshot: Option<u64>) -> Result<(), Unusable> {
        let missing = match self.context.get_stream(name).await {
            Ok(stream) => {
                let config = &stream.cached_info().config;
                let deleted = stream.cached_info().state.deleted_count.unwrap_or(0);
                return check::fit(config, subject, deleted, self.config.single);
            }
            Err(error) => error,
        };
        use jetstream::context::GetStreamErrorKind as Kind;
        let not_found = match missing.kind() {
            Kind::JetStream(error) => error.error_code() == jetstream::ErrorCode::STREAM_NOT_FOUND,
            _ => false,
        };
        if !not_found {
            return Err(Unusable::Silent(format!("no stream {name}: {missing}")));
        }
        if let Some(snapshot) = snapshot.filter(|_| !self.config.accept_rollback) {
            return Err(Unusable::Wrong(NodeError::Stopped(format!(
                "stream {name} is gone, and a snapshot is there that goes to its message {snapshot}: what was acknowledged since is lost to the \
                 servers. Bring back their data; where that is not to be had, start with `--accept-rollback`: the log begins again behind the \
                 snapshot, and clients send again what is lost"
            ))));
        }
        let config = Config {
            name: name.into(),
            subjects: vec![format!("{subject}.*")],
            num_replicas: self.replicas(),
            storage: StorageType::File,
            discard: DiscardPolicy::New,
            deny_delete: true,
            allow_direct: true,
            first_sequence: snapshot.map(|snapshot| snapshot + 1),
            ..Config::default()
        };
        match self.context.create_stream(config).await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.cannot_be_made("stream", name, error.to_string())),
        }
    }

    /// Servers that are about to start cannot make anything either: whoever waits is told what else it may be. One that belongs to no
    /// cluster will not do, however long one waits.
    fn cannot_be_made(&self, what: &str, name: &str, error: String) -> Unusable {
        let words = format!(
            "{what} {name} cannot be made ({error}). With {0} replicas it takes {0} servers with JetStream, in one cluster (`cluster {{ }}` in their \
             files)",
            self.replicas()
        );
        match error.contains("non-clustered") {
            true => Unusable::Wrong(NodeError::Config(format!(
                "{words}; with one server, whose loss would take acknowledged rewards along, start with `--single`"
            ))),
            false => Unusable::Silent(words),
        }
    }

    /// How the coordinators of this federation hear of each other.
    pub fn beacon(&self, key: &LogKey, platform: &Platform) -> Result<Box<dyn Beacon>, Unusable> {
        let subject = format!("cahoots.{}.pulse", token(&self.config.federation));
        let listening = self.runtime.block_on(self.client.subscribe(subject.clone()));
        let listening = listening.map_err(|e| Unusable::Silent(e.to_string()))?;
        Ok(Box::new(beacon::Pulses::start(
            &self.runtime,
            self.client.clone(),
            subject,
            listening,
            key.clone(),
            platform.clone(),
        )))
    }
}

/// Servers that may not be there yet.
pub struct Servers {
    config: NatsConfig,
    key: LogKey,
    platform: Platform,
    connected: Option<Nats>,
}

impl Servers {
    /// Nobody is asked before there is something to ask.
    pub fn new(config: NatsConfig, key: LogKey) -> Servers {
        Servers { config, key, platform: Platform::System, connected: None }
    }

    fn nats(&mut self) -> Result<&Nats, Unusable> {
        let nats = match self.connected.take() {
            Some(nats) => nats,
            None => Nats::connect(self.config.clone())?,
        };
        Ok(self.connected.insert(nats))
    }
}

impl Keeper for Servers {
    fn engine(&mut self) -> Result<Box<dyn Engine>, Unusable> {
        self.nats()?.engine()
    }

    fn beacon(&mut self) -> Result<Box<dyn Beacon>, Unusable> {
        let (key, platform) = (self.key.clone(), self.platform.clone());
        self.nats()?.beacon(&key, &platform)
    }
}
