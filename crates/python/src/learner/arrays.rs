//! Arrays as Python programs have them: any strides, any number type, lists and frames. What is float64 and contiguous is
//! read where it lies, all else is copied into that form first.

use cahoots_core::LARGEST;
use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::error::InputError;

/// An array of float64 in C order.
pub(super) type Floats<'py> = PyReadonlyArrayDyn<'py, f64>;

/// The numbers of `value`, of any shape.
pub(super) fn floats<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Floats<'py>> {
    // Subclasses may mean something else by the same numbers.
    if value.is_exact_instance_of::<PyUntypedArray>()
        && let Ok(array) = value.cast::<PyArrayDyn<f64>>()
        && array.is_c_contiguous()
        && array.is_aligned()
    {
        return read(array, what);
    }
    let numpy = value.py().import("numpy")?;
    let no_array = |e: PyErr| InputError::new_err(format!("{what} must be an array of numbers: {e}"));
    let mut array = numpy.call_method1("asarray", (value,)).map_err(no_array)?;
    let mut kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let is_number = |kind: &str| ["b", "i", "u", "f"].contains(&kind);
    if is_number(&kind) && numpy.getattr("ma")?.call_method1("isMaskedArray", (value,))?.is_truthy()? {
        // What is masked is not known: no number, to be refused like any other.
        array = value.call_method1("astype", ("float64",))?.call_method1("filled", (f64::NAN,))?;
    }
    if kind == "O"
        && let Ok(numbers) = numpy.call_method1("asarray", (&array, "float64"))
        && !has_text(&array)?
    {
        // Frames of several kinds of numbers come as objects.
        (array, kind) = (numbers, "f".into());
    }
    if !is_number(&kind) {
        let dtype = array.getattr("dtype")?;
        return Err(InputError::new_err(format!(
            "{what} must be an array of numbers, not of {dtype}: turn categories into numbers first (one-hot, say)"
        )));
    }
    let plain = numpy.call_method1("require", (array, "float64", ["C", "A"])).map_err(no_array)?;
    read(plain.cast::<PyArrayDyn<f64>>().map_err(PyErr::from)?, what)
}

/// Whether some of an array of objects is text, which would be read as a number where it looks like one.
fn has_text(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    for cell in array.getattr("flat")?.try_iter()? {
        let cell = cell?;
        if cell.is_instance_of::<PyString>() || cell.is_instance_of::<PyBytes>() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn read<'py>(array: &Bound<'py, PyArrayDyn<f64>>, what: &str) -> PyResult<Floats<'py>> {
    array.try_readonly().map_err(|e| InputError::new_err(format!("{what} cannot be read now: {e}")))
}

/// The numbers of an array as they lie.
pub(super) fn slice<'a>(array: &'a Floats<'_>) -> PyResult<&'a [f64]> {
    array.as_slice().map_err(|e| InputError::new_err(e.to_string()))
}

/// So many numbers are looked at before one is asked for.
const CHUNK: usize = 256;

/// Refuses what cannot be learned from, and says where it is.
pub(super) fn usable(values: &[f64], shape: &[usize], what: &str) -> PyResult<()> {
    let is_usable = |value: &f64| value.abs() <= LARGEST;
    // Without a branch per number it vectorises; NaN compares with nothing.
    let all = |some: &[f64]| some.iter().fold(true, |all, value| all & is_usable(value));
    let Some(first) = values.chunks(CHUNK).position(|some| !all(some)) else { return Ok(()) };
    let within = values[first * CHUNK..].iter().position(|value| !is_usable(value)).unwrap_or(0);
    let at = first * CHUNK + within;
    let mut rest = at;
    let mut place: Vec<String> = Vec::with_capacity(shape.len());
    for &extent in shape.iter().rev() {
        place.push((rest % extent).to_string());
        rest /= extent;
    }
    place.reverse();
    let place = if place.is_empty() { String::new() } else { format!("[{}]", place.join(", ")) };
    Err(InputError::new_err(format!(
        "{what}{place} is {}: numbers that can be learned from are finite and below {LARGEST:e}, and best between -1 and 1",
        values[at]
    )))
}

/// Refuses another shape; `None` is any extent.
pub(super) fn shaped(shape: &[usize], expected: &[Option<usize>], what: &str) -> PyResult<()> {
    let fits = |(got, want): (&usize, &Option<usize>)| want.is_none_or(|want| want == *got);
    if shape.len() == expected.len() && shape.iter().zip(expected).all(fits) {
        return Ok(());
    }
    let letters = ["n", "k", "d"];
    let names =
        expected.iter().zip(letters).map(|(want, any)| want.map_or(any.to_string(), |n| n.to_string()));
    let names: Vec<String> = names.collect();
    let got: Vec<String> = shape.iter().map(usize::to_string).collect();
    Err(InputError::new_err(format!(
        "{what} must have shape ({}), not ({})",
        names.join(", "),
        got.join(", ")
    )))
}

/// Which arms cannot be chosen.
pub(super) fn masks(value: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<bool>> {
    value.map_or_else(
        || Ok(Vec::new()),
        |value| {
            value
                .extract()
                .map_err(|_| InputError::new_err("masked must be a list of True and False, one for each arm"))
        },
    )
}

/// Positions of arms, all below `arms`.
pub(super) fn positions(value: &Bound<'_, PyAny>, arms: usize) -> PyResult<Vec<usize>> {
    let numpy = value.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (value,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if kind != "i" && kind != "u" {
        return Err(InputError::new_err("arms must be whole numbers, the positions of arms"));
    }
    let list: Vec<i64> = numpy
        .call_method1("ravel", (array,))?
        .call_method0("tolist")?
        .extract()
        .map_err(|_| InputError::new_err("arms must be positions of arms"))?;
    list.into_iter()
        .map(|arm| usize::try_from(arm).ok().filter(|arm| *arm < arms).ok_or_else(|| no_arm(arm, arms)))
        .collect()
}

/// No such arm.
pub(super) fn no_arm(arm: impl std::fmt::Display, arms: usize) -> PyErr {
    InputError::new_err(format!("there is no arm {arm}: arms are counted from 0, and there are {arms}"))
}
