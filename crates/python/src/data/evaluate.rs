//! What a policy would have earned, from a log in a file: as `cahoots evaluate` says it, number for number.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cahoots_data::evaluate::rejection::{ArmFeatures, LearnError, Learned, Question, learn};
use cahoots_data::evaluate::{
    Columns, Estimate, Evaluation, Log as _, LogFile, Names, Settings, Shape, Target, evaluate,
};
use cahoots_data::rows::remedy;
use cahoots_lab::experiment::{Record, remedy as nearest};
use cahoots_sim::run::RunError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::value;
use super::watched::{Ended, Watched};
use crate::error::{CahootsError, InputError};

/// All that can be said beside the log and the policy.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options<'py> {
    arm: Option<String>,
    reward: Option<String>,
    propensity: Option<String>,
    uniform_logging: bool,
    client: Option<String>,
    position: Option<String>,
    offered: Option<String>,
    context: Vec<String>,
    arm_features: Option<String>,
    clip: Option<f64>,
    tau: Option<f64>,
    folds: usize,
    ridge: f64,
    confidence: f64,
    bootstrap: usize,
    seed: u64,
    reward_range: Option<(f64, f64)>,
    least_propensity: Option<f64>,
    least_effective: f64,
    force: bool,
    params: Bound<'py, PyDict>,
}

impl Options<'_> {
    fn names(&self) -> Names {
        Names {
            arm: self.arm.clone(),
            reward: self.reward.clone(),
            propensity: self.propensity.clone(),
            client: self.client.clone(),
            with_clients: false,
            position: self.position.clone(),
            offered: self.offered.clone(),
            context: self.context.clone(),
            target: None,
            uniform_logging: self.uniform_logging,
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            folds: self.folds,
            ridge: self.ridge,
            clip: self.clip,
            tau: self.tau,
            confidence: self.confidence,
            bootstrap: self.bootstrap,
            seed: self.seed,
            rewards: self.reward_range,
            least_propensity: self.least_propensity,
            least_effective: self.least_effective,
            force: self.force,
        }
    }

    fn question(&self) -> PyResult<Question> {
        let features = match self.arm_features.as_deref() {
            None => None,
            Some("none") => Some(ArmFeatures::None),
            Some("same") => Some(ArmFeatures::Same),
            Some("blocks") => Some(ArmFeatures::Blocks),
            Some(other) => {
                let problem = format!("--arm-features is {other:?}: say \"none\", \"same\" or \"blocks\"");
                return Err(InputError::new_err(problem));
            }
        };
        Ok(Question {
            features,
            seed: self.seed,
            confidence: self.confidence,
            least_propensity: self.least_propensity,
            least_taken: self.least_effective.ceil() as u64,
            force: self.force,
        })
    }
}

/// The columns that are looked for where none are named: of arms, rewards, propensities, clients.
#[pyfunction]
pub(crate) fn usual_columns() -> [Vec<&'static str>; 4] {
    Names::usual().map(<[_]>::to_vec)
}

/// What to say of a name that is none of those that are known.
#[pyfunction]
pub(crate) fn column_remedy(name: &str, known: Vec<String>) -> String {
    remedy(name, &known)
}

/// The arms of a log, in the order in which a policy's probabilities are named.
#[pyfunction]
pub(crate) fn survey_log(py: Python<'_>, path: PathBuf, options: Options<'_>) -> PyResult<Vec<String>> {
    let names = options.names();
    let log = py.detach(|| LogFile::open(&path, &names)).map_err(Ended::from)?;
    Ok(log.shape().arms.clone())
}

/// The answer, as a dict.
#[pyfunction]
pub(crate) fn evaluate_log<'py>(
    py: Python<'py>,
    path: PathBuf,
    policy: &str,
    options: Options<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let Some(target) = Target::parse(policy) else {
        return learning(py, &path, policy, &options);
    };
    let target = target.map_err(Ended::from)?;
    if !options.params.is_empty() {
        let why = format!("--params is for algorithms, and {policy} is a policy that does not learn");
        return Err(InputError::new_err(why));
    }
    let prefix = policy.strip_prefix("columns:").map(String::from);
    let (names, settings) = (Names { target: prefix, ..options.names() }, options.settings());
    let (shape, found) = py.detach(|| -> Result<(Shape, Evaluation), Ended> {
        let log = LogFile::open(&path, &names)?;
        let watched = Watched::new(&log);
        let found = watched.outcome(evaluate(&watched, &target, &settings))?;
        Ok((log.shape().clone(), found))
    })?;
    let answer = about(py, "weights", &shape)?;
    let estimates: PyResult<Vec<_>> = found.estimates.iter().map(|one| estimate(py, one)).collect();
    answer.set_item("estimates", estimates?)?;
    answer.set_item("logged", found.logged)?;
    answer.set_item("fitted_on", found.fitted_on)?;
    answer.set_item("warnings", &found.warnings)?;
    let seen = &found.diagnostics;
    let diagnostics = PyDict::new(py);
    diagnostics.set_item("rows", seen.rows)?;
    diagnostics.set_item("effective", seen.effective)?;
    diagnostics.set_item("mean_weight", seen.mean_weight)?;
    diagnostics.set_item("mean_weight_off", seen.mean_weight_off)?;
    diagnostics.set_item("largest_share", seen.largest_share)?;
    diagnostics.set_item("weight_quantiles", seen.weight_quantiles.to_vec())?;
    diagnostics.set_item("tail_index", seen.tail_index)?;
    diagnostics.set_item("never_shown_percent", seen.never_shown_percent)?;
    diagnostics.set_item("largest_possible", seen.largest_possible)?;
    diagnostics.set_item("clipped", seen.clipped)?;
    let calibration = match &seen.calibration {
        None => None,
        Some(worst) => {
            let dict = PyDict::new(py);
            dict.set_item("arm", &worst.arm)?;
            dict.set_item("mean", worst.mean)?;
            dict.set_item("standard_errors", worst.standard_errors)?;
            Some(dict)
        }
    };
    diagnostics.set_item("calibration", calibration)?;
    diagnostics.set_item("least_propensity", seen.least_propensity)?;
    answer.set_item("diagnostics", diagnostics)?;
    Ok(answer)
}

