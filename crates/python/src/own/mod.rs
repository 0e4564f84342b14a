//! One's own ideas: policies, whole algorithms and worlds written in Python, run beside ours. `python/src/cahoots/own.py`
//! reads the classes and says what their methods take; here they become machines and worlds like any other.

mod algorithm;
mod client;
mod codec;
mod convert;
mod fault;
mod holding;
mod message;
mod object;
mod registry;
pub(crate) mod rng;
mod server;
pub(crate) mod simulate;
pub(crate) mod step;
mod world;

use pyo3::prelude::*;

pub(crate) use fault::{error_in, interrupt, resume};
pub(crate) use registry::{add, involved};

/// Ends all that runs of what has been written in Python (`true`), or lets what begins from now on run (`false`).
#[pyfunction]
pub(crate) fn _interrupt(python: Python<'_>, stop: bool) {
    if stop { interrupt(python) } else { resume() }
}

/// How many threads run what has been written in Python.
#[pyfunction]
pub(crate) fn _running() -> usize {
    fault::running()
}

/// Takes in what `cahoots.own` has made of a class.
#[pyfunction]
pub(crate) fn _register(definition: &Bound<'_, PyAny>) -> PyResult<()> {
    registry::insert(definition)
}

/// The names of what has been written in Python, and whether each is a world.
#[pyfunction]
pub(crate) fn _registered() -> Vec<(&'static str, bool)> {
    registry::names()
}
