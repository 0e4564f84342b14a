//! Running an experiment: every entry with every seed, over as many threads as
//! wanted, each run kept on disk as soon as it is done.

mod expected;
mod folder;
mod job;
mod manifest;
mod merge;
mod pool;
mod progress;
mod record;
mod shard;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

pub use expected::{Expected, expect};
pub use folder::{Folder, Start, read_manifest};
pub use manifest::{Manifest, ManifestEntry};
pub use merge::merge;
pub use progress::{Seen, Watch};
pub use record::{Curve, Effort, Privacy, Record};
pub use shard::Shard;

use crate::error::LabError;
use crate::experiment::Experiment;
use crate::results::{self, Summary, Theory};
use crate::say::say;
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
    /// Who wants to see how far it is, beside what is shown on the standard error.
    pub watch: Option<Watch<'a>>,
}

/// What a run left behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Where.
    pub folder: PathBuf,
    /// One per entry, in the order of the file.
    pub summaries: Vec<Summary>,
    /// What a reader of these must know, a line each.
    pub warnings: Vec<String>,
}

/// Runs an experiment and writes its results to a folder.
pub fn run(experiment: &Experiment, out: &Path, options: &Options<'_>) -> Result<Outcome, LabError> {
    let manifest = Manifest::new(experiment, &options.command);
    let (folder, keys) = work(experiment, out, manifest, options)?;
    results_of(experiment, &folder, &keys, options.theory)
}

/// Writes the results of a folder that holds all its runs.
fn results_of(
    experiment: &Experiment,
    folder: &Folder,
    keys: &[String],
    theory: Theory,
) -> Result<Outcome, LabError> {
    let summaries = results::write(experiment, folder, keys, theory)?;
    let warnings = results::warnings(experiment, &summaries);
    results::keep_warnings(folder.path(), &warnings)?;
    Ok(Outcome { folder: folder.path().to_path_buf(), summaries, warnings })
}

/// Runs a part of an experiment, into a folder of its own within that of the whole. Says which folder that is, and how
/// many runs it holds.
pub fn run_shard(
    experiment: &Experiment,
    out: &Path,
    shard: Shard,
    options: &Options<'_>,
) -> Result<(PathBuf, usize), LabError> {
    let manifest = Manifest { shard: Some(shard), ..Manifest::new(experiment, &options.command) };
    let path = shard.folder(out);
    let (_, keys) = work(experiment, &path, manifest, options)?;
    let own = (0..jobs(experiment, &keys).len()).filter(|place| shard.has(*place)).count();
    Ok((path, own))
}

/// How many runs of a part are still to be done, in the folder that it has within that of the whole.
pub fn missing(experiment: &Experiment, out: &Path, shard: Shard, per_client: bool) -> usize {
    let path = shard.folder(out);
    let keys = keys(&Manifest::new(experiment, &[]));
    let own = jobs(experiment, &keys).into_iter().enumerate().filter(|(place, _)| shard.has(*place));
    own.filter(|(_, job)| is_missing(folder::record(&path, &job.key, job.seed), per_client)).count()
}

/// Whether a run is to be done, given what is there of it.
fn is_missing(there: Option<Record>, per_client: bool) -> bool {
    there.is_none_or(|record| per_client && record.clients.is_none())
}

/// Does all runs that a folder is to hold and does not.
fn work(
    experiment: &Experiment,
    out: &Path,
    manifest: Manifest,
    options: &Options<'_>,
) -> Result<(Folder, Vec<String>), LabError> {
    // Before there is a folder: what cannot be run leaves none.
    let threads = expected::threads(experiment, options.jobs)?;
    if threads < options.jobs && !options.quiet {
        say(format_args!("there is memory for {threads} runs at a time"));
    }
    let folder = Folder::claim(out, manifest, options.start)?;
    let keys = keys(folder.manifest());
    let mut queue = jobs(experiment, &keys);
    if let Some(shard) = folder.manifest().shard {
        let mut place = 0..;
        queue.retain(|_| place.next().is_some_and(|place| shard.has(place)));
    }
    let total = queue.len();
    let Options { stop, quiet, per_client, watch, .. } = *options;
    queue.retain(|job| is_missing(folder.record(&job.key, job.seed), per_client));
    let before = total - queue.len();
    if before > 0 && !options.quiet {
        say(format_args!("{before} of {total} runs are there already"));
    }
    let (done, failure) = pool::run(experiment, &folder, &queue, threads, stop, quiet, per_client, watch);
    let kept = format!("{} of {total} runs are kept in {}", before + done, out.display());
    if let Some(error) = failure {
        return Err(LabError::Failed(format!(
            "{error}\n{kept}; once that is mended, --resume does the rest"
        )));
    }
    if done < queue.len() || options.stop.load(Ordering::Relaxed) {
        return Err(LabError::Stopped(format!(
            "stopped: {kept}; the same command with --resume does the rest"
        )));
    }
    Ok((folder, keys))
}

/// The key of every entry.
fn keys(manifest: &Manifest) -> Vec<String> {
    (0..manifest.entries.len()).map(|entry| manifest.key(entry)).collect()
}

/// All runs, seed by seed, so that a run that is stopped has comparable entries. Entries that differ in nothing but
/// their label are run once.
fn jobs(experiment: &Experiment, keys: &[String]) -> Vec<Job> {
    let mut different: Vec<(usize, &String)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (entry, key) in keys.iter().enumerate() {
        if seen.insert(key) {
            different.push((entry, key));
        }
    }
    let of_seed = |seed: &u64| {
        let seed = *seed;
        different.iter().map(move |(entry, key)| Job { entry: *entry, key: (*key).clone(), seed })
    };
    experiment.seeds.iter().flat_map(of_seed).collect()
}

/// The records of a finished run, one list per entry.
pub fn records(experiment: &Experiment, folder: &Path) -> Result<Vec<Vec<Record>>, LabError> {
    let (keys, timings) = (keys(&Manifest::new(experiment, &[])), results::Timings::read(folder));
    let all = experiment.entries.iter().zip(&keys).map(|(entry, key)| {
        let own = experiment.seeds.iter().map(|&seed| folder::record(folder, key, seed));
        let mut own = own.collect::<Option<Vec<Record>>>().ok_or_else(|| {
            LabError::Failed(format!("the finished runs of {} can no longer be read", entry.label))
        })?;
        timings.fill(&mut own);
        Ok(own)
    });
    all.collect()
}
