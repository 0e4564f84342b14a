//! Experiments as tests run them.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::sync::atomic::AtomicBool;

use cahoots_lab::experiment::{Experiment, Source};
use cahoots_lab::results::no_theory;
use cahoots_lab::run::{Options, Start};
use cahoots_lab::{LabError, catalogue, from_text};

/// Nobody interrupts.
pub(crate) static GO_ON: AtomicBool = AtomicBool::new(false);

/// Six entries in two worlds, three seeds each.
pub(crate) const FILE: &str = r#"
name = "small"
horizon = 120
seeds = 3
[environment]
kind = "linear"
clients = 5
dim = 3
arms = [3, 4]
[[algorithm]]
kind = "async-linucb"
ratio = [1.5, inf]
[[algorithm]]
kind = "linucb-alone"
"#;

/// The experiment that this text is, or why it is none.
pub(crate) fn read(text: &str) -> Result<Experiment, LabError> {
    from_text(&catalogue(), Source { name: "x.toml".into(), text: text.into() }, None)
}

/// The experiment that this text is.
pub(crate) fn experiment(text: &str) -> Experiment {
    read(text).unwrap()
}

/// Quietly, with so many threads.
pub(crate) fn options(start: Start, jobs: usize) -> Options<'static> {
    Options {
        jobs,
        start,
        quiet: true,
        command: vec!["cahoots".into()],
        stop: &GO_ON,
        theory: no_theory,
        per_client: false,
        watch: None,
    }
}
