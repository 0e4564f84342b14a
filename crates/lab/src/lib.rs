//! The laboratory: experiment files, runs, results and figures.

pub mod experiment;
pub mod figure;
