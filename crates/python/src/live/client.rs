//! A client beside a Python app: `cahoots.Client` is thin over this.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cahoots_core::decision::Taken;
use cahoots_node::NodeError;
use cahoots_node::client::{Ack, Client, ClientConfig, Drained, NewArm, Registered};
use cahoots_node::config::ClientFile;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde::Serialize;

use super::error::refused;
use super::held::{Held, sole};
use super::offer::{Credit, Named, Offer, told};
use super::table::table;
use super::{deployable, described, given, known, wait};
use crate::error::CahootsError;

/// What errors are said about where there is no file.
const CALLED: &str = "cahoots.Client";

/// Stands for a coordinator until it is left out again.
const NOBODY: &str = "http://127.0.0.1:1";

/// A client that runs in this process.
#[pyclass(frozen, module = "cahoots._cahoots")]
pub(crate) struct LiveClient {
    held: Held<Client>,
    closing: AtomicBool,
    #[pyo3(get)]
    federation: String,
    #[pyo3(get)]
    client: u32,
    #[pyo3(get)]
    store: PathBuf,
    #[pyo3(get)]
    coordinator: Option<String>,
    /// Seconds for which what is unsent is sent when it closes, as its file says.
    #[pyo3(get)]
    drains: Option<f64>,
    /// Decisions, or rewards, in one call.
    #[pyo3(get)]
    batch: usize,
}

/// An arm that is to be known by an id: its features, or its number.
type Arm<'py> = (String, Option<PyReadonlyArray1<'py, f64>>, Option<u32>);

/// An arm that is known by an id: its features, or its number.
type KnownArm = (String, Option<Vec<f64>>, Option<u32>);

#[pymethods]
impl LiveClient {
    /// Opens what a table of a file's keys says; without `coordinator` it keeps to itself.
    #[staticmethod]
    fn open(python: Python<'_>, keys: &Bound<'_, PyDict>) -> PyResult<LiveClient> {
        let mut keys = table(CALLED, keys)?;
        let alone = !keys.contains_key("coordinator");
        if alone {
            keys.insert("coordinator".into(), NOBODY.into());
        }
        let terms = keys.get("terms").and_then(|terms| terms.get("algorithm"));
        if let Some(kind) = terms.and_then(|algorithm| algorithm.get("kind")).and_then(toml::Value::as_str) {
            deployable(kind)?;
        }
        let file: ClientFile = described(CALLED, keys)?;
        LiveClient::start(python, &file, Path::new(CALLED), alone)
    }

    /// Opens what `cahoots client` would open: a file, variables over it, and values over both.
    #[staticmethod]
    fn from_file(python: Python<'_>, path: PathBuf, over: Vec<(String, String)>) -> PyResult<LiveClient> {
        let given = given(path, over)?;
        let file = ClientFile::given(&given).map_err(|e| refused(&e))?;
        LiveClient::start(python, &file, given.path(), false)
    }

