//! Experiments from text.

use std::path::{Path, PathBuf};

use cahoots_lab::experiment::{self, Experiment, Inputs, Source};
use cahoots_lab::{LabError, from_manifest};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{Bound, IntoPyObjectExt as _};
use toml::Value;

use super::catalogue;
use crate::error::InputError;

/// An experiment in words: "toml" or "manifest", the text, what messages call it, the folder that paths are relative to.
pub(super) type Spec = (String, String, String, PathBuf);

/// Reads and checks an experiment.
pub(super) fn read(spec: Spec, seeds: Option<u64>) -> Result<Experiment, LabError> {
    let (kind, text, name, folder) = spec;
    match kind.as_str() {
        "manifest" => from_manifest(&catalogue(), Path::new(&name), &text, seeds),
        _ => experiment::read(&catalogue(), Source { name, text }, Inputs::beside(&folder), seeds)
            .map_err(|complaints| LabError::Input(complaints.to_string())),
    }
}

/// Reads and checks an experiment, and runs nothing: its name, the labels of its entries, its seeds.
#[pyfunction]
#[pyo3(signature = (spec, seeds))]
pub(crate) fn check_experiment(
    py: Python<'_>,
    spec: Spec,
    seeds: Option<u64>,
) -> PyResult<(String, Vec<String>, Vec<u64>)> {
    super::apart(py, None, move |_| {
        let experiment = read(spec, seeds)?;
        let labels = experiment.entries.iter().map(|entry| entry.label.clone()).collect();
        Ok((experiment.name, labels, experiment.seeds))
    })
}

/// A TOML text as a dict.
#[pyfunction]
pub(crate) fn parse_toml<'py>(py: Python<'py>, text: &str, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let table: toml::Table =
        text.parse().map_err(|error| InputError::new_err(format!("{name} is not TOML: {error}")))?;
    object(py, &Value::Table(table))
}

fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::String(text) => text.into_bound_py_any(py),
        Value::Integer(whole) => whole.into_bound_py_any(py),
        Value::Float(real) => real.into_bound_py_any(py),
        Value::Boolean(flag) => flag.into_bound_py_any(py),
        Value::Datetime(when) => {
            Err(PyTypeError::new_err(format!("{when}: no key of an experiment takes a date")))
        }
        Value::Array(values) => {
            let list = PyList::empty(py);
            values.iter().try_for_each(|value| list.append(object(py, value)?))?;
            Ok(list.into_any())
        }
        Value::Table(table) => {
            let dict = PyDict::new(py);
            table.iter().try_for_each(|(key, value)| dict.set_item(key, object(py, value)?))?;
            Ok(dict.into_any())
        }
    }
}
