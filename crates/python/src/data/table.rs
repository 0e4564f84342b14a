//! Tables of one's own: what would be made of one, and whether it can be a world.

use cahoots_core::ParamError;
use cahoots_data::table::describe::Description;
use cahoots_data::table::{Context, Profile, TableParams};
use cahoots_sim::files::Here;
use cahoots_sim::world::WorldKind as _;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize as _;

use super::value;
use crate::error::{self, InputError};

fn params(keys: &Bound<'_, PyDict>) -> PyResult<TableParams> {
    let table = toml::Value::Table(value::table(keys)?);
    TableParams::deserialize(table)
        .map_err(|problem| InputError::new_err(problem.to_string().trim_end().to_string()))
}

/// What is in a table, which roles its columns could have, and an experiment to begin with.
#[pyfunction]
pub(crate) fn describe_table<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let params = params(keys)?;
    let found =
        py.detach(|| Description::of(&params)).map_err(|problem| InputError::new_err(problem.to_string()))?;
    let columns: PyResult<Vec<_>> = found.columns.iter().map(|column| profile(py, &found, column)).collect();
    let dict = PyDict::new(py);
    dict.set_item("rows", found.rows)?;
    dict.set_item("skipped", found.skipped)?;
    dict.set_item("unread", &found.unread)?;
    dict.set_item("columns", columns?)?;
    let outcome = found.outcome.as_ref();
    dict.set_item("decisions", outcome.ok().map(|outcome| outcome.rows))?;
    dict.set_item("clients", outcome.ok().map(|outcome| outcome.shape.clients))?;
    dict.set_item("arms", outcome.ok().map(|outcome| outcome.arms.clone()))?;
    dict.set_item("arm_count", outcome.ok().map(|outcome| outcome.arm_count))?;
    dict.set_item("dim", outcome.ok().map(|outcome| outcome.shape.dim))?;
    let most = outcome.ok().and_then(|outcome| outcome.most_frequent.clone());
    dict.set_item("most_frequent", most)?;
    dict.set_item("problem", outcome.err().map(ParamError::to_string))?;
    let experiment =
        outcome.is_ok().then(|| found.experiment(name, &params.file, params.arms_file.as_deref()));
    dict.set_item("experiment", experiment)?;
    let plain = toml::Value::try_from(&found.params)
        .map_err(|problem| InputError::new_err(format!("these keys cannot be written: {problem}")))?;
    dict.set_item("environment", value::to_python(py, &plain)?)?;
    Ok(dict)
}

fn profile<'py>(py: Python<'py>, found: &Description, column: &Profile) -> PyResult<Bound<'py, PyDict>> {
    let numeric = column.is_numeric();
    let holds = match (column.held, numeric, column.whole) {
        (0, _, _) => "empty",
        (_, false, _) => "text",
        (_, true, true) => "whole number",
        (_, true, false) => "number",
    };
    let keys = &found.params;
    let roles = [
        ("client", &keys.client),
        ("label", &keys.label),
        ("arm", &keys.arm),
        ("reward", &keys.reward),
        ("offered", &keys.offered),
    ];
    let own = roles.into_iter().find(|(_, named)| named.as_ref() == Some(&column.name));
    let context = matches!(&keys.context, Context::Columns(columns) if columns.contains(&column.name));
    let role = own.map(|(role, _)| role).or(context.then_some("context"));
    let why = found.left_out.iter().find(|(name, _)| *name == column.name).map(|(_, why)| *why);
    let dict = PyDict::new(py);
    dict.set_item("name", &column.name)?;
    dict.set_item("holds", holds)?;
    dict.set_item("missing", column.missing)?;
    dict.set_item("distinct", column.distinct())?;
    dict.set_item("min", numeric.then_some(column.range.0))?;
    dict.set_item("max", numeric.then_some(column.range.1))?;
    dict.set_item("mean", numeric.then(|| column.mean()))?;
    dict.set_item("role", role)?;
    dict.set_item("left_out", why)?;
    Ok(dict)
}

/// Reads a table as a run would; gives its rows, which is how long a run can be.
#[pyfunction]
pub(crate) fn check_table(py: Python<'_>, keys: &Bound<'_, PyDict>) -> PyResult<u64> {
    let params = params(keys)?;
    let rows = py.detach(|| params.read_files(&Here)?.ticks());
    Ok(rows.map_err(|problem| error::params(&problem))?.unwrap_or_default())
}
