//! To be filled.

use cahoots_lab::experiment::Experiment;
use cahoots_sim::catalogue::Catalogue;
use pyo3::prelude::*;

pub(crate) fn register(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}

/// Adds what was written in Python.
pub(crate) fn add(_catalogue: &mut Catalogue) {}

/// What was raised in Python code while an experiment ran.
pub(crate) fn take_error(_python: Python<'_>) -> Option<PyErr> {
    None
}

/// Whether an experiment runs Python code.
pub(crate) fn involved(_experiment: &Experiment) -> bool {
    false
}
