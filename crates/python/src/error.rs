//! Errors that name the guilty: what was wrong with the input, what could not be done, who stopped it.

use cahoots_core::ParamError;
use cahoots_lab::LabError;
use cahoots_node::NodeError;
use cahoots_sim::run::RunError;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;

create_exception!(
    cahoots,
    CahootsError,
    PyException,
    "Something could not be done; the message says what and why."
);
create_exception!(cahoots, InputError, PyValueError, "The input was wrong; the message says how to mend it.");

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let python = module.py();
    module.add("CahootsError", python.get_type::<CahootsError>())?;
    module.add("InputError", python.get_type::<InputError>())
}

/// The exception for what the laboratory says.
pub(crate) fn lab(error: LabError) -> PyErr {
    match error {
        LabError::Input(text) => InputError::new_err(text),
        LabError::Failed(text) => CahootsError::new_err(text),
        LabError::Stopped(text) => PyKeyboardInterrupt::new_err(text),
    }
}

/// The exception for parameters that cannot be.
pub(crate) fn params(error: &ParamError) -> PyErr {
    InputError::new_err(error.to_string())
}

/// The exception for a run that cannot be.
pub(crate) fn run(error: &RunError) -> PyErr {
    InputError::new_err(error.to_string())
}

/// The exception for what a node says.
pub(crate) fn node(error: &NodeError) -> PyErr {
    match error {
        NodeError::Config(text) => InputError::new_err(text.clone()),
        other => CahootsError::new_err(other.to_string()),
    }
}
