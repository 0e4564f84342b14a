//! A coordinator in a Python process: `cahoots.Coordinator` is thin over this.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cahoots_node::NodeError;
use cahoots_node::config::ServeFile;
use cahoots_node::control::Order;
use cahoots_node::face::shown_model;
use cahoots_node::hosting::Hosted;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use super::error::refused;
use super::held::{Held, sole};
use super::table::table;
use super::{deployable, described, given, known, wait};
use crate::error::InputError;

/// What errors are said about where there is no file.
const CALLED: &str = "cahoots.Coordinator";

/// A coordinator that runs in this process.
#[pyclass(frozen, module = "cahoots._cahoots")]
pub(crate) struct LiveCoordinator {
    held: Held<Hosted>,
    #[pyo3(get)]
    federation: String,
    #[pyo3(get)]
    address: String,
    #[pyo3(get)]
    page: Option<String>,
    #[pyo3(get)]
    store: PathBuf,
    /// The algorithm, its parameters, the setting and the seed as they were given, in JSON.
    #[pyo3(get)]
    terms: String,
}

#[pymethods]
impl LiveCoordinator {
    /// Starts what a table of a file's keys says.
    #[staticmethod]
    fn open(python: Python<'_>, keys: &Bound<'_, PyDict>) -> PyResult<LiveCoordinator> {
        let keys = table(CALLED, keys)?;
        if let Some(kind) = keys.get("algorithm").and_then(|table| table.get("kind")?.as_str()) {
            deployable(kind)?;
        }
        LiveCoordinator::start(python, &described(CALLED, keys)?, Path::new(CALLED))
    }

    /// Starts what `cahoots serve` would start: a file, variables over it, and values over both.
    #[staticmethod]
    fn from_file(
        python: Python<'_>,
        path: PathBuf,
        over: Vec<(String, String)>,
    ) -> PyResult<LiveCoordinator> {
        let given = given(path, over)?;
        let file = ServeFile::given(&given).map_err(|e| refused(&e))?;
        LiveCoordinator::start(python, &file, given.path())
    }

    /// Does what whoever runs it asks for: an order in JSON, answered in JSON.
    fn order(&self, python: Python<'_>, order: &str) -> PyResult<String> {
        let order: Order = serde_json::from_str(order).map_err(|e| InputError::new_err(e.to_string()))?;
        self.ask(python, |hosted| async move { hosted.coordinator().order(order).await })
    }

    /// The parameters, after these have been changed, in JSON.
    fn params(&self, python: Python<'_>, set: &Bound<'_, PyDict>) -> PyResult<String> {
        let set = table("params", set)?;
        self.ask(python, |hosted| async move { hosted.coordinator().order(Order::Params { set }).await })
    }

    /// What was learned, in JSON.
    fn model(&self, python: Python<'_>) -> PyResult<String> {
        self.ask(python, |hosted| async move { shown_model(hosted.coordinator()).await })
    }

    /// How it went in the last so many seconds, in JSON.
    #[pyo3(signature = (window))]
    fn history(&self, python: Python<'_>, window: Option<f64>) -> PyResult<String> {
        self.ask(python, |hosted| async move { Ok(json!(hosted.coordinator().curves(window).await?)) })
    }

    /// What happened, newest first, in JSON.
    #[pyo3(signature = (client, most))]
    fn journal(&self, python: Python<'_>, client: Option<u32>, most: usize) -> PyResult<String> {
        self.ask(python, |hosted| async move { Ok(json!(hosted.coordinator().journal(client, most).await?)) })
    }

    /// Is it closed, or another process's?
    fn is_closed(&self) -> bool {
        self.held.is_closed()
    }

    /// Writes a snapshot and stops. Does nothing where it is closed, or another process's.
    fn close(&self, python: Python<'_>) -> PyResult<()> {
        let Some(hosted) = self.held.take() else { return Ok(()) };
        let stopped = python.detach(|| sole(hosted).map_or(Ok(()), Hosted::stop));
        stopped.map_err(|e| refused(&e))
    }
}

impl LiveCoordinator {
    fn start(python: Python<'_>, file: &ServeFile, path: &Path) -> PyResult<LiveCoordinator> {
        let hosted = python.detach(|| Hosted::start(known(), file, path)).map_err(|e| refused(&e))?;
        let terms = json!({
            "algorithm": file.algorithm.kind,
            "params": file.algorithm.params,
            "setting": file.setting,
            "seed": file.seed,
        });
        Ok(LiveCoordinator {
            federation: file.federation.clone(),
            address: hosted.url(),
            page: hosted.page().map(Into::into),
            store: file.store.clone(),
            terms: terms.to_string(),
            held: Held::new("coordinator", hosted),
        })
    }

    fn ask<F>(&self, python: Python<'_>, ask: impl FnOnce(Arc<Hosted>) -> F) -> PyResult<String>
    where
        F: Future<Output = Result<Value, NodeError>> + Send,
    {
        let answer = wait::answer(python, ask(self.held.get()?))?;
        answer.map(|value| value.to_string()).map_err(|e| refused(&e))
    }
}
