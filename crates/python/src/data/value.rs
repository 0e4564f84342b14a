//! Values of experiment files, from Python and back.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::error::InputError;

/// The table that a dict of Python is.
pub(super) fn table(dict: &Bound<'_, PyDict>) -> PyResult<toml::Table> {
    let mut table = toml::Table::new();
    for (key, value) in dict {
        let key: String =
            key.extract().map_err(|_| InputError::new_err(format!("keys are texts, not {key}")))?;
        if !value.is_none() {
            let value = to_toml(&key, &value)?;
            table.insert(key, value);
        }
    }
    Ok(table)
}

fn to_toml(key: &str, value: &Bound<'_, PyAny>) -> PyResult<toml::Value> {
    // Truths are whole numbers to Python: they come first.
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(toml::Value::Boolean(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let whole: i64 = value
            .extract()
            .map_err(|_| InputError::new_err(format!("{key} is {value}, which is too large a number")))?;
        return Ok(toml::Value::Integer(whole));
    }
    if let Ok(real) = value.cast::<PyFloat>() {
        return Ok(toml::Value::Float(real.value()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(toml::Value::String(text.extract()?));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return table(dict).map(toml::Value::Table);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items: PyResult<Vec<toml::Value>> = value.try_iter()?.map(|item| to_toml(key, &item?)).collect();
        return items.map(toml::Value::Array);
    }
    // Numbers and arrays of numpy, and whatever else can say what it is in plain Python.
    for method in ["item", "tolist"] {
        if let Ok(plain) = value.call_method0(method)
            && !plain.get_type().is(value.get_type())
        {
            return to_toml(key, &plain);
        }
    }
    let kind = value.get_type().name()?;
    Err(InputError::new_err(format!(
        "{key} is a {kind}: numbers, texts, truths, lists and dicts can be said"
    )))
}

/// A value as Python has it.
pub(super) fn to_python<'py>(py: Python<'py>, value: &toml::Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        toml::Value::String(text) => PyString::new(py, text).into_any(),
        toml::Value::Integer(whole) => whole.into_pyobject(py)?.into_any(),
        toml::Value::Float(real) => PyFloat::new(py, *real).into_any(),
        toml::Value::Boolean(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        toml::Value::Datetime(moment) => PyString::new(py, &moment.to_string()).into_any(),
        toml::Value::Array(items) => {
            let items: PyResult<Vec<_>> = items.iter().map(|item| to_python(py, item)).collect();
            PyList::new(py, items?)?.into_any()
        }
        toml::Value::Table(table) => {
            let dict = PyDict::new(py);
            for (key, value) in table {
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}
