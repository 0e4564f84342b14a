//! The papers' tables and figures: what a paper says beside what is measured here.
//!
//! A [`Paper`] has [items](Item), one per table or figure. An item's experiments are files in its paper's
//! folder, part of the program; its `judge` compares what they gave with what the paper says, [claim](Claim) by claim,
//! and draws the figure in the paper's layout. A claim that does not hold is a result, not a
//! failure. To add an item: a file in its paper's folder, a line in that folder's list.

mod claim;
pub(crate) mod findings;
mod measured;
mod paper;
pub(crate) mod quantity;
mod report;
mod state;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

pub use claim::{Claim, Said, Verdict};
pub use findings::Findings;
pub use measured::{Measured, MeasuredPart, Runs};
pub use paper::{Paper, items, select};
pub use report::Report;
pub use state::State;

use cahoots_lab::LabError;
use cahoots_lab::experiment::Source;
use cahoots_lab::from_text;
use cahoots_lab::run::{self, Start};

/// A table or figure of a paper.
#[derive(Debug)]
pub struct Item {
    /// Paper and number, as in `async-linucb/figure-2a`.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The experiments it takes.
    pub parts: &'static [Part],
    /// About how many seconds it takes on one core.
    pub seconds: Cost,
    /// Compares what was measured with what the paper says.
    pub judge: fn(&Measured, &mut Findings) -> Result<(), LabError>,
}

/// One experiment of an item.
#[derive(Debug)]
pub struct Part {
    /// What it is called within its item.
    pub name: &'static str,
    /// An experiment file. Paths in it that begin with `DATA/` are found in the folder of `--data`.
    pub text: &'static str,
    /// Seeds of a quick look.
    pub quick_seeds: u64,
}

/// Seconds on one core.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// All seeds.
    pub full: f64,
    /// With `--quick`.
    pub quick: f64,
}

/// How to reproduce. None of it changes a result but `quick`.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Few seeds: a look, wide intervals.
    pub quick: bool,
    /// Folder of the datasets.
    pub data: Option<&'a Path>,
    /// Threads.
    pub jobs: usize,
    /// Begin anew instead of using the runs that are there.
    pub force: bool,
    /// Show no progress.
    pub quiet: bool,
    /// How the program was called.
    pub command: Vec<String>,
    /// Set to stop; what is done is kept.
    pub stop: &'a AtomicBool,
}

impl Item {
    /// Whether it reads datasets.
    pub fn needs_data(&self) -> bool {
        self.parts.iter().any(|part| part.text.contains(DATA))
    }
}

/// Begins a path to a dataset.
const DATA: &str = "\"DATA/";

/// Runs what is still to be run of an item, compares, draws; everything goes to a folder of its own in `out`.
pub fn reproduce(item: &Item, out: &Path, options: &Options<'_>) -> Result<Report, LabError> {
    let begun = Instant::now();
    let folder = out.join(item.name);
    let mut measured = Measured::default();
    for part in item.parts {
        let source = Source {
            name: format!("{}: {}.toml", item.name, part.name),
            text: with_data(item, part, options)?,
        };
        let experiment = from_text(source, options.quick.then_some(part.quick_seeds))?;
        let run = run::Options {
            jobs: options.jobs,
            start: if options.force { Start::Force } else { Start::Resume },
            quiet: options.quiet,
            command: options.command.clone(),
            stop: options.stop,
            theory: crate::lower_bounds,
        };
        let part_folder = folder.join(part.name);
        run::run(&experiment, &part_folder, &run)?;
        measured.push(part.name, run::records(&experiment, &part_folder)?, experiment);
    }
    let mut findings = Findings::default();
    (item.judge)(&measured, &mut findings)?;
    let mut report = Report::new(item, options.quick, &measured, findings, begun.elapsed().as_secs_f64());
    report.write(&folder)?;
    Ok(report)
}

/// The text of a part with the folder of the datasets in its place.
fn with_data(item: &Item, part: &Part, options: &Options<'_>) -> Result<String, LabError> {
    if !part.text.contains(DATA) {
        return Ok(part.text.to_string());
    }
    let Some(data) = options.data else {
        return Err(LabError::Input(format!(
            "{} reads a dataset: name the folder that holds it with --data DIR",
            item.name
        )));
    };
    let shown = data.display().to_string().replace('\\', "/");
    Ok(part.text.replace(DATA, &format!("\"{}/", shown.trim_end_matches('/'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_experiment_is_sound() {
        for item in items().filter(|item| !item.needs_data()) {
            for part in item.parts {
                let source = Source { name: format!("{} {}", item.name, part.name), text: part.text.into() };
                let experiment = from_text(source, Some(part.quick_seeds)).unwrap();
                assert_eq!(experiment.seeds.len() as u64, part.quick_seeds);
            }
        }
    }
}
