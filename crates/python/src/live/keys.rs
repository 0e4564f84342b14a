//! Certificates for a federation: what `cahoots keys` does.

use std::path::PathBuf;

use cahoots_node::identity::authority::Keys;
use cahoots_node::identity::{Role, show};
use pyo3::prelude::*;

use super::error::refused;

/// An authority, and the coordinator's certificate; gives the coordinator's folder.
#[pyfunction]
pub(crate) fn keys_init(
    python: Python<'_>,
    folder: PathBuf,
    federation: String,
    hosts: Vec<String>,
    days: u32,
) -> PyResult<PathBuf> {
    let made = python.detach(|| Keys::init(&folder, &federation, &hosts, days));
    made.map(|_| folder.join("coordinator")).map_err(|e| refused(&e))
}

/// A certificate for a client, new or renewed; gives its folder.
#[pyfunction]
pub(crate) fn keys_client(python: Python<'_>, folder: PathBuf, client: u32, days: u32) -> PyResult<PathBuf> {
    python.detach(|| Keys::open(&folder)?.client(client, days)).map_err(|e| refused(&e))
}

/// A new certificate for the coordinator; gives its folder.
#[pyfunction]
pub(crate) fn keys_server(
    python: Python<'_>,
    folder: PathBuf,
    hosts: Vec<String>,
    days: u32,
) -> PyResult<PathBuf> {
    python.detach(|| Keys::open(&folder)?.server(&hosts, days)).map_err(|e| refused(&e))
}

/// A member's certificates are not believed any more (without a number, the coordinator's); gives how many there were.
#[pyfunction]
#[pyo3(signature = (folder, client))]
pub(crate) fn keys_revoke(python: Python<'_>, folder: PathBuf, client: Option<u32>) -> PyResult<usize> {
    let role = client.map_or(Role::Coordinator, Role::Client);
    python.detach(|| Keys::open(&folder)?.revoke(role)).map_err(|e| refused(&e))
}

/// A new authority, or the end of a rotation; gives how many authorities are not believed any more.
#[pyfunction]
pub(crate) fn keys_rotate(python: Python<'_>, folder: PathBuf, finish: bool) -> PyResult<usize> {
    let rotated = python.detach(|| {
        let keys = Keys::open(&folder)?;
        if finish { keys.finish() } else { keys.rotate().map(|()| 0) }
    });
    rotated.map_err(|e| refused(&e))
}

/// For whom certificates are, for what, and until when.
#[pyfunction]
pub(crate) fn keys_show(path: PathBuf) -> PyResult<String> {
    show(&path).map_err(|e| refused(&e))
}