    /// One decision; see [`Offer::read`].
    fn decide<'py>(&self, python: Python<'py>, asked: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
        let (client, offer) = (self.held.get()?, Offer::read(asked)?);
        let reply = python.detach(|| {
            offer.check(&client)?;
            client.ask(&offer.ask(&offer.named()))
        });
        told(python, reply.map_err(|e| refused(&e))?)
    }

    /// Several decisions: all of them, or none.
    fn decide_all<'py>(
        &self,
        python: Python<'py>,
        asked: Vec<Bound<'py, PyTuple>>,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let client = self.held.get()?;
        let offers = asked.iter().map(Offer::read).collect::<PyResult<Vec<_>>>()?;
        let replies = python.detach(|| {
            for (index, offer) in offers.iter().enumerate() {
                let one_of =
                    |error: NodeError| NodeError::OneOf { index, of: offers.len(), error: error.into() };
                offer.check(&client).map_err(one_of)?;
            }
            let named: Vec<_> = offers.iter().map(Offer::named).collect();
            let asks: Vec<_> = offers.iter().zip(&named).map(|(offer, named)| offer.ask(named)).collect();
            client.decide_all(&asks)
        });
        replies.map_err(|e| refused(&e))?.into_iter().map(|reply| told(python, reply)).collect()
    }

    /// A reward or a part of one, once it is on disk: "learned", "kept" or "repeated".
    #[pyo3(signature = (text, event, value, part))]
    fn reward(
        &self,
        python: Python<'_>,
        text: String,
        event: bool,
        value: f64,
        part: Option<String>,
    ) -> PyResult<&'static str> {
        let client = self.held.get()?;
        let credit = Credit::new(Named::of(text, event)?, value, part);
        let ack = wait::answer(python, client.reward_async(&credit.reward()))?;
        ack.map(acknowledged).map_err(|e| refused(&e))
    }

    /// Several rewards, each with an answer of its own: its word, or the exception.
    fn reward_all<'py>(
        &self,
        python: Python<'py>,
        rewards: Vec<(String, bool, f64, Option<String>)>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let client = self.held.get()?;
        let none = rewards.is_empty();
        let read: Vec<PyResult<Credit>> = rewards
            .into_iter()
            .map(|(text, event, value, part)| Ok(Credit::new(Named::of(text, event)?, value, part)))
            .collect();
        let good: Vec<_> = read.iter().flatten().map(Credit::reward).collect();
        let acks = if good.is_empty() && !none {
            Vec::new()
        } else {
            wait::answer(python, client.reward_all_async(&good))?.map_err(|e| refused(&e))?
        };
        let mut acks = acks.into_iter();
        let answers = read.iter().map(|read| match read {
            Err(error) => Ok(error.value(python).clone().into_any()),
            Ok(_) => match acks.next() {
                Some(Ok(ack)) => Ok(acknowledged(ack).into_pyobject(python)?.into_any()),
                Some(Err(error)) => Ok(refused(&error).value(python).clone().into_any()),
                None => Err(CahootsError::new_err("fewer answers than rewards")),
            },
        });
        answers.collect()
    }

    /// A deferred decision counts from now on: "activated" or "repeated", once that is on disk.
    fn activate(&self, python: Python<'_>, text: String, event: bool) -> PyResult<&'static str> {
        let (client, named) = (self.held.get()?, Named::of(text, event)?);
        let taken = wait::answer(python, client.activate_async(named.which()))?;
        taken.map(|taken| fresh(taken, "activated")).map_err(|e| refused(&e))
    }

    /// A decision is given up: "abandoned" or "repeated".
    fn abandon(&self, python: Python<'_>, text: String, event: bool) -> PyResult<&'static str> {
        let (client, named) = (self.held.get()?, Named::of(text, event)?);
        let taken = python.detach(|| client.abandon(named.which()));
        taken.map(|taken| fresh(taken, "abandoned")).map_err(|e| refused(&e))
    }

    /// Arms that are then known by their ids, and others that are gone; gives how many there are, once that is on disk.
    fn register(&self, python: Python<'_>, arms: Vec<Arm<'_>>, retire: Vec<String>) -> PyResult<usize> {
        let client = self.held.get()?;
        let arms: Vec<(String, Vec<f64>, Option<u32>)> = arms
            .into_iter()
            .map(|(id, features, index)| {
                (id, features.map(|features| features.as_array().to_vec()).unwrap_or_default(), index)
            })
            .collect();
        let come: Vec<NewArm<'_>> = arms
            .iter()
            .map(|(id, features, index)| NewArm {
                id,
                is: index.map_or(Registered::Features(features), Registered::Index),
            })
            .collect();
        let go: Vec<&str> = retire.iter().map(String::as_str).collect();
        wait::answer(python, client.register_async(&come, &go))?.map_err(|e| refused(&e))
    }

    /// All arms that are registered: id, features, number.
    fn registered(&self, python: Python<'_>) -> PyResult<Vec<KnownArm>> {
        self.look(python, |client| {
            client.registered(|id, is| match is {
                Registered::Features(features) => (id.into(), Some(features.to_vec()), None),
                Registered::Index(index) => (id.into(), None, Some(index)),
            })
        })
    }

    /// What it is doing, in JSON.
    fn status(&self, python: Python<'_>) -> PyResult<String> {
        self.look(python, |client| written(&client.status()))
    }

    /// What federation gained it, in JSON.
    fn gain(&self, python: Python<'_>) -> PyResult<String> {
        self.look(python, |client| written(&client.gain()))
    }

    /// What is promised, spent and allowed of its users' privacy, in JSON.
    fn privacy(&self, python: Python<'_>) -> PyResult<String> {
        self.look(python, |client| written(&client.privacy()))
    }

    /// Decisions and rewards over time, in JSON.
    #[pyo3(signature = (window))]
    fn history(&self, python: Python<'_>, window: Option<u64>) -> PyResult<String> {
        self.look(python, |client| written(&client.history(window)))
    }

    /// What someone should look after.
    fn problems(&self, python: Python<'_>) -> PyResult<Vec<String>> {
        self.look(python, |client| client.problems())
    }

    /// Waits until the federation's terms are known.
    fn wait(&self, python: Python<'_>, timeout: f64) -> PyResult<()> {
        let client = self.held.get()?;
        let found = wait::until(python, wait::seconds("timeout", timeout)?, || match client.offered() {
            Err(NodeError::NotJoined) if self.closing.load(Ordering::Relaxed) => Some(Err(shut())),
            Err(NodeError::NotJoined) => None,
            known => Some(known.map(drop)),
        })?;
        match found {
            Some(joined) => joined.map_err(|e| refused(&e)),
            None => {
                let status = client.status();
                let why: Vec<String> = status.problems.into_iter().chain(status.trouble).collect();
                let why = if why.is_empty() { "no coordinator has answered".into() } else { why.join("; ") };
                Err(CahootsError::new_err(format!(
                    "the federation's terms are not known after {timeout} s: {why}"
                )))
            }
        }
    }

    /// Sends what is not sent yet, and waits until the coordinator has it: sent, left, unconfirmed.
    fn drain(&self, python: Python<'_>, timeout: f64) -> PyResult<(u64, u64, u64)> {
        let client = self.held.get()?;
        self.drained(python, &client, wait::seconds("timeout", timeout)?)
    }

    /// Is it closed, or another process's?
    fn is_closed(&self) -> bool {
        self.held.is_closed()
    }

    /// Writes a snapshot and stops, once other threads' calls have ended; before that, sends for so many seconds what is not
    /// sent. Does nothing where it is closed, or another process's.
    #[pyo3(signature = (drain))]
    fn close(&self, python: Python<'_>, drain: Option<f64>) -> PyResult<()> {
        let patience = drain.map(|seconds| wait::seconds("drain", seconds)).transpose()?;
        let Some(client) = self.held.take() else { return Ok(()) };
        let drained = match patience.filter(|_| client.offered().is_ok()) {
            Some(patience) => self.drained(python, &client, patience).map(drop),
            None => Ok(()),
        };
        self.closing.store(true, Ordering::Relaxed);
        python.detach(|| sole(client).map(Client::stop));
        drained
    }
}

impl LiveClient {
    fn start(python: Python<'_>, file: &ClientFile, path: &Path, alone: bool) -> PyResult<LiveClient> {
        let opened = python.detach(|| {
            let (config, _) = file.may_start(known(), path)?;
            let coordinator = config.coordinator.filter(|_| !alone);
            Client::open(ClientConfig { coordinator, ..config })
        });
        Ok(LiveClient {
            held: Held::new("client", opened.map_err(|e| refused(&e))?),
            closing: AtomicBool::new(false),
            federation: file.federation.clone(),
            client: file.client,
            store: file.store.clone(),
            coordinator: Some(file.coordinator.to_string()).filter(|_| !alone),
            drains: file.drain,
            batch: file.limits.batch,
        })
    }

    fn look<T: Send>(&self, python: Python<'_>, look: impl FnOnce(&Client) -> T + Send) -> PyResult<T> {
        let client = self.held.get()?;
        Ok(python.detach(|| look(&client)))
    }

    fn drained(&self, python: Python<'_>, client: &Client, patience: Duration) -> PyResult<(u64, u64, u64)> {
        let begun = python.detach(|| client.drain(Duration::ZERO));
        let Drained { sent, left, mut unconfirmed } = begun.map_err(|e| refused(&e))?;
        let found = wait::until(python, patience, || {
            unconfirmed = client.status().unconfirmed;
            match unconfirmed {
                0 => Some(Ok(())),
                _ if self.closing.load(Ordering::Relaxed) => Some(Err(shut())),
                _ => None,
            }
        })?;
        found.transpose().map_err(|e| refused(&e))?;
        Ok((sent, left, unconfirmed))
    }
}

fn shut() -> NodeError {
    NodeError::Stopped("this client was closed meanwhile".into())
}

fn written(told: &impl Serialize) -> String {
    serde_json::to_string(told).unwrap_or_else(|_| "null".into())
}

fn acknowledged(ack: Ack) -> &'static str {
    match ack {
        Ack::Learned => "learned",
        Ack::Repeated => "repeated",
        Ack::Kept => "kept",
    }
}

fn fresh(taken: Taken<()>, word: &'static str) -> &'static str {
    match taken {
        Taken::Fresh(()) => word,
        Taken::Repeated => "repeated",
    }
}
