//! What is left of a run: curves, summaries, figures.

mod bounds;
mod figures;
mod statistics;
mod summary;
mod table;
mod tables;
mod topologies;
mod warnings;

pub use bounds::{LowerBound, LowerBounds, Theory, no_theory};
pub use figures::{Named, Wanted, pictures, redraw, remove_figures, with_band, world_names};
pub use statistics::{Estimate, t_quantile};
pub use summary::Summary;
pub use table::{bytes, grouped, plus_minus, promises, readable, table};
pub use tables::curves::{SeedCurve, read as read_curves};
pub use tables::timing::{Timings, note as note_timing};
pub use topologies::{diagrams as topology_diagrams, draw as draw_topologies, picture as topology_picture};
pub use warnings::{FILE as WARNINGS, keep as keep_warnings, read as read_warnings, warnings};

use crate::error::LabError;
use crate::experiment::{Entry, Experiment};
use crate::files;
use crate::run::{Folder, Record};
use figures::Drawn;
use tables::curves::{self, CurveWriter};

/// Writes curves, figures and summaries of a run whose records are all there.
pub fn write(
    experiment: &Experiment,
    folder: &Folder,
    keys: &[String],
    theory: Theory,
) -> Result<Vec<Summary>, LabError> {
    let (path, manifest) = (folder.path(), folder.manifest());
    let mut summaries: Vec<Summary> = Vec::with_capacity(keys.len());
    let mut drawn = Vec::with_capacity(keys.len());
    let mut by_client = Vec::with_capacity(keys.len());
    let mut missing = None;
    let (parameters, timings) = (tables::parameters(manifest), Timings::read(path));
    files::write_with(&path.join(curves::FILE), |file| {
        let mut writer = CurveWriter::new(file, &parameters)?;
        let mut first: Option<(&Entry, Vec<Record>)> = None;
        for (number, (entry, key)) in experiment.entries.iter().zip(keys).enumerate() {
            let records: Option<Vec<Record>> =
                experiment.seeds.iter().map(|&seed| folder.record(key, seed)).collect();
            let Some(mut records) = records else {
                missing = Some(entry.label.clone());
                return Err(std::io::Error::other("a finished run can no longer be read"));
            };
            timings.fill(&mut records);
            writer.entry(number, &entry.algorithm, &entry.label, &records)?;
            if first.as_ref().is_none_or(|(known, _)| known.stage_index != entry.stage_index) {
                first = Some((entry, records.clone()));
            }
            let about = &manifest.entries[number];
            let comparable = first.as_ref().filter(|(known, _)| known.objective == entry.objective);
            let comparable = comparable.map(|(_, records)| records.as_slice());
            summaries.push(Summary::new(entry, about, &records, comparable, theory));
            drawn.push(Drawn::new(about, &records.iter().map(|record| &record.curve).collect::<Vec<_>>()));
            by_client.push(records.into_iter().map(|record| (record.seed, record.clients)).collect());
        }
        writer.finish()
    })
    .map_err(|error| match missing.take() {
        Some(label) => LabError::Failed(format!("the finished runs of {label} can no longer be read")),
        None => error,
    })?;
    let mut figures = figures::draw(path, manifest, drawn, theory)?;
    if topologies::draw(&experiment.catalogue, path, manifest)? {
        figures.push(topologies::FILE.into());
    }
    remove_figures(path, &figures)?;
    let sheet = tables::summary(manifest, &summaries);
    tables::write_summary(path, &sheet)?;
    let with_clients = tables::clients::write(path, &manifest.entries, &by_client)?;
    let columns =
        tables::columns::markdown(&experiment.catalogue, manifest, &sheet, &parameters, with_clients);
    files::write(&path.join(tables::columns::FILE), columns.as_bytes())?;
    timings.write(path, manifest)?;
    // Last, so that a folder with a summary is a folder with everything.
    let results: Vec<serde_json::Value> = summaries.iter().map(Summary::results).collect();
    let json = serde_json::to_string_pretty(&results).unwrap_or_default() + "\n";
    files::write(&path.join("summary.json"), json.as_bytes())?;
    Ok(summaries)
}
