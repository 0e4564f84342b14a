//! What whoever runs a federation does to its nodes: look, admit and dismiss, drain, copy, put back, start anew. Nodes
//! are named by the file that they were started with.

mod check;
mod inspect;
mod remote;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, REGISTERED, RESTORED};
use crate::config::{ClientFile, Given, ServeFile, streams};
use crate::control::{Order, ask};
use crate::error::NodeError;
use crate::live::Known;
use crate::platform::{Bug, Platform};
use crate::privacy::Account;
use crate::secret;
use crate::store::{Batch, Next, Store, StoreError, Sync};

pub use check::{Checked, check};
pub use inspect::inspect;
pub use remote::get;

/// Whose file it is.
pub enum NodeFile {
    /// A coordinator's.
    Coordinator(Box<ServeFile>),
    /// A client's.
    Client(Box<ClientFile>),
}

impl NodeFile {
    /// Reads the file of a coordinator or of a client, whichever it is.
    pub fn read(given: impl Into<Given>) -> Result<NodeFile, NodeError> {
        let given = given.into();
        // What only clients have.
        if given.says("coordinator") {
            Ok(NodeFile::Client(Box::new(ClientFile::given(&given)?)))
        } else {
            Ok(NodeFile::Coordinator(Box::new(ServeFile::given(&given)?)))
        }
    }

    /// Its store.
    pub fn store(&self) -> &Path {
        match self {
            NodeFile::Coordinator(file) => &file.store,
            NodeFile::Client(file) => &file.store,
        }
    }

    fn owner(&self) -> String {
        match self {
            NodeFile::Coordinator(file) => crate::coordinator::owner(&file.federation),
            NodeFile::Client(file) => crate::client::owner(&file.federation, file.client),
        }
    }

    /// Asks the running node.
    pub fn ask(&self, order: &Order) -> Result<Value, NodeError> {
        ask(self.store(), order)?.ok_or_else(|| {
            NodeError::Request(format!(
                "nothing runs with the store {}: start it with `cahoots {} FILE`",
                self.store().display(),
                match self {
                    NodeFile::Coordinator(_) => "serve",
                    NodeFile::Client(_) => "client",
                }
            ))
        })
    }

    fn client(&self, command: &str) -> Result<&ClientFile, NodeError> {
        match self {
            NodeFile::Client(file) => Ok(file),
            NodeFile::Coordinator(serve) if serve.log.is_some() => Err(NodeError::Config(format!(
                "{command} is for clients: give a client's file. A coordinator that leads hands over to one that stands by when it is told to \
                 stop (SIGTERM)"
            ))),
            NodeFile::Coordinator(_) => {
                Err(NodeError::Config(format!("{command} is for clients: give a client's file")))
            }
        }
    }

    /// Refuses what is done to a store, where NATS servers keep the log: there is none here, and one that is made is never read.
    pub(crate) fn log_is_here(&self) -> Result<(), NodeError> {
        let NodeFile::Coordinator(serve) = self else { return Ok(()) };
        let Some(log) = &serve.log else { return Ok(()) };
        let (stream, bucket) = streams(&serve.federation);
        Err(NodeError::Config(format!(
            "the log of {:?} is kept by {log} and not in a store here: look at it with `cahoots status`, copy it with the servers' own tools \
             (`nats stream backup {bucket} DIR`, then `nats stream backup {stream} DIR`, and keep the file of `key` in [nats] beside them), bring it \
             back with `nats stream restore`",
            serve.federation
        )))
    }

    fn not_running(&self) -> Result<(), NodeError> {
        match ask(self.store(), &Order::Status) {
            Ok(None) => Ok(()),
            _ => Err(NodeError::Request(format!(
                "a node runs with the store {}: stop it first",
                self.store().display()
            ))),
        }
    }
}

