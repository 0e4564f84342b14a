//! Values of parameters, between Python and TOML.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::error::InputError;

/// A Python value as a parameter.
pub(super) fn to_toml(value: &Bound<'_, PyAny>) -> PyResult<toml::Value> {
    if value.is_instance_of::<PyBool>() {
        return Ok(toml::Value::Boolean(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        let outside = |_| InputError::new_err(format!("{value} is too large for a parameter"));
        return Ok(toml::Value::Integer(value.extract().map_err(outside)?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(toml::Value::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(toml::Value::String(value.extract()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| to_toml(&item?));
        return Ok(toml::Value::Array(items.collect::<PyResult<_>>()?));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let entries = dict.iter().map(|(key, value)| Ok((key.extract::<String>()?, to_toml(&value)?)));
        return Ok(toml::Value::Table(entries.collect::<PyResult<_>>()?));
    }
    // Arrays and numbers of numpy.
    if let Ok(plain) = value.call_method0("tolist")
        && !plain.is(value)
    {
        return to_toml(&plain);
    }
    Err(InputError::new_err(format!("{} cannot be a parameter: write numbers, text or lists", value.repr()?)))
}

/// A parameter as a Python value.
pub(super) fn to_python<'py>(python: Python<'py>, value: &toml::Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        toml::Value::String(text) => text.into_pyobject(python)?.into_any(),
        toml::Value::Integer(number) => number.into_pyobject(python)?.into_any(),
        toml::Value::Float(number) => number.into_pyobject(python)?.into_any(),
        toml::Value::Boolean(truth) => PyBool::new(python, *truth).to_owned().into_any(),
        toml::Value::Datetime(date) => date.to_string().into_pyobject(python)?.into_any(),
        toml::Value::Array(items) => {
            let list = PyList::empty(python);
            for item in items {
                list.append(to_python(python, item)?)?;
            }
            list.into_any()
        }
        toml::Value::Table(table) => table_to_python(python, table)?.into_any(),
    })
}

/// Parameters as a dictionary.
pub(super) fn table_to_python<'py>(python: Python<'py>, table: &toml::Table) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(python);
    for (key, value) in table {
        dict.set_item(key, to_python(python, value)?)?;
    }
    Ok(dict)
}
