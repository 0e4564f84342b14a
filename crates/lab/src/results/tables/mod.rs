//! Results as tables: CSV for people, Parquet for programs, every parameter in a column of its own.

pub(super) mod clients;
pub(super) mod columns;
mod csv;
pub(super) mod curves;
mod parquet;
mod sheet;
pub(super) mod timing;

use std::path::Path;

use serde_json::{Value as Json, json};

use super::Summary;
use crate::error::LabError;
use crate::files;
use crate::run::Manifest;
pub(super) use sheet::Sheet;

/// Names of the files with a row per entry.
const SUMMARY_CSV: &str = "summary.csv";
const SUMMARY_PARQUET: &str = "summary.parquet";

/// The sections of an experiment file whose keys become columns, beside `params`, the algorithm's own.
const SECTIONS: [&str; 3] = ["environment", "network", "rewards"];

/// All parameters of all entries: a row per entry, a column per key.
pub(super) fn parameters(manifest: &Manifest) -> Sheet {
    let row = |entry: &crate::run::ManifestEntry| {
        let mut row = json!({ "params": entry.params });
        for section in SECTIONS {
            row[section] = manifest.stages[entry.stage].get(section).cloned().unwrap_or(Json::Null);
        }
        row
    };
    Sheet::new(manifest.entries.iter().map(row))
}

/// The summary as a sheet: what is measured, then all parameters. Nothing in it depends on how long a run took.
pub(super) fn summary(manifest: &Manifest, summaries: &[Summary]) -> Sheet {
    let row = |(summary, entry): (&Summary, &crate::run::ManifestEntry)| {
        let mut row = summary.results();
        for section in SECTIONS {
            row[section] = manifest.stages[entry.stage].get(section).cloned().unwrap_or(Json::Null);
        }
        row
    };
    Sheet::new(summaries.iter().zip(&manifest.entries).map(row))
}

/// Writes `summary.csv` and `summary.parquet`.
pub(super) fn write_summary(folder: &Path, sheet: &Sheet) -> Result<(), LabError> {
    files::write(&folder.join(SUMMARY_CSV), csv::csv(sheet).as_bytes())?;
    files::write_with(&folder.join(SUMMARY_PARQUET), |file| parquet::write(file, "summary", sheet))
}
