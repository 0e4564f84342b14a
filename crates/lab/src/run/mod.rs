//! Running an experiment: every entry with every seed, over as many threads as
//! wanted, each run kept on disk as soon as it is done.

mod folder;
mod job;
mod manifest;
mod pool;
mod progress;
mod record;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub use folder::{Folder, Start, read_manifest};
pub use manifest::{Manifest, ManifestEntry};
pub use record::{Curve, Effort, Privacy, Record};

use crate::error::LabError;
use crate::experiment::Experiment;
use crate::results::{self, Summary, Theory};
use pool::Job;

/// How to run. None of it changes a result.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Threads.
    pub jobs: usize,
    /// What to do with a folder that holds something.
    pub start: Start,
    /// Show no progress.
    pub quiet: bool,
    /// How the program was called, for the manifest.
    pub command: Vec<String>,
    /// Set to stop: what is running is given up, what is done is kept.
    pub stop: &'a AtomicBool,
    /// Which bounds are shown beside the regret.
    pub theory: Theory,
    /// Also count client by client, into tables of their own.
    pub per_client: bool,
}

/// What a run left behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Where.
    pub folder: PathBuf,
    /// One per entry, in the order of the file.
    pub summaries: Vec<Summary>,
}

/// Runs an experiment and writes its results to a folder.
pub fn run(experiment: &Experiment, out: &Path, options: &Options<'_>) -> Result<Outcome, LabError> {
    let folder = Folder::claim(out, Manifest::new(experiment, &options.command), options.start)?;
    let keys: Vec<String> = (0..experiment.entries.len()).map(|entry| folder.manifest().key(entry)).collect();
    let total = keys.len() * experiment.seeds.len();
    let queue = still_to_do(experiment, &folder, &keys, options.per_client);
    let before = total - queue.len();
    if before > 0 && !options.quiet {
        eprintln!("{before} of {total} runs are there already");
    }
    let Options { jobs, stop, quiet, per_client, .. } = *options;
    let (done, failure) = pool::run(experiment, &folder, &queue, jobs, stop, quiet, per_client);
    let kept = format!("{} of {total} runs are kept in {}", before + done, out.display());
    if let Some(error) = failure {
        return Err(LabError::Failed(format!(
            "{error}\n{kept}; once that is mended, --resume does the rest"
        )));
    }
    if done < queue.len() {
        return Err(LabError::Stopped(format!(
            "stopped: {kept}; the same command with --resume does the rest"
        )));
    }
    let summaries = results::write(experiment, &folder, &keys, options.theory)?;
    Ok(Outcome { folder: out.to_path_buf(), summaries })
}

/// Seed by seed, so that a run that is stopped has comparable entries.
fn still_to_do(experiment: &Experiment, folder: &Folder, keys: &[String], per_client: bool) -> Vec<Job> {
    let mut queue = Vec::new();
    for &seed in &experiment.seeds {
        for (entry, key) in keys.iter().enumerate() {
            let there = folder.record(entry, key, seed);
            if there.is_none_or(|record| per_client && record.clients.is_none()) {
                queue.push(Job { entry, key: key.clone(), seed });
            }
        }
    }
    queue
}

/// The records of a finished run, one list per entry.
pub fn records(experiment: &Experiment, folder: &Path) -> Result<Vec<Vec<Record>>, LabError> {
    let (manifest, timings) = (Manifest::new(experiment, &[]), results::Timings::read(folder));
    let all = experiment.entries.iter().enumerate().map(|(number, entry)| {
        let key = manifest.key(number);
        let own = experiment.seeds.iter().map(|&seed| folder::record(folder, number, &key, seed));
        let mut own = own.collect::<Option<Vec<Record>>>().ok_or_else(|| {
            LabError::Failed(format!("the finished runs of {} can no longer be read", entry.label))
        })?;
        timings.fill(&mut own);
        Ok(own)
    });
    all.collect()
}
