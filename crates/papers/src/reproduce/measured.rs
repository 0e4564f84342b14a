//! What the experiments of an item gave, entry by entry and seed by seed.

use cahoots_figure::{Point, Series};
use cahoots_lab::LabError;
use cahoots_lab::experiment::Experiment;
use cahoots_lab::results::{Estimate, with_band};
use cahoots_lab::run::{Curve, Record};
use cahoots_sim::simulated::Graph;

/// What the experiments of an item gave.
#[derive(Debug, Default)]
pub struct Measured {
    experiments: Vec<MeasuredExperiment>,
}

/// What one experiment gave.
#[derive(Debug)]
pub struct MeasuredExperiment {
    /// Its name within the item.
    pub name: &'static str,
    /// The experiment.
    pub experiment: Experiment,
    /// One per entry, in the order of the file.
    pub runs: Vec<Runs>,
}

/// All runs of one entry.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The entry's label.
    pub label: String,
    /// What all entries of its `[[algorithm]]` block are called.
    pub block: String,
    /// What sets its world apart; empty where there is only one.
    pub stage: String,
    /// The algorithm.
    pub algorithm: String,
    /// The keys of its block that hold several values, and this entry's.
    pub swept: Vec<(String, toml::Value)>,
    /// Parameters, defaults filled in.
    pub params: toml::Table,
    /// One per seed.
    pub records: Vec<Record>,
}

impl Measured {
    /// Adds an experiment's records, one list per entry.
    pub(super) fn push(&mut self, name: &'static str, records: Vec<Vec<Record>>, experiment: Experiment) {
        let runs = experiment.entries.iter().zip(records).map(|(entry, records)| Runs {
            label: entry.label.clone(),
            block: entry.block_label.clone(),
            stage: entry.stage.label.clone(),
            algorithm: entry.algorithm.clone(),
            swept: entry.swept.clone(),
            params: entry.params.clone(),
            records,
        });
        self.experiments.push(MeasuredExperiment { name, runs: runs.collect(), experiment });
    }

    /// All experiments.
    pub fn experiments(&self) -> &[MeasuredExperiment] {
        &self.experiments
    }

    /// The experiment of a name.
    pub fn experiment(&self, name: &str) -> Result<&MeasuredExperiment, LabError> {
        let found = self.experiments.iter().find(|experiment| experiment.name == name);
        found.ok_or_else(|| {
            LabError::Failed(format!("an item has no experiment {name}; this is a fault of the program"))
        })
    }
}

impl MeasuredExperiment {
    /// The entry of a label.
    pub fn entry(&self, label: &str) -> Result<&Runs, LabError> {
        let found = self.runs.iter().find(|runs| runs.label == label);
        found.ok_or_else(|| {
            LabError::Failed(format!("{} has no entry {label}; this is a fault of the program", self.name))
        })
    }

    /// The entries of a block, in the order of its sweep.
    pub fn block<'a>(&'a self, block: &'a str) -> impl Iterator<Item = &'a Runs> {
        self.runs.iter().filter(move |runs| runs.block == block)
    }

    /// What sets the worlds apart, in the order of the file.
    pub fn stages(&self) -> Vec<&str> {
        self.experiment.stages.iter().map(|stage| stage.label.as_str()).collect()
    }
}

impl Runs {
    /// Who can talk to whom under this entry of `part`, in its first world; none where all talk to the server.
    pub fn topology(&self, part: &MeasuredExperiment) -> Result<Option<Graph>, LabError> {
        let catalogue = &part.experiment.catalogue;
        let found = part.experiment.stages[0]
            .scenario
            .check(&catalogue.worlds)
            .and_then(|world| catalogue.topology(&self.algorithm, &self.params, world.setting()));
        found.map_err(|error| LabError::Failed(error.to_string()))
    }

    /// The mean of something over the seeds.
    pub fn estimate(&self, value: fn(&Record) -> f64) -> Estimate {
        Estimate::new(self.records.iter().map(value))
    }

    /// The mean difference to another entry in the same world, seed by seed.
    pub fn difference(&self, other: &Runs, value: fn(&Record) -> f64) -> Estimate {
        Estimate::new(self.records.iter().zip(&other.records).map(|(own, other)| value(own) - value(other)))
    }

    /// This entry's value of a swept number.
    pub fn swept_number(&self, key: &str) -> Option<f64> {
        let (_, value) = self.swept.iter().find(|(name, _)| name == key)?;
        value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
    }

    /// A line over time with its band; `value` picks a column of the curve at a point.
    pub fn line(&self, label: impl Into<String>, value: fn(&Curve, usize) -> f64) -> Series {
        let count = self.records.iter().map(|record| record.curve.tick.len()).min().unwrap_or_default();
        let points = (0..count).map(|point| {
            let at = Estimate::new(self.records.iter().map(|record| value(&record.curve, point)));
            with_band(Point::new(self.records[0].curve.tick[point] as f64, at.mean), &at)
        });
        Series::line(label, points.collect())
    }

    /// A dot at two means, with their intervals.
    pub fn dot(&self, x: fn(&Record) -> f64, y: fn(&Record) -> f64) -> Point {
        let (x, y) = (self.estimate(x), self.estimate(y));
        let point = with_band(Point::new(x.mean, y.mean), &y);
        match x.ci95 {
            Some(half) => point.with_x_range(x.mean - half, x.mean + half),
            None => point,
        }
    }
}