/// Sends what a client has learned and not sent yet, whether it runs or not, and waits until the coordinator has it.
pub fn drain(known: &Arc<Known>, given: impl Into<Given>, patience: Duration) -> Result<Value, NodeError> {
    let given = given.into();
    let file = NodeFile::read(&given)?;
    let client = file.client("drain")?;
    if let Some(answer) = ask(&client.store, &Order::Drain { seconds: patience.as_secs_f64() })? {
        return Ok(answer);
    }
    let running = Client::open(client.config(known, given.path())?)?;
    let until = Instant::now() + patience;
    while !running.status().connected {
        if Instant::now() >= until {
            let why = running.status().trouble.unwrap_or_else(|| "it does not answer".into());
            return Err(NodeError::Network(format!(
                "the coordinator at {} was not reached: {why}",
                client.coordinator
            )));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let drained = running.drain(until.saturating_duration_since(Instant::now()))?;
    running.stop();
    Ok(json!(drained))
}

/// Copies the store of a coordinator, running or not, or of a client that does not run.
pub fn backup(given: impl Into<Given>, to: &Path) -> Result<(), NodeError> {
    let file = NodeFile::read(given)?;
    file.log_is_here()?;
    let to = std::path::absolute(to).map_err(|e| NodeError::Config(format!("{}: {e}", to.display())))?;
    if let NodeFile::Coordinator(serve) = &file
        && ask(&serve.store, &Order::Backup { to: to.clone() })?.is_some()
    {
        return Ok(());
    }
    if !file.store().exists() {
        return Err(NodeError::Config(format!("there is no store {}", file.store().display())));
    }
    let (store, _) = Store::open(file.store(), &file.owner(), Sync::Disk)?;
    Ok(store.backup(&to)?)
}

/// Puts a copy in the place of a store that is not in use; says where what was there is now.
pub fn restore(given: impl Into<Given>, from: &Path) -> Result<Option<PathBuf>, NodeError> {
    let file = NodeFile::read(given)?;
    file.log_is_here()?;
    file.not_running()?;
    if !from.exists() {
        return Err(NodeError::Config(format!("there is no copy {}", from.display())));
    }
    let client = matches!(file, NodeFile::Client(_));
    Ok(put_back(&Platform::System, from, file.store(), &file.owner(), client)?)
}

/// A copy takes the place of a store, which is put aside; says where. Whoever is interrupted does it again.
pub(crate) fn put_back(
    platform: &Platform,
    from: &Path,
    store: &Path,
    owner: &str,
    client: bool,
) -> Result<Option<PathBuf>, StoreError> {
    // The copy is looked at before anything is moved.
    let (copy, _) = Store::open_on(platform, from, owner, Sync::Disk)?;
    let known = if client { Some(account_of(&copy, from)?) } else { None };
    let before = known.as_ref().and_then(|known| account_before(platform, store, owner, known));
    let aside = Store::set_aside_on(platform, store, Next::Copy)?;
    copy.backup(store)?;
    if let Some(known) = known {
        let (mut store, _) = Store::open_on(platform, store, owner, Sync::Disk)?;
        let mut batch = Batch::default();
        match before {
            Some(before) => batch.set(Account::KEY, known.put_back(before).save()),
            // What was put aside may have gone on from this copy: its account is charged for that when it starts.
            None => batch.set(RESTORED, vec![1]),
        }
        store.commit(&batch)?;
    }
    Ok(aside)
}

fn account_of(store: &Store, path: &Path) -> Result<Account, StoreError> {
    let damaged = |what: String| StoreError::Damaged { path: path.into(), what };
    let mut account = Account::restore(store.get(Account::KEY)?).map_err(damaged)?;
    if store.get(RESTORED)?.is_some_and(|flag| flag == [1]) {
        account.found_old();
    }
    Ok(account)
}

/// The account of the store that a copy takes the place of, if that can be read. Where there is none, or it knows no more
/// than the copy, restoring may have been interrupted: then what was put aside last is asked.
fn account_before(platform: &Platform, store: &Path, owner: &str, copy: &Account) -> Option<Account> {
    let read = |path: &Path| {
        let (store, _) = Store::open_on(platform, path, owner, Sync::Disk).ok()?;
        account_of(&store, path).ok()
    };
    let here = if platform.exists(store) { Some(read(store)?) } else { None };
    let aside = || last_aside(platform, store).and_then(|path| read(&path));
    here.clone().filter(|account| account != copy).or_else(aside).or(here)
}

fn last_aside(platform: &Platform, store: &Path) -> Option<PathBuf> {
    let name = store.file_name()?.to_str()?;
    let old = |n: u32| store.with_file_name(format!("{name}.old-{n}"));
    (1..).map(old).take_while(|path| platform.exists(path)).last()
}

/// A client forgets all it knows; says where that is now. Its number must be free when it comes back.
pub fn reset(given: impl Into<Given>) -> Result<Option<PathBuf>, NodeError> {
    let file = NodeFile::read(given)?;
    file.client("reset")?;
    file.not_running()?;
    Ok(Store::set_aside(file.store())?)
}

/// A client starts anew under its number, which it proves to be its own: for one whose store is an old copy, or whose
/// federation was started anew. Says where its store is now.
pub fn rejoin(given: impl Into<Given>) -> Result<Option<PathBuf>, NodeError> {
    let file = NodeFile::read(given)?;
    file.client("rejoin")?;
    file.not_running()?;
    let missing = || {
        NodeError::Config(format!(
            "there is no store {} to rejoin with; `cahoots members FILE release NUMBER` at the coordinator lets a new one in",
            file.store().display()
        ))
    };
    if !file.store().exists() {
        return Err(missing());
    }
    start_anew(&Platform::System, file.store(), &file.owner())?.ok_or_else(missing)
}

/// A store that keeps nothing but whose it is, and what arms its app has registered, takes the place of one that is put aside; says where. `None` where there
/// was none.
pub(crate) fn start_anew(
    platform: &Platform,
    path: &Path,
    owner: &str,
) -> Result<Option<Option<PathBuf>>, StoreError> {
    let (store, _) = Store::open_on(platform, path, owner, Sync::Disk)?;
    let Some(instance) = store.get("instance")? else { return Ok(None) };
    let proof = store.get(secret::PROOF)?;
    let mut batch = Batch::default();
    batch.set("instance", instance);
    if let Some(proof) = proof {
        batch.set(secret::PROOF, proof);
    }
    batch.set("rejoins", vec![1]);
    // What its app has told of stays.
    store.list(REGISTERED)?.into_iter().for_each(|(name, arm)| batch.set(name, arm));
    // A new machine without data: what was spent stays on record.
    let account = account_of(&store, path)?;
    if account != Account::default() {
        batch.set(Account::KEY, account.next_life().save());
    }
    if platform.has(Bug::ReuseNoise)
        && let Some(secret) = store.get("secret")?
    {
        batch.set("secret", secret);
    }
    drop(store);
    let aside = Store::set_aside_on(platform, path, Next::Nothing)?;
    let (mut fresh, _) = Store::open_on(platform, path, owner, Sync::Disk)?;
    fresh.commit(&batch)?;
    Ok(Some(aside))
}
