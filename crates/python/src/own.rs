//! To be filled.

use cahoots_lab::experiment::Experiment;
use cahoots_sim::catalogue::Catalogue;
use pyo3::prelude::*;

pub(crate) fn register(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}

/// Adds what was written in Python.
pub(crate) fn add(_catalogue: &mut Catalogue) {}

/// The exception that a failure's text names.
pub(crate) fn error_in(_text: &str) -> Option<PyErr> {
    None
}

/// Leaves all runs of Python code.
pub(crate) fn interrupt(_python: Python<'_>) {}

/// Lets runs go on that begin after an interruption.
pub(crate) fn resume() {}

/// Whether an experiment runs Python code.
pub(crate) fn involved(_experiment: &Experiment) -> bool {
    false
}
