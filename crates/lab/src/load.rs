//! Experiments from files: a TOML file, or the manifest of an earlier run.

use std::path::Path;
use std::sync::Arc;

use cahoots_sim::catalogue::Catalogue;

use crate::error::LabError;
use crate::experiment::{self, Experiment, Source};
use crate::files;
use crate::run::Manifest;

/// Reads an experiment. `seeds`, where given, replaces what the file says.
pub fn load(catalogue: &Arc<Catalogue>, path: &Path, seeds: Option<u64>) -> Result<Experiment, LabError> {
    let text = files::read(path)?;
    if path.extension().is_some_and(|extension| extension == "json") {
        return from_manifest(catalogue, path, &text, seeds);
    }
    from_text(catalogue, Source { name: path.display().to_string(), text }, seeds)
}

/// Reads an experiment from a text.
pub fn from_text(
    catalogue: &Arc<Catalogue>,
    source: Source,
    seeds: Option<u64>,
) -> Result<Experiment, LabError> {
    experiment::read(catalogue, source, seeds).map_err(|complaints| LabError::Input(complaints.to_string()))
}

/// The experiment that a manifest describes, with the seeds it was run with.
fn from_manifest(
    catalogue: &Arc<Catalogue>,
    path: &Path,
    text: &str,
    seeds: Option<u64>,
) -> Result<Experiment, LabError> {
    let manifest: Manifest = serde_json::from_str(text).map_err(|error| {
        LabError::Input(format!("{} is not a manifest of this version: {error}", path.display()))
    })?;
    let source = Source { name: manifest.file, text: manifest.source };
    let mut experiment = from_text(catalogue, source, seeds)?;
    if seeds.is_none() {
        experiment.seeds = manifest.seeds;
    }
    Ok(experiment)
}
