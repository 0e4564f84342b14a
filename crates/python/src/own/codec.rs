//! Messages as bytes. Numbers, text, arrays of numbers, and lists, tuples and dictionaries of these are written plainly, which
//! takes a fraction of the time and of the bytes that pickling an array takes; whatever else is in a message is pickled.

use numpy::{Element, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::error::InputError;

/// How deep a message is looked into; what is deeper is pickled.
const DEPTH: usize = 16;

const NONE: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const WHOLE: u8 = 3;
const NUMBER: u8 = 4;
const TEXT: u8 = 5;
const TUPLE: u8 = 6;
const LIST: u8 = 7;
const DICT: u8 = 8;
const NUMBERS: u8 = 9;
const WHOLES: u8 = 10;
const PICKLED: u8 = 11;

/// An object as bytes, as it is now: what its sender does to it afterwards changes nothing.
pub(super) fn encode(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let mut out = Vec::new();
    write(object, &mut out, 0)?;
    Ok(out)
}

fn write(object: &Bound<'_, PyAny>, out: &mut Vec<u8>, depth: usize) -> PyResult<()> {
    // Exact types alone: who makes a class of their own of a list wants it back.
    if object.is_none() {
        out.push(NONE);
    } else if let Ok(truth) = object.cast_exact::<PyBool>() {
        out.push(if truth.is_true() { TRUE } else { FALSE });
    } else if let Ok(number) = object.cast_exact::<PyFloat>() {
        out.push(NUMBER);
        out.extend(number.extract::<f64>()?.to_le_bytes());
    } else if let Ok(whole) = object.cast_exact::<PyInt>()
        && let Ok(whole) = whole.extract::<i64>()
    {
        out.push(WHOLE);
        out.extend(whole.to_le_bytes());
    } else if let Ok(text) = object.cast_exact::<PyString>()
        && let Ok(text) = text.extract::<String>()
    {
        out.push(TEXT);
        length(text.len(), out);
        out.extend(text.as_bytes());
    } else if array::<f64>(object, NUMBERS, f64::to_le_bytes, out)
        || array(object, WHOLES, i64::to_le_bytes, out)
    {
    } else if depth == DEPTH {
        pickled(object, out)?;
    } else if let Ok(items) = object.cast_exact::<PyTuple>() {
        out.push(TUPLE);
        length(items.len(), out);
        for item in items.iter() {
            write(&item, out, depth + 1)?;
        }
    } else if let Ok(items) = object.cast_exact::<PyList>() {
        let items: Vec<_> = items.iter().collect();
        out.push(LIST);
        length(items.len(), out);
        for item in items {
            write(&item, out, depth + 1)?;
        }
    } else if let Ok(entries) = object.cast_exact::<PyDict>() {
        let entries: Vec<_> = entries.iter().collect();
        out.push(DICT);
        length(entries.len(), out);
        for (key, value) in entries {
            write(&key, out, depth + 1)?;
            write(&value, out, depth + 1)?;
        }
    } else {
        pickled(object, out)?;
    }
    Ok(())
}

/// Writes an array of these numbers; `false` where it is none, or not one piece.
fn array<T: Element + Copy>(
    object: &Bound<'_, PyAny>,
    tag: u8,
    bytes: fn(T) -> [u8; 8],
    out: &mut Vec<u8>,
) -> bool {
    let Ok(array) = object.cast_exact::<PyArrayDyn<T>>() else { return false };
    let Ok(numbers) = array.try_readonly() else { return false };
    let Ok(numbers) = numbers.as_slice() else { return false };
    // In the order of C: the slice of an array in Fortran's would be the transposed one's.
    if !array.is_c_contiguous() {
        return false;
    }
    out.push(tag);
    length(array.ndim(), out);
    for size in array.shape() {
        length(*size, out);
    }
    out.reserve(8 * numbers.len());
    for number in numbers {
        out.extend(bytes(*number));
    }
    true
}

fn pickled(object: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<()> {
    static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let python = object.py();
    let bytes = function(python, &DUMPS, "dumps")?.call1((object, 5)).map_err(|error| {
        let what = object.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
        let says = InputError::new_err(format!(
            "a message must be something that can be pickled (numbers, text, arrays, lists, dictionaries, objects of \
             classes that can be imported); this {what} cannot: {}",
            error.value(python)
        ));
        says.set_cause(python, Some(error));
        says
    })?;
    let bytes = bytes.cast::<PyBytes>()?.as_bytes();
    out.push(PICKLED);
    length(bytes.len(), out);
    out.extend(bytes);
    Ok(())
}

/// Seven bits to a byte.
fn length(mut size: usize, out: &mut Vec<u8>) {
    while size >= 128 {
        out.push(size as u8 | 128);
        size >>= 7;
    }
    out.push(size as u8);
}

/// The object that these bytes are.
pub(super) fn decode<'py>(python: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let mut rest = Rest(bytes);
    let object = rest.object(python, 0)?;
    if rest.0.is_empty() { Ok(object) } else { Err(damaged()) }
}

/// The object that was pickled to these bytes.
pub(super) fn unpickle<'py>(python: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    function(python, &LOADS, "loads")?.call1((PyBytes::new(python, bytes),))
}

