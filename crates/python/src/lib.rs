//! `cahoots._cahoots`: what the Python package has of Rust. Everything a user imports is in `python/src/cahoots`, which is
//! thin over this; nothing here is for users directly.

mod data;
mod error;
mod learner;
mod live;
mod own;
mod papers;
mod run;

use pyo3::prelude::*;

/// The compiled half of the package.
#[pymodule]
fn _cahoots(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(module)?;
    run::register(module)?;
    own::register(module)?;
    learner::register(module)?;
    live::register(module)?;
    data::register(module)?;
    papers::register(module)
}
