//! Runs without a folder, for tests: every entry with every seed, and how it is driven is the caller's choice.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cahoots_lab::experiment::Source;
use cahoots_lab::run::Manifest;
use cahoots_sim::driver::Options;
use cahoots_sim::run::RunError;
use pyo3::prelude::*;
use serde_json::json;

use super::{add, error_in, involved};
use crate::error::{self, CahootsError};

/// Runs the experiment of this text and gives what the runs gave, as JSON. `restore` saves and restores every machine after each
/// of its steps, `encode` sends all messages as bytes; neither changes a result.
#[pyfunction]
#[pyo3(signature = (text, *, restore=false, encode=false))]
pub(crate) fn _simulate(python: Python<'_>, text: String, restore: bool, encode: bool) -> PyResult<String> {
    // On a thread that Python does not know, like any run.
    let said = python.detach(|| std::thread::spawn(move || simulate(text, restore, encode)).join());
    let said = said.map_err(|_| CahootsError::new_err("an internal error, which should be reported"))?;
    said.map_err(|said| match said {
        Said::Lab(lab) => error_in(&lab.to_string()).unwrap_or_else(|| error::lab(lab)),
        Said::Run(run) => error_in(&run.to_string()).unwrap_or_else(|| error::run(&run)),
        Said::Panic(text) => error_in(&text).unwrap_or_else(|| CahootsError::new_err(text)),
    })
}

fn simulate(text: String, restore: bool, encode: bool) -> Result<String, Said> {
    let mut catalogue = Arc::unwrap_or_clone(cahoots_lab::catalogue());
    add(&mut catalogue);
    let catalogue = Arc::new(catalogue);
    let source = Source { name: "experiment".into(), text };
    let experiment = cahoots_lab::from_text(&catalogue, source, None).map_err(Said::Lab)?;
    let options = Options { restore, encode, per_client: true, ..Options::default() };
    let manifest = Manifest::new(&experiment, &[]);
    let mut all = Vec::new();
    for &seed in &experiment.seeds {
        for (index, entry) in experiment.entries.iter().enumerate() {
            let ran = catch_unwind(AssertUnwindSafe(|| {
                let (name, params, scenario) = (&entry.algorithm, &entry.params, &entry.stage.scenario);
                catalogue.simulate(name, params, scenario, seed, options, &mut |_| true)
            }));
            let report = match ran {
                Ok(report) => report.map_err(Said::Run)?,
                Err(panic) => {
                    return Err(Said::Panic(panic.downcast_ref::<String>().cloned().unwrap_or_default()));
                }
            };
            let params = cahoots_lab::experiment::to_json(&toml::Value::Table(entry.params.clone()));
            all.push(json!({
                "label": entry.label,
                "seed": seed,
                "key": manifest.key(index),
                "params": params,
                "environment": toml::Value::try_from(&entry.stage.scenario.environment).ok(),
                "alone": involved(&experiment),
                "report": report,
            }));
        }
    }
    Ok(json!(all).to_string())
}

/// Why there is no result.
enum Said {
    Lab(cahoots_lab::LabError),
    Run(RunError),
    Panic(String),
}
