//! Experiments from files: a TOML file, or the manifest of an earlier run.

use std::path::Path;
use std::sync::Arc;

use cahoots_sim::catalogue::Catalogue;

use crate::error::LabError;
use crate::experiment::{self, Experiment, Inputs, Source};
use crate::files;
use crate::run::Manifest;

/// Reads an experiment; paths in it are relative to it. `seeds`, where given, replaces what the file says.
pub fn load(catalogue: &Arc<Catalogue>, path: &Path, seeds: Option<u64>) -> Result<Experiment, LabError> {
    let text = files::read(path)?;
    if path.extension().is_some_and(|extension| extension == "json") {
        return from_manifest(catalogue, path, &text, seeds);
    }
    let inputs = Inputs::beside(path.parent().unwrap_or(Path::new("")));
    read(catalogue, Source { name: path.display().to_string(), text }, inputs, seeds)
}

/// Reads an experiment from a text; paths in it are relative to the current folder.
pub fn from_text(
    catalogue: &Arc<Catalogue>,
    source: Source,
    seeds: Option<u64>,
) -> Result<Experiment, LabError> {
    read(catalogue, source, Inputs::default(), seeds)
}

fn read(
    catalogue: &Arc<Catalogue>,
    source: Source,
    inputs: Inputs,
    seeds: Option<u64>,
) -> Result<Experiment, LabError> {
    experiment::read(catalogue, source, inputs, seeds)
        .map_err(|complaints| LabError::Input(complaints.to_string()))
}

/// The experiment that a manifest describes, with the seeds it was run with and the files as they were.
fn from_manifest(
    catalogue: &Arc<Catalogue>,
    path: &Path,
    text: &str,
    seeds: Option<u64>,
) -> Result<Experiment, LabError> {
    let manifest = Manifest::parse(path, text)?;
    let source = Source { name: manifest.file, text: manifest.source };
    let inputs = Inputs::recorded(Path::new(&manifest.folder), manifest.inputs);
    let mut experiment = read(catalogue, source, inputs, seeds)?;
    if seeds.is_none() {
        experiment.seeds = manifest.seeds;
    }
    Ok(experiment)
}
