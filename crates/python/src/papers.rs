//! The papers' tables and figures, reproduced: what a paper says beside what is measured here.

use std::path::PathBuf;

use cahoots_papers::PAPERS;
use cahoots_papers::reproduce::{self, Claim, Options, Report};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::data::interruptible;
use crate::error;

/// Everything that can be reproduced.
#[pyfunction]
pub(crate) fn paper_items(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let items = PAPERS.iter().flat_map(|paper| paper.items.iter().map(move |item| (paper, item)));
    items
        .map(|(paper, item)| {
            let dict = PyDict::new(py);
            dict.set_item("item", item.name)?;
            dict.set_item("title", item.title)?;
            dict.set_item("paper", paper.title)?;
            dict.set_item("authors", paper.authors)?;
            dict.set_item("year", paper.year)?;
            dict.set_item("seconds", item.seconds.full)?;
            dict.set_item("quick_seconds", item.seconds.quick)?;
            dict.set_item("needs_data", item.needs_data())?;
            Ok(dict)
        })
        .collect()
}

/// Runs what a name stands for; what was run before is not run again.
#[pyfunction]
pub(crate) fn reproduce_items<'py>(
    py: Python<'py>,
    name: String,
    out: PathBuf,
    quick: bool,
    data: Option<PathBuf>,
    jobs: usize,
    force: bool,
    quiet: bool,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let items = reproduce::select(&[name]).map_err(error::lab)?;
    let catalogue = cahoots_lab::catalogue();
    let reports = interruptible(py, |stop| {
        let options = Options {
            catalogue: &catalogue,
            quick,
            data: data.as_deref(),
            jobs,
            force,
            quiet,
            command: vec!["python".into()],
            stop,
        };
        let one = |item: &&'static reproduce::Item| reproduce::reproduce(item, &out, &options).map(Told::of);
        items.iter().map(one).collect::<Result<Vec<Told>, _>>()
    })?;
    reports.map_err(error::lab)?.iter().map(|report| told(py, report)).collect()
}

/// A report without its pictures, which stay in the thread that drew them.
struct Told {
    item: String,
    title: String,
    quick: bool,
    seeds: String,
    claims: Vec<Claim>,
    notes: Vec<String>,
    figures: Vec<String>,
    folder: PathBuf,
}

impl Told {
    fn of(report: Report) -> Told {
        Told {
            seeds: report.seeds_text(),
            item: report.item,
            title: report.title,
            quick: report.quick,
            claims: report.claims,
            notes: report.notes,
            figures: report.figures,
            folder: report.folder,
        }
    }
}

fn told<'py>(py: Python<'py>, report: &Told) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("item", &report.item)?;
    dict.set_item("title", &report.title)?;
    dict.set_item("quick", report.quick)?;
    dict.set_item("seeds", &report.seeds)?;
    dict.set_item("notes", &report.notes)?;
    dict.set_item("figures", &report.figures)?;
    dict.set_item("folder", report.folder.display().to_string())?;
    let claims: PyResult<Vec<_>> = report
        .claims
        .iter()
        .map(|claim| {
            let one = PyDict::new(py);
            one.set_item("what", &claim.what)?;
            one.set_item("source", &claim.source)?;
            one.set_item("paper", &claim.paper)?;
            one.set_item("ours", &claim.ours)?;
            one.set_item("verdict", claim.verdict.text())?;
            one.set_item("mean", claim.mean)?;
            one.set_item("ci95", claim.ci95)?;
            Ok(one)
        })
        .collect();
    dict.set_item("claims", claims?)?;
    Ok(dict)
}
