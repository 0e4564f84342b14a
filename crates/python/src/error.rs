//! Errors that name the guilty: what was wrong with the input, what could not be done, who stopped it.

use cahoots_core::ParamError;
use cahoots_lab::LabError;
use cahoots_sim::run::RunError;
use pyo3::PyErr;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::import_exception;

// Classes of the package itself: a reader finds them in Python, and so does whoever checks types.
import_exception!(cahoots._errors, CahootsError);
import_exception!(cahoots._errors, InputError);

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
