//! Experiments.

pub mod figure;
