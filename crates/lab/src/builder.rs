//! Experiments from Rust. A builder writes what a file would say and has it read like one: the same checks, the
//! same sweeps, and a manifest that is all it takes to run it again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cahoots_sim::catalogue::Catalogue;
use serde::Serialize;
use toml::{Table, Value};

use crate::error::LabError;
use crate::experiment::{Experiment, Source};
use crate::load::from_text;
use crate::results::no_theory;
use crate::run::{Options, Outcome, Start, run};

/// An experiment in the making. Keys are whatever serialises to what a file would have: a list sweeps there too.
///
/// ```
/// use cahoots_lab::experiment::Experiment;
/// use serde_json::json;
///
/// let experiment = Experiment::builder("quick-look", 200)
///     .seeds(3)
///     .environment("linear", json!({ "clients": 4, "dim": 3, "arms": 5 }))
///     .algorithm("async-linucb", json!({ "ratio": [1.5, 5.0] }))
///     .algorithm("linucb-alone", json!({}));
/// let folder = tempfile::tempdir().unwrap();
/// let outcome = experiment.run(cahoots_lab::catalogue(), &folder.path().join("out")).unwrap();
/// assert_eq!(outcome.summaries.len(), 3);
///
/// let misspelt = Experiment::builder("misspelt", 200).environment("linera", json!({}));
/// let complaint = misspelt.read(cahoots_lab::catalogue()).unwrap_err().to_string();
/// assert!(complaint.contains("did you mean \"linear\"?"), "{complaint}");
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    name: String,
    top: Table,
    algorithms: Vec<Value>,
    unwritable: Option<LabError>,
}

impl Experiment {
    /// An experiment of this name, for so many ticks, with one seed and without a world as yet.
    pub fn builder(name: &str, horizon: u64) -> Builder {
        let mut top = Table::new();
        top.insert("name".into(), name.into());
        top.insert("horizon".into(), Value::Integer(horizon as i64));
        top.insert("seeds".into(), Value::Integer(1));
        Builder { name: name.into(), top, algorithms: Vec::new(), unwritable: None }
    }
}

impl Builder {
    /// With so many seeds.
    pub fn seeds(self, seeds: u32) -> Builder {
        self.key("seeds", Value::Integer(seeds.into()))
    }

    /// Any other key at the top of an experiment file, tables such as `network` and `rewards` among them.
    pub fn key(mut self, key: &str, value: impl Serialize) -> Builder {
        match Value::try_from(value) {
            Ok(value) => drop(self.top.insert(key.into(), value)),
            Err(error) => self.cannot_write(key, &error),
        }
        self
    }

    /// In the world of this kind, with these keys.
    pub fn environment(mut self, kind: &str, keys: impl Serialize) -> Builder {
        if let Some(table) = self.table(kind, keys) {
            self.top.insert("environment".into(), table);
        }
        self
    }

    /// With one more algorithm.
    pub fn algorithm(mut self, kind: &str, params: impl Serialize) -> Builder {
        if let Some(table) = self.table(kind, params) {
            self.algorithms.push(table);
        }
        self
    }

    /// The experiment, checked against what there is.
    pub fn read(mut self, catalogue: impl Into<Arc<Catalogue>>) -> Result<Experiment, LabError> {
        if let Some(error) = self.unwritable {
            return Err(error);
        }
        self.top.insert("algorithm".into(), Value::Array(self.algorithms));
        let source = Source { name: self.name, text: self.top.to_string() };
        from_text(&catalogue.into(), source, None)
    }

    /// Runs it on all cores, into a folder that must not hold another run.
    pub fn run(self, catalogue: impl Into<Arc<Catalogue>>, out: &Path) -> Result<Outcome, LabError> {
        let options = Options {
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            start: Start::Fresh,
            quiet: true,
            command: Vec::new(),
            stop: &AtomicBool::new(false),
            theory: no_theory,
            per_client: false,
            watch: None,
        };
        run(&self.read(catalogue)?, out, &options)
    }

    fn table(&mut self, kind: &str, keys: impl Serialize) -> Option<Value> {
        let written = Table::try_from(keys).map_err(|error| self.cannot_write(kind, &error));
        let mut table = Table::from_iter([("kind".to_string(), Value::from(kind))]);
        table.extend(written.ok()?);
        Some(Value::Table(table))
    }

    fn cannot_write(&mut self, what: &str, error: &toml::ser::Error) {
        let error = LabError::Input(format!("{what}: these keys cannot be written in TOML: {error}"));
        self.unwritable.get_or_insert(error);
    }
}
