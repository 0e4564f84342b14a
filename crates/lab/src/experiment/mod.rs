//! Experiment files: TOML in, checked entries out. Whatever is wrong is said
//! with its line and its remedy, before anything runs.
//!
//! `tree` keeps the place of every value, `shape` says what a key takes (from
//! the JSON schemas of environments and algorithms), `validate` compares the two,
//! `sweep` unfolds grids, `read` puts an experiment together.

mod inputs;
pub(crate) mod label;
mod memory;
mod published;
mod read;
mod sections;
mod shape;
mod source;
mod suggest;
mod sweep;
mod tree;
mod validate;
mod value;

use std::path::PathBuf;
use std::sync::Arc;

use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::run::{Params, Scenario};
use cahoots_sim::world::objective::Objective;

pub use inputs::{Input, Inputs};
pub use memory::Memory;
pub use published::json_schema;
pub use read::read;
pub use shape::{Field, Record, Shape};
pub use source::{Complaints, Source};
pub use suggest::{nearest, remedy};
pub use value::to_json;

/// An experiment that can be run: everything in it has been checked.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// What it is called; names the folder of its results.
    pub name: String,
    /// A line for figures.
    pub title: Option<String>,
    /// Seeds of the runs of each entry.
    pub seeds: Vec<u64>,
    /// The worlds, in the order of the sweeps.
    pub stages: Vec<Arc<Stage>>,
    /// What is run: every algorithm in every world.
    pub entries: Vec<Entry>,
    /// The file it came from.
    pub source: Source,
    /// The folder that paths in it are relative to; empty for the current one.
    pub folder: PathBuf,
    /// The files that it names.
    pub inputs: Vec<Input>,
    /// What its names mean: the algorithms and worlds that it was checked against.
    pub catalogue: Arc<Catalogue>,
}

/// A world to run algorithms in.
#[derive(Clone, Debug)]
pub struct Stage {
    /// What sets it apart from the other stages; empty where there is only one.
    pub label: String,
    /// World, network, horizon.
    pub scenario: Scenario,
    /// Decisions of one run, as far as known in advance.
    pub steps: u64,
}

/// One algorithm with one choice of parameters in one world.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it is called; no two entries share a label.
    pub label: String,
    /// The label without what is said of the world.
    pub short_label: String,
    /// What all entries of its `[[algorithm]]` block are called.
    pub block_label: String,
    /// Number of its `[[algorithm]]` block, from 0.
    pub block: usize,
    /// Number of its stage, from 0.
    pub stage_index: usize,
    /// Its world.
    pub stage: Arc<Stage>,
    /// The algorithm's name.
    pub algorithm: String,
    /// Parameters, defaults filled in.
    pub params: Params,
    /// What its regret is measured against.
    pub objective: Objective,
    /// What it clips rewards to, where it does.
    pub clips: Option<(f64, f64)>,
    /// What memory a run takes, about.
    pub memory: Memory,
    /// The keys of the block that hold several values, and this entry's.
    pub swept: Vec<(String, toml::Value)>,
}