fn about<'py>(py: Python<'py>, method: &str, shape: &Shape) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("method", method)?;
    answer.set_item("rows", shape.rows)?;
    answer.set_item("arms", &shape.arms)?;
    answer.set_item("positions", shape.positions.len())?;
    answer.set_item("features", &shape.features)?;
    answer.set_item("unrewarded", shape.unrewarded)?;
    Ok(answer)
}

fn estimate<'py>(py: Python<'py>, one: &Estimate) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("estimator", one.estimator)?;
    dict.set_item("value", one.value)?;
    dict.set_item("standard_error", one.standard_error)?;
    dict.set_item("normal", one.normal)?;
    dict.set_item("bootstrap", one.bootstrap)?;
    dict.set_item("anytime", one.anytime)?;
    dict.set_item("tau", one.tau)?;
    dict.set_item("assumes", one.assumes)?;
    Ok(dict)
}

fn learning<'py>(
    py: Python<'py>,
    path: &Path,
    name: &str,
    options: &Options<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let catalogue = cahoots_lab::catalogue();
    let Some(algorithm) = catalogue.algorithms.get(name) else {
        let fixed = ["logged", "uniform", "constant:ARM", "columns:PREFIX", "best-of-log", "greedy-linear"];
        let known = fixed.into_iter().chain(["epsilon-greedy:E"]).chain(catalogue.algorithms.names());
        let problem = format!("there is no policy and no algorithm {name:?}; {}", nearest(name, known));
        return Err(InputError::new_err(problem));
    };
    let unused = [
        ("--clip", options.clip.is_some()),
        ("--tau", options.tau.is_some()),
        ("--reward-range", options.reward_range.is_some()),
    ];
    if let Some((flag, _)) = unused.iter().find(|(_, given)| *given) {
        let why = format!("{flag} is for policies that do not learn, and {name} is an algorithm that does");
        return Err(InputError::new_err(why));
    }
    let params = value::table(&options.params)?;
    let record = Record::from_schema(algorithm.schema().as_value());
    if let Some((key, _)) = params.iter().find(|(key, _)| record.field(key).is_none()) {
        let problem = format!("{name} has no parameter `{key}`; {}", nearest(key, record.keys()));
        return Err(InputError::new_err(problem));
    }
    let (names, question) = (Names { with_clients: true, ..options.names() }, options.question()?);
    let (shape, found) = py.detach(|| -> Result<(Shape, Learned), Ended> {
        let log = LogFile::open(path, &names)?;
        let watched = Watched::new(&log);
        let held = Arc::new(watched.outcome(Columns::of(&watched))?);
        let found = learn(held, algorithm, params, &question, &mut |_| watched.go_on());
        let found = watched.outcome(found.map_err(|error| ended(name, error, log.shape())))?;
        Ok((log.shape().clone(), found))
    })?;
    let answer = about(py, "rejection", &shape)?;
    let dict = PyDict::new(py);
    dict.set_item("estimator", "rejection")?;
    dict.set_item("value", found.value)?;
    dict.set_item("standard_error", found.standard_error)?;
    dict.set_item("normal", found.normal)?;
    dict.set_item("bootstrap", py.None())?;
    dict.set_item("anytime", py.None())?;
    dict.set_item("tau", py.None())?;
    let assumes = "propensities are right, and contexts and rewards do not depend on earlier decisions. The interval is \
                   asymptotic, and of this one run of the algorithm";
    dict.set_item("assumes", assumes)?;
    answer.set_item("estimates", vec![dict])?;
    answer.set_item("logged", found.logged)?;
    answer.set_item("fitted_on", 0)?;
    answer.set_item("warnings", &found.warnings)?;
    let diagnostics = PyDict::new(py);
    diagnostics.set_item("events", found.events)?;
    diagnostics.set_item("taken", found.taken)?;
    diagnostics.set_item("expected_share", found.expected_share)?;
    diagnostics.set_item("quarters", found.quarters.to_vec())?;
    diagnostics.set_item("clients", found.clients)?;
    diagnostics.set_item("clients_in_log", found.clients_in_log)?;
    diagnostics.set_item("transfers", found.transfers)?;
    answer.set_item("diagnostics", diagnostics)?;
    Ok(answer)
}

fn ended(name: &str, error: LearnError, shape: &Shape) -> Ended {
    match error {
        LearnError::Refused(refusal) => Ended::Refused(refusal),
        LearnError::Run(RunError::Algorithm(problem)) => {
            // What is wrong about the kind of an algorithm is whether arms have features.
            let hint = match (problem.key.as_str(), shape.features.is_empty()) {
                ("kind", true) => ". The log has no context (--context), so that arms have no features",
                ("kind", false) => ". With --arm-features none, arms have no features",
                _ => "",
            };
            Ended::Interrupted(InputError::new_err(format!("{name} on this log: {problem}{hint}")))
        }
        LearnError::Run(other) => {
            Ended::Interrupted(CahootsError::new_err(format!("{name} on this log: {other}")))
        }
    }
}
