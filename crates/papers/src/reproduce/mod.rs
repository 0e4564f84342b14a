//! The papers' tables and figures: what a paper says beside what is measured here.
//!
//! A [`Paper`] has [items](Item), one per table or figure. An item's experiments are files in its paper's
//! folder, part of the program; its `check_claims` compares what they gave with what the paper says, [claim](Claim) by claim,
//! and draws the figure in the paper's layout. A claim that does not hold is a result, not a
//! failure. To add an item: a file in its paper's folder, a line in that folder's list.

mod builder;
mod claim;
mod index;
mod measured;
mod pages;
mod paper;
pub(crate) mod quantity;
pub(crate) mod replay;
mod report;
mod state;
pub(crate) mod trade_off;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

pub use builder::{AUTHORS_CODE, OURS, ReportBuilder};
pub use claim::{Claim, Reference, Verdict};
pub use index::{INDEX, holds_reproductions, write_index};
pub use measured::{Measured, MeasuredExperiment, Runs};
pub use pages::write_markdown;
pub use paper::{Paper, items, select};
pub use report::Report;
pub use state::State;

use cahoots_lab::LabError;
use cahoots_lab::experiment::Source;
use cahoots_lab::from_text;
use cahoots_lab::run::{self, Start};
use cahoots_sim::catalogue::Catalogue;

/// A table or figure of a paper.
#[derive(Debug)]
pub struct Item {
    /// Paper and number, as in `async-linucb/figure-2a`.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The experiments it takes.
    pub experiments: &'static [ExperimentFile],
    /// About how many seconds it takes on one core.
    pub seconds: Seconds,
    /// Compares what was measured with what the paper says.
    pub check_claims: fn(&Measured, &mut ReportBuilder) -> Result<(), LabError>,
}

/// One experiment of an item.
#[derive(Debug)]
pub struct ExperimentFile {
    /// What it is called within its item.
    pub name: &'static str,
    /// An experiment file. Paths in it that begin with `DATA/` are found in the folder of `--data`.
    pub text: &'static str,
    /// Seeds of a quick look.
    pub quick_seeds: u64,
}

/// Seconds on one core.
#[derive(Clone, Copy, Debug)]
pub struct Seconds {
    /// All seeds.
    pub full: f64,
    /// With `--quick`.
    pub quick: f64,
}

/// How to reproduce. None of it changes a result but `quick`.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// What the papers' experiment files may name.
    pub catalogue: &'a Arc<Catalogue>,
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
        self.experiments.iter().any(|file| file.text.contains(DATA))
    }
}

/// Begins a path to a dataset.
const DATA: &str = "\"DATA/";

/// Runs what is still to be run of an item, compares, draws; everything goes to a folder of its own in `out`.
pub fn reproduce(item: &Item, out: &Path, options: &Options<'_>) -> Result<Report, LabError> {
    let begun = Instant::now();
    let folder = out.join(item.name);
    let mut measured = Measured::default();
    for file in item.experiments {
        let source = Source {
            name: format!("{}: {}.toml", item.name, file.name),
            text: with_data(item, file, options)?,
        };
        let experiment = from_text(options.catalogue, source, options.quick.then_some(file.quick_seeds))?;
        let run = run::Options {
            jobs: options.jobs,
            start: if options.force { Start::Force } else { Start::Resume },
            quiet: options.quiet,
            command: options.command.clone(),
            stop: options.stop,
            theory: crate::lower_bounds,
            // Whose data it was matters where they are real.
            per_client: item.needs_data(),
            watch: None,
        };
        let own_folder = folder.join(file.name);
        run::run(&experiment, &own_folder, &run)?;
        measured.push(file.name, run::records(&experiment, &own_folder)?, experiment);
    }
    let mut builder = ReportBuilder::default();
    (item.check_claims)(&measured, &mut builder)?;
    let mut report = Report::new(item, options.quick, &measured, builder, begun.elapsed().as_secs_f64());
    report.write(&folder)?;
    write_index(out, None)?;
    Ok(report)
}

/// The text of an experiment with the folder of the datasets in its place.
fn with_data(item: &Item, file: &ExperimentFile, options: &Options<'_>) -> Result<String, LabError> {
    if !file.text.contains(DATA) {
        return Ok(file.text.to_string());
    }
    let Some(data) = options.data else {
        return Err(LabError::Input(format!(
            "{} reads a dataset: name the folder that holds it with --data DIR",
            item.name
        )));
    };
    // Within quotes of a TOML file.
    let shown = data.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    Ok(file.text.replace(DATA, &format!("\"{}/", shown.trim_end_matches('/'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_experiment_is_sound() {
        for item in items().filter(|item| !item.needs_data()) {
            for file in item.experiments {
                let source = Source { name: format!("{} {}", item.name, file.name), text: file.text.into() };
                let experiment =
                    from_text(&cahoots_lab::catalogue(), source, Some(file.quick_seeds)).unwrap();
                assert_eq!(experiment.seeds.len() as u64, file.quick_seeds);
            }
        }
    }

    #[test]
    fn any_folder_can_hold_the_data() {
        let item = items().find(|item| item.needs_data()).unwrap();
        let (catalogue, stop) = (cahoots_lab::catalogue(), AtomicBool::new(false));
        let path = Path::new("/a \"b\"\\c/");
        let options = Options {
            catalogue: &catalogue,
            quick: true,
            data: Some(path),
            jobs: 1,
            force: false,
            quiet: true,
            command: Vec::new(),
            stop: &stop,
        };
        let text = with_data(item, &item.experiments[0], &options).unwrap();
        assert!(text.contains(r#"/a \"b\"\\c/"#), "{text}");
        assert!(text.parse::<toml::Table>().is_ok());
    }
}
