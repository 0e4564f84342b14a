//! Made-up data whose truth is known, for a first try.

use std::path::PathBuf;

use cahoots_data::datasets::{Kind, synthetic};
use cahoots_data::evaluate::{Log as _, example};
use cahoots_lab::experiment::remedy;
use numpy::IntoPyArray as _;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::watched::Ended;
use crate::error::{CahootsError, InputError};

/// A log as columns: who, the context, arm, reward, propensity, and the probabilities of a policy.
#[pyfunction]
pub(crate) fn example_log<'py>(py: Python<'py>, rows: u64, seed: u64) -> PyResult<Bound<'py, PyDict>> {
    let log = py.detach(|| example::log(rows, seed)).map_err(Ended::from)?;
    let (mut clients, mut arms, mut rewards, mut propensities) = (vec![], vec![], vec![], vec![]);
    let (mut features, mut targets) =
        (vec![vec![]; example::FEATURES.len()], vec![vec![]; example::ARMS.len()]);
    for row in 0..log.shape().rows as usize {
        let event = log.event(row);
        clients.push(i64::from(event.client));
        arms.push(example::ARMS[event.arm as usize]);
        rewards.push(event.reward);
        propensities.push(event.propensity);
        features.iter_mut().zip(event.context).for_each(|(column, value)| column.push(*value));
        targets.iter_mut().zip(event.target).for_each(|(column, value)| column.push(*value));
    }
    let columns = PyDict::new(py);
    columns.set_item("client", clients.into_pyarray(py))?;
    for (name, column) in example::FEATURES.iter().zip(features) {
        columns.set_item(name, column.into_pyarray(py))?;
    }
    columns.set_item("arm", arms)?;
    columns.set_item("reward", rewards.into_pyarray(py))?;
    columns.set_item("propensity", propensities.into_pyarray(py))?;
    for (arm, column) in example::ARMS.iter().zip(targets) {
        columns.set_item(format!("target_{arm}"), column.into_pyarray(py))?;
    }
    Ok(columns)
}

/// What policies are worth there, in truth.
#[pyfunction]
pub(crate) fn example_worth() -> Vec<(String, f64)> {
    let constant = |arm: usize| {
        move |_| {
            let mut probabilities = [0.0; 4];
            probabilities[arm] = 1.0;
            probabilities
        }
    };
    let mut worth = vec![
        ("logged".to_string(), example::worth(example::logging)),
        ("columns:target_".into(), example::worth(example::target)),
        ("uniform".into(), example::worth(|_| [0.25; 4])),
    ];
    for (arm, name) in example::ARMS.iter().enumerate() {
        worth.push((format!("constant:{name}"), example::worth(constant(arm))));
    }
    worth
}

/// Writes a small made-up set in the form of a known one.
#[pyfunction]
pub(crate) fn example_set(name: &str, folder: PathBuf) -> PyResult<()> {
    let kind = kind(name)?;
    synthetic::write(kind, &folder)
        .map_err(|error| CahootsError::new_err(format!("cannot write to {}: {error}", folder.display())))
}

/// The set of a name.
pub(super) fn kind(name: &str) -> PyResult<Kind> {
    Kind::named(name).ok_or_else(|| {
        let remedy = remedy(name, Kind::ALL.into_iter().map(Kind::name));
        InputError::new_err(format!("there is no dataset {name:?}; {remedy}"))
    })
}
