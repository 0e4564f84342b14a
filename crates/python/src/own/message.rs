//! Messages of algorithms written in Python: whatever object was sent, as bytes. What comes from a client is released, without
//! noise and on record as such: an algorithm written in Python claims no privacy.

use std::fmt;

use cahoots_core::{Kind, Private, custom};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Depth to which numbers are counted.
const DEPTH: usize = 32;

/// One message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Note {
    /// From a client.
    Up(About, Private<Bytes>),
    /// From the server, who has seen nothing but what was released.
    Down(About, Bytes),
}

/// What the books want to know of a message.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct About {
    /// The numbers that it carries.
    pub(super) scalars: u64,
    /// A signal without statistics.
    pub(super) control: bool,
}

impl Note {
    /// The object, as `codec` writes it.
    pub(super) fn data(&self) -> &[u8] {
        match self {
            Note::Up(_, data) => &data.get().0,
            Note::Down(_, data) => &data.0,
        }
    }

    fn about(&self) -> &About {
        let (Note::Up(about, _) | Note::Down(about, _)) = self;
        about
    }
}

impl custom::Body for Note {
    const NAME: &'static str = "python";

    fn kind(&self) -> Kind {
        match self {
            note if note.about().control => Kind::Control,
            Note::Up(..) => Kind::Upload,
            Note::Down(..) => Kind::Download,
        }
    }

    fn scalars(&self) -> u64 {
        self.about().scalars
    }
}

/// Bytes that are written and read in one piece.
#[derive(Clone, PartialEq)]
pub(crate) struct Bytes(pub(super) Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
            fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Bytes, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = items.next_element()? {
                    bytes.push(byte);
                }
                Ok(Bytes(bytes))
            }
        }
        deserializer.deserialize_byte_buf(All)
    }
}

/// The numbers in an object: those of arrays, lists, dictionaries and plain objects; text and truth are none.
pub(super) fn scalars(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<u64> {
    if depth == DEPTH || object.is_none() {
        return Ok(0);
    }
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        let kind = array.dtype().kind();
        return Ok(if b"iufc".contains(&kind) { array.len() as u64 } else { 0 });
    }
    if object.is_instance_of::<PyBool>()
        || object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
    {
        return Ok(0);
    }
    if object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>() {
        return Ok(1);
    }
    let listed = object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PySet>()
        || object.is_instance_of::<PyFrozenSet>();
    if listed {
        return object.try_iter()?.map(|item| scalars(&item?, depth + 1)).sum();
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        return dict.iter().map(|(_, value)| scalars(&value, depth + 1)).sum();
    }
    let python = object.py();
    if let Some(kind) = object.getattr_opt(intern!(python, "dtype"))? {
        // A number of numpy, or something that has become an array of another library.
        let size = object.getattr_opt(intern!(python, "size"))?.and_then(|size| size.extract().ok());
        let kind: Option<String> =
            kind.getattr_opt(intern!(python, "kind"))?.and_then(|kind| kind.extract().ok());
        return Ok(match kind.as_deref() {
            Some("i" | "u" | "f" | "c") => size.unwrap_or(1),
            _ => 0,
        });
    }
    match object.getattr_opt(intern!(python, "__dict__"))? {
        Some(own) if !object.is_callable() => scalars(&own, depth + 1),
        _ => Ok(0),
    }
}
