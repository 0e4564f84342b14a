//! `cahoots._cahoots`: what the Python package has of Rust. Everything a user imports is in `python/src/cahoots`, which is
//! thin over this; nothing here is for users directly.

mod data;
mod error;
mod learner;
mod live;
mod own;
mod run;

use pyo3::pymodule;

/// The compiled half of the package. Its stubs are made from this list (`maturin generate-stubs`).
#[pymodule]
mod _cahoots {
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
