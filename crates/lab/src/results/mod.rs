//! What is left of a run: curves, summaries, figures.

mod bounds;
mod csv;
mod curves;
mod figures;
mod statistics;
mod summary;
mod table;
mod topologies;
mod warnings;

pub use bounds::{LowerBound, LowerBounds, Theory, no_theory};
pub use curves::{SeedCurve, read as read_curves};
pub use figures::{redraw, with_band};
pub use statistics::{Estimate, t_quantile};
pub use summary::Summary;
pub use table::{bytes, grouped, plus_minus, promises, readable, table};
pub use topologies::{draw as draw_topologies, picture as topology_picture};
pub use warnings::warnings;

use crate::error::LabError;
use crate::experiment::{Entry, Experiment};
use crate::files;
use crate::run::{Folder, Record};
use curves::CurveWriter;
use figures::Drawn;

/// Writes curves, figures and summaries of a run whose records are all there.
pub fn write(
    experiment: &Experiment,
    folder: &Folder,
    keys: &[String],
    theory: Theory,
) -> Result<Vec<Summary>, LabError> {
    let mut summaries: Vec<Summary> = Vec::with_capacity(keys.len());
    let mut drawn = Vec::with_capacity(keys.len());
    let mut missing = None;
    files::write_with(&folder.path().join(curves::FILE), |file| {
        let mut writer = CurveWriter::new(file)?;
        let mut first: Option<(&Entry, Vec<Record>)> = None;
        for (number, (entry, key)) in experiment.entries.iter().zip(keys).enumerate() {
            let records: Option<Vec<Record>> =
                experiment.seeds.iter().map(|&seed| folder.record(key, seed)).collect();
            let Some(records) = records else {
                missing = Some(entry.label.clone());
                return Err(std::io::Error::other("a finished run can no longer be read"));
            };
            writer.entry(number, &entry.algorithm, &entry.label, &records)?;
            if first.as_ref().is_none_or(|(known, _)| known.stage_index != entry.stage_index) {
                first = Some((entry, records.clone()));
            }
            let about = &folder.manifest().entries[number];
            let comparable = first.as_ref().filter(|(known, _)| known.objective == entry.objective);
            let comparable = comparable.map(|(_, records)| records.as_slice());
            summaries.push(Summary::new(entry, about, &records, comparable, theory));
            drawn.push(Drawn::new(about, &records.iter().map(|record| &record.curve).collect::<Vec<_>>()));
        }
        writer.finish()
    })
    .map_err(|error| match missing.take() {
        Some(label) => LabError::Failed(format!("the finished runs of {label} can no longer be read")),
        None => error,
    })?;
    figures::draw(folder.path(), folder.manifest(), &drawn, theory)?;
    topologies::draw(&experiment.catalogue, folder.path(), folder.manifest())?;
    files::write(&folder.path().join("summary.csv"), csv::csv(&summaries).as_bytes())?;
    // Last, so that a folder with a summary is a folder with everything.
    let json = serde_json::to_string_pretty(&summaries).unwrap_or_default() + "\n";
    files::write(&folder.path().join("summary.json"), json.as_bytes())?;
    Ok(summaries)
}
