//! A live federation inside a Python process: a client beside an app, a coordinator for tests and notebooks, keys.
//! Both are the very nodes that the command runs; what is here turns Python's values into theirs, lets other threads run
//! meanwhile, and keeps a forked process from touching what its parent holds.

pub(crate) mod client;
pub(crate) mod coordinator;
mod error;
mod held;
pub(crate) mod keys;
mod offer;
mod table;
mod wait;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use cahoots_node::config::Given;
use cahoots_node::{Known, logs};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::error::InputError;

/// What can be deployed.
fn known() -> &'static Arc<Known> {
    static KNOWN: OnceLock<Arc<Known>> = OnceLock::new();
    KNOWN.get_or_init(|| Arc::new(Known::new(cahoots_algorithms::registry::ours())))
}

/// Names of the algorithms that can be deployed.
#[pyfunction]
pub(crate) fn live_algorithms() -> Vec<&'static str> {
    known().algorithms.names().collect()
}

/// Nodes write log lines to stderr from now on.
#[pyfunction]
pub(crate) fn live_logs(filter: Option<&str>, format: Option<&str>) -> PyResult<()> {
    let format = format.map(str::parse).transpose().map_err(InputError::new_err)?;
    // The command calls it by its flag.
    let words = |e: cahoots_node::NodeError| e.to_string().replacen("--log:", "level:", 1);
    logs::start(filter, format).map(drop).map_err(|e| InputError::new_err(words(e)))
}

/// Refuses the name of an algorithm that cannot be deployed, and says which can.
fn deployable(name: &str) -> PyResult<()> {
    let algorithms = &known().algorithms;
    if algorithms.get(name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = algorithms.names().collect();
    Err(InputError::new_err(format!(
        "there is no algorithm {name:?} that can be deployed: there are {}. Policies and algorithms written in Python run in \
         cahoots.run and not in a live federation, whose members would all need the same code: write it in Rust to deploy it",
        names.join(", ")
    )))
}

/// What a node's file would say, from a table of the same keys.
fn described<T: DeserializeOwned>(what: &str, table: toml::Table) -> PyResult<T> {
    let wrong = |e: toml::de::Error| InputError::new_err(format!("{what}: {}", e.message().trim()));
    table.try_into().map_err(wrong)
}

/// A file, the variables of the environment over it, and these values over both.
fn given(path: PathBuf, over: Vec<(String, String)>) -> PyResult<Given> {
    let mut given = Given::file(path).with_environment().map_err(|e| error::refused(&e))?;
    for (key, value) in over {
        given = given.set(&format!("{key}={value}")).map_err(|e| error::refused(&e))?;
    }
    Ok(given)
}
