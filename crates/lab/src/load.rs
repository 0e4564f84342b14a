//! Experiments from files: a TOML file, or the manifest of an earlier run.

use std::io::{ErrorKind, Read};
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

/// Reads an experiment from what is left of a stream; paths in it are relative to the current folder.
pub fn from_stream(
    catalogue: &Arc<Catalogue>,
    stream: &mut dyn Read,
    seeds: Option<u64>,
) -> Result<Experiment, LabError> {
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => LabError::Input("the standard input is no text".into()),
        _ => LabError::Failed(format!("cannot read the standard input: {error}")),
    })?;
    from_text(catalogue, Source { name: "stdin".into(), text }, seeds)
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

/// The experiment that a manifest describes, with the seeds it was run with and the files as they were. `path` is what
/// messages call it.
pub fn from_manifest(
    catalogue: &Arc<Catalogue>,
    path: &Path,
    text: &str,
    seeds: Option<u64>,
) -> Result<Experiment, LabError> {
    let manifest = Manifest::parse(path, text)?;
    match seeds {
        None => rerun(catalogue, manifest),
        some => rerun_with(catalogue, manifest, some),
    }
}

/// The experiment that a manifest describes.
pub(crate) fn rerun(catalogue: &Arc<Catalogue>, manifest: Manifest) -> Result<Experiment, LabError> {
    let seeds = manifest.seeds.clone();
    Ok(Experiment { seeds, ..rerun_with(catalogue, manifest, None)? })
}

fn rerun_with(
    catalogue: &Arc<Catalogue>,
    manifest: Manifest,
    seeds: Option<u64>,
) -> Result<Experiment, LabError> {
    let source = Source { name: manifest.file, text: manifest.source };
    let inputs = Inputs::recorded(Path::new(&manifest.folder), manifest.inputs);
    read(catalogue, source, inputs, seeds)
}