/// A function of `pickle`, looked up once.
fn function<'py>(
    python: Python<'py>,
    known: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let found = || PyResult::Ok(python.import("pickle")?.getattr(name)?.unbind());
    Ok(known.get_or_try_init(python, found)?.bind(python).clone())
}

fn damaged() -> PyErr {
    InputError::new_err("bytes that are no message")
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> PyResult<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> PyResult<u8> {
        Ok(self.take(1)?[0])
    }

    fn eight(&mut self) -> PyResult<[u8; 8]> {
        self.take(8)?.try_into().map_err(|_| damaged())
    }

    fn length(&mut self) -> PyResult<usize> {
        let mut size = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            size |= usize::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(size);
            }
        }
        Err(damaged())
    }

    fn sized(&mut self) -> PyResult<&'a [u8]> {
        let size = self.length()?;
        self.take(size)
    }

    fn items<'py>(&mut self, python: Python<'py>, depth: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let count = self.length()?;
        // Each takes a byte at least: no length is believed that cannot be.
        if depth == DEPTH || count > self.0.len() {
            return Err(damaged());
        }
        (0..count).map(|_| self.object(python, depth + 1)).collect()
    }

    fn array<'py, T: Element + Copy>(
        &mut self,
        python: Python<'py>,
        number: fn([u8; 8]) -> T,
    ) -> PyResult<Bound<'py, PyAny>> {
        let axes = self.length()?;
        if axes > 64 {
            return Err(damaged());
        }
        let shape: Vec<usize> = (0..axes).map(|_| self.length()).collect::<PyResult<_>>()?;
        let size =
            shape.iter().try_fold(8_usize, |size, axis| size.checked_mul(*axis)).ok_or_else(damaged)?;
        let bytes = self.take(size)?;
        let array = PyArrayDyn::<T>::zeros(python, shape, false);
        let mut all = array.readwrite();
        let (eights, _) = bytes.as_chunks::<8>();
        for (slot, eight) in all.as_slice_mut().map_err(|_| damaged())?.iter_mut().zip(eights) {
            *slot = number(*eight);
        }
        drop(all);
        Ok(array.into_any())
    }

    fn object<'py>(&mut self, python: Python<'py>, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.byte()? {
            NONE => python.None().into_bound(python),
            tag @ (FALSE | TRUE) => PyBool::new(python, tag == TRUE).to_owned().into_any(),
            WHOLE => i64::from_le_bytes(self.eight()?).into_pyobject(python)?.into_any(),
            NUMBER => f64::from_le_bytes(self.eight()?).into_pyobject(python)?.into_any(),
            TEXT => {
                let text = std::str::from_utf8(self.sized()?).map_err(|_| damaged())?;
                PyString::new(python, text).into_any()
            }
            TUPLE => PyTuple::new(python, self.items(python, depth)?)?.into_any(),
            LIST => PyList::new(python, self.items(python, depth)?)?.into_any(),
            DICT => {
                let dict = PyDict::new(python);
                let count = self.length()?;
                if depth == DEPTH || count > self.0.len() {
                    return Err(damaged());
                }
                for _ in 0..count {
                    let key = self.object(python, depth + 1)?;
                    dict.set_item(key, self.object(python, depth + 1)?)?;
                }
                dict.into_any()
            }
            NUMBERS => self.array::<f64>(python, f64::from_le_bytes)?,
            WHOLES => self.array::<i64>(python, i64::from_le_bytes)?,
            PICKLED => unpickle(python, self.sized()?)?,
            _ => return Err(damaged()),
        })
    }
}
