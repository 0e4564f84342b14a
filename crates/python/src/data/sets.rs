//! The papers' datasets: checked, loaded into arrays, their features prepared.

use std::sync::Arc;

use cahoots_data::datasets::{self, Dataset, Folder, check, load};
use cahoots_data::features::{Cache, Features, Variant, features};
use cahoots_sim::files::Here;
use numpy::{IntoPyArray as _, PyArray1, PyArray2, PyArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::examples::kind;
use crate::error::{CahootsError, InputError};

fn wrong(error: &datasets::DataError) -> PyErr {
    InputError::new_err(error.to_string())
}

fn variant(name: &str) -> PyResult<Variant> {
    match name {
        "gob" => Ok(Variant::Gob),
        "svd" => Ok(Variant::Svd),
        other => Err(InputError::new_err(format!("features are \"gob\" or \"svd\", not {other:?}"))),
    }
}

fn width(dim: usize) -> PyResult<usize> {
    match dim {
        1..=1000 => Ok(dim),
        _ => Err(InputError::new_err(format!("dim lies between 1 and 1000, not {dim}"))),
    }
}

/// What a folder holds, against what is known of the set.
#[pyfunction]
pub(crate) fn check_set<'py>(py: Python<'py>, dir: &str) -> PyResult<Bound<'py, PyDict>> {
    let report = py.detach(|| check(&Folder::new(&Here, dir))).map_err(|error| wrong(&error))?;
    let dict = PyDict::new(py);
    dict.set_item("dataset", report.dataset)?;
    dict.set_item("title", report.title)?;
    let counts = report.counts.into_iter().map(|count| (count.what, count.found, count.known));
    dict.set_item("counts", counts.collect::<Vec<_>>())?;
    dict.set_item("content", report.content)?;
    dict.set_item("missing", report.missing)?;
    dict.set_item("licence", report.licence)?;
    dict.set_item("source", report.source)?;
    dict.set_item("notes", report.notes)?;
    Ok(dict)
}

/// A set in memory.
#[pyclass(frozen, module = "cahoots._cahoots")]
pub(crate) struct LoadedSet {
    set: Arc<Dataset>,
}

/// Reads a set.
#[pyfunction]
pub(crate) fn load_set(py: Python<'_>, name: Option<&str>, dir: &str) -> PyResult<LoadedSet> {
    let wanted = name.map(kind).transpose()?;
    let set = py.detach(|| load(&Folder::new(&Here, dir), wanted)).map_err(|error| wrong(&error))?;
    Ok(LoadedSet { set })
}

#[pymethods]
impl LoadedSet {
    #[getter]
    fn name(&self) -> &'static str {
        self.set.kind.name()
    }

    #[getter]
    fn title(&self) -> &'static str {
        self.set.kind.title()
    }

    #[getter]
    fn licence(&self) -> &'static str {
        self.set.kind.licence()
    }

    #[getter]
    fn content(&self) -> &str {
        &self.set.content
    }

    #[getter]
    fn timed(&self) -> bool {
        self.set.timed
    }

    #[getter]
    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.set.counts.clone()
    }

    #[getter]
    fn users<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.set.users.clone().into_pyarray(py)
    }

    #[getter]
    fn items<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.set.items.clone().into_pyarray(py)
    }

    /// Number of the user, number of the item, time; event by event.
    #[expect(clippy::type_complexity, reason = "three arrays")]
    fn events<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<i64>>) {
        let events = &self.set.events;
        let users: Vec<u32> = events.iter().map(|event| event.user).collect();
        let items: Vec<u32> = events.iter().map(|event| event.item).collect();
        let times: Vec<i64> = events.iter().map(|event| event.time).collect();
        (users.into_pyarray(py), items.into_pyarray(py), times.into_pyarray(py))
    }

    #[getter]
    fn words(&self) -> Vec<String> {
        self.set.documents.words.clone()
    }

    /// How often each word was said of each item, as the three arrays of a sparse matrix by rows.
    #[expect(clippy::type_complexity, reason = "three arrays")]
    fn word_counts<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<i64>>) {
        let documents = &self.set.documents;
        let times: Vec<u32> = documents.entries.iter().map(|(_, times)| *times).collect();
        let words: Vec<u32> = documents.entries.iter().map(|(word, _)| *word).collect();
        let starts: Vec<i64> = documents.starts.iter().map(|start| *start as i64).collect();
        (times.into_pyarray(py), words.into_pyarray(py), starts.into_pyarray(py))
    }

    /// Features of the items, a row each.
    fn features<'py>(&self, py: Python<'py>, name: &str, dim: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (variant, dim) = (variant(name)?, width(dim)?);
        if self.set.documents.words.is_empty() {
            let problem = "nothing was said of its items (no tags, no genres), so that they have no features";
            return Err(InputError::new_err(problem));
        }
        let found = py.detach(|| {
            let cache = Cache::usual_for(&self.set);
            features(&self.set, variant, dim, cache.as_ref(), &mut |_, _| {})
        });
        found.values.clone().into_pyarray(py).reshape([self.set.items.len(), dim])
    }
}

/// Computes features of a set's items and keeps them where experiments look for them.
#[pyfunction]
pub(crate) fn prepare_set<'py>(
    py: Python<'py>,
    name: &str,
    dir: &str,
    variants: Vec<String>,
    dim: usize,
    anew: bool,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let dim = width(dim)?;
    let Some(cache) = Cache::usual() else {
        let problem = "nobody says where files can be kept: set CAHOOTS_CACHE to a folder";
        return Err(InputError::new_err(problem));
    };
    let set = load_set(py, Some(name), dir)?.set;
    let mut made = Vec::new();
    for name in variants {
        let variant = variant(&name)?;
        let path = cache.path(&set, variant, dim);
        let known = if anew { None } else { py.detach(|| cache.get(&set, variant, dim)) };
        let computed = known.is_none();
        let features = match known {
            Some(features) => features,
            None => {
                let features = py.detach(|| Features::compute(&set, variant, dim, &mut |_, _| {}));
                if !cache.put(&set, variant, &features) {
                    let problem =
                        format!("cannot write {}: set CAHOOTS_CACHE to another folder", path.display());
                    return Err(CahootsError::new_err(problem));
                }
                features
            }
        };
        let dict = PyDict::new(py);
        dict.set_item("dataset", set.kind.name())?;
        dict.set_item("features", variant.name())?;
        dict.set_item("dim", dim)?;
        dict.set_item("items", set.items.len())?;
        dict.set_item("words", set.documents.words.len())?;
        dict.set_item("kept", features.kept)?;
        dict.set_item("rounds", features.rounds)?;
        dict.set_item("residual", features.residual)?;
        dict.set_item("computed", computed)?;
        dict.set_item("content", &set.content)?;
        dict.set_item("file", path.display().to_string())?;
        made.push(dict);
    }
    Ok(made)
}
