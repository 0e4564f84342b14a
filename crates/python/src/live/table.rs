//! Python's values as a file would have them.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::{Table, Value};

use crate::error::InputError;

/// A dictionary as a table. What is `None` is left out.
pub(super) fn table(about: &str, dict: &Bound<'_, PyDict>) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, value) in dict {
        let key: String = key
            .extract()
            .map_err(|_| InputError::new_err(format!("{about}: {key} is no key: keys are texts")))?;
        if !value.is_none() {
            let read = self::value(&format!("{about}.{key}"), &value)?;
            table.insert(key, read);
        }
    }
    Ok(table)
}

/// One value.
pub(super) fn value(about: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(flag.is_true()));
    }
    if value.cast::<PyInt>().is_ok() {
        let number = value.extract::<i64>();
        let wrong = |_| InputError::new_err(format!("{about}: {value} is too large a number"));
        return number.map(Value::Integer).map_err(wrong);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Value::Float(number.value()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        let wrong = |_| InputError::new_err(format!("{about} is no text that can be written as UTF-8"));
        return text.to_str().map(|text| Value::String(text.into())).map_err(wrong);
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return table(about, dict).map(Value::Table);
    }
    if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
        let items = value.try_iter()?.map(|item| self::value(about, &item?));
        return items.collect::<PyResult<Vec<Value>>>().map(Value::Array);
    }
    if value.hasattr("__fspath__")? {
        return self::value(about, &value.call_method0("__fspath__")?);
    }
    // numpy's scalars and arrays.
    if value.hasattr("dtype")? && value.hasattr("tolist")? {
        return self::value(about, &value.call_method0("tolist")?);
    }
    if value.hasattr("keys")?
        && let Ok(dict) = value.py().get_type::<PyDict>().call1((value,))
    {
        return table(about, dict.cast::<PyDict>()?).map(Value::Table);
    }
    let kind = value.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string());
    Err(InputError::new_err(format!(
        "{about} cannot be {kind}: give a number, a text, a path, or a list or dict of those"
    )))
}
