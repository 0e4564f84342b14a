//! Experiments: read, run, summed up. What a user calls is in `experiment.py`, `results.py` and `_sweep.py`.

mod apart;
pub(crate) mod describe;
pub(crate) mod source;
pub(crate) mod table;
mod words;

use std::path::PathBuf;
use std::sync::Arc;

use cahoots_lab::LabError;
use cahoots_lab::experiment::Experiment;
use cahoots_lab::results::t_quantile;
use cahoots_lab::run::{self, Manifest, Options, Outcome, Shard, Start, Watch};
use cahoots_sim::catalogue::Catalogue;
use pyo3::prelude::*;

use crate::own;
use apart::{Look, apart};
use source::Spec;

/// How a run of this package is named in a manifest: one name for all of them, so that parts and wholes agree.
const COMMAND: &str = "cahoots.run";

/// What experiments may name: all that the command knows, and what was written in Python.
pub(crate) fn catalogue() -> Arc<Catalogue> {
    let mut catalogue = Catalogue::clone(&cahoots_lab::catalogue());
    own::add(&mut catalogue);
    Arc::new(catalogue)
}

/// Runs an experiment; gives the folder and what a reader must know.
#[pyfunction]
#[pyo3(signature = (spec, out, start, seeds, jobs, per_client, progress))]
pub(crate) fn run_experiment(
    py: Python<'_>,
    spec: Spec,
    out: PathBuf,
    start: &str,
    seeds: Option<u64>,
    jobs: Option<usize>,
    per_client: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(PathBuf, Vec<String>)> {
    let start = match start {
        "resume" => Start::Resume,
        "force" => Start::Force,
        _ => Start::Fresh,
    };
    let outcome = apart(py, progress, move |look| {
        let experiment = source::read(spec, seeds)?;
        let watch = |seen| look.see(seen);
        run::run(&experiment, &out, &options(&experiment, look, Watch(&watch), start, jobs, per_client))
    })?;
    Ok(left_behind(outcome))
}

/// Runs one of several parts of an experiment in one thread, or what is missing of it; gives its folder and how many
/// runs it holds.
#[pyfunction]
#[pyo3(signature = (spec, out, number, of, seeds, per_client))]
pub(crate) fn run_part(
    py: Python<'_>,
    spec: Spec,
    out: PathBuf,
    number: u32,
    of: u32,
    seeds: Option<u64>,
    per_client: bool,
) -> PyResult<(PathBuf, usize)> {
    apart(py, None, move |look| {
        let experiment = source::read(spec, seeds)?;
        let watch = |seen| look.see(seen);
        let options = options(&experiment, look, Watch(&watch), Start::Resume, Some(1), per_client);
        run::run_shard(&experiment, &out, shard(number, of)?, &options)
    })
}

/// How many runs each of so many parts still lacks, in the folder of the whole; none where the whole is there already. A
/// folder that holds another run is refused before anything is done.
#[pyfunction]
#[pyo3(signature = (spec, out, of, seeds, per_client))]
pub(crate) fn missing_runs(
    py: Python<'_>,
    spec: Spec,
    out: PathBuf,
    of: u32,
    seeds: Option<u64>,
    per_client: bool,
) -> PyResult<Option<Vec<usize>>> {
    apart(py, None, move |look| {
        let experiment = source::read(spec, seeds)?;
        if let Some(there) = run::read_manifest(&out)? {
            let now = Manifest::new(&experiment, &[]);
            if let Some(difference) = there.not_extended_by(&now) {
                return Err(LabError::Input(format!(
                    "cannot resume {}, it holds another run: {difference}\nchoose another out",
                    out.display()
                )));
            }
            if there.difference(&now).is_none() && out.join("summary.json").exists() {
                return Ok(None);
            }
        }
        let one = |number| {
            look.go_on()?;
            Ok(run::missing(&experiment, &out, shard(number, of)?, per_client))
        };
        (1..=of).map(one).collect::<Result<_, LabError>>().map(Some)
    })
}

/// Puts parts together.
#[pyfunction]
#[pyo3(signature = (parts, out))]
pub(crate) fn merge_parts(
    py: Python<'_>,
    parts: Vec<PathBuf>,
    out: PathBuf,
) -> PyResult<(PathBuf, Vec<String>)> {
    let merged = move |_: &Look| run::merge(&catalogue(), &parts, Some(&out), cahoots_papers::lower_bounds);
    apart(py, None, merged).map(left_behind)
}

/// What an experiment will come to, as JSON.
#[pyfunction]
#[pyo3(signature = (spec, seeds, jobs))]
pub(crate) fn expect_experiment(
    py: Python<'_>,
    spec: Spec,
    seeds: Option<u64>,
    jobs: Option<usize>,
) -> PyResult<String> {
    apart(py, None, move |look| {
        let experiment = source::read(spec, seeds)?;
        let expected = run::expect(&experiment, threads(&experiment, jobs))?;
        look.go_on()?;
        Ok(serde_json::to_string(&expected).unwrap_or_default())
    })
}

/// The 97.5 % quantile of Student's t for a mean of `n` values.
#[pyfunction]
#[pyo3(name = "t_quantile")]
pub(crate) fn quantile(n: usize) -> f64 {
    t_quantile(n)
}

fn options<'a>(
    experiment: &Experiment,
    look: &'a Look,
    watch: Watch<'a>,
    start: Start,
    jobs: Option<usize>,
    per_client: bool,
) -> Options<'a> {
    Options {
        jobs: threads(experiment, jobs),
        start,
        quiet: true,
        command: vec![COMMAND.into()],
        stop: &look.stop,
        theory: cahoots_papers::lower_bounds,
        per_client,
        watch: Some(watch),
    }
}

/// Python code is run by one thread at a time whatever is asked for; more of them would only wait for each other.
fn threads(experiment: &Experiment, jobs: Option<usize>) -> usize {
    if own::involved(experiment) {
        return 1;
    }
    jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn shard(number: u32, of: u32) -> Result<Shard, LabError> {
    Shard::new(number, of).map_err(LabError::Input)
}

fn left_behind(outcome: Outcome) -> (PathBuf, Vec<String>) {
    (outcome.folder, outcome.warnings)
}
