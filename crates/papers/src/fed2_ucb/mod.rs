//! Shi and Shen (2021), "Federated Multi-Armed Bandits".

mod approximate;
mod exact;

use cahoots_lab::run::Record;

use crate::reproduce::{Paper, Reference};

/// The synthetic experiments of both models. Those on MovieLens are not here.
pub const PAPER: Paper = Paper {
    name: "fed2-ucb",
    title: "Federated Multi-Armed Bandits",
    authors: "Shi and Shen",
    year: 2021,
    items: &[exact::ITEM, approximate::ITEM],
};

/// Who measured the numbers that ours are held against.
const APART: &str = "their rules, written apart";

/// What `python3 crates/papers/src/fed2_ucb/apart.py 300` prints.
const fn apart(mean: f64, sd: f64) -> Reference {
    Reference { mean, sd: Some(sd), runs: 300 }
}

/// What is not the paper's own.
fn note_on_sources() -> &'static str {
    "The paper prints figures and no numbers, and its text was not at hand: instances, constants and schedules are \
     those of the authors' code, claims those of its abstract. That code's rules, written apart in Python \
     (`crates/papers/src/fed2_ucb/apart.py`), gave the numbers beside ours."
}

fn metric(record: &Record, name: &str) -> f64 {
    record.metrics.get(name).copied().unwrap_or_default()
}

/// The paper's regret: of clients that take part, and the loss for communication.
fn regret(record: &Record) -> f64 {
    record.regret - metric(record, "waiting_regret")
}

/// The same without that loss.
fn regret_alone(record: &Record) -> f64 {
    regret(record) - metric(record, "communication_loss")
}
