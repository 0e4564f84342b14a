//! What a run will take, before it takes it.

use std::time::{Duration, Instant};

use cahoots_sim::driver::Options;
use cahoots_sim::ledger::CURVE_POINTS;
use cahoots_sim::memory::available_bytes;
use serde::Serialize;

use super::manifest::Manifest;
use super::{jobs, keys};
use crate::error::LabError;
use crate::experiment::{Entry, Experiment};
use crate::results::{bytes, grouped};

/// Time that an entry is tried for.
const LOOK: Duration = Duration::from_millis(150);

/// Bytes of a run that is still to be made.
const JOB_BYTES: f64 = 64.0;

/// Bytes of a point of a curve.
const POINT_BYTES: f64 = 40.0;

/// Entries that are tried, at most.
const MOST_TRIED: usize = 24;

/// What an experiment comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// Entries.
    pub entries: usize,
    /// Worlds that they are run in.
    pub worlds: usize,
    /// Seeds of each.
    pub seeds: usize,
    /// Runs of all.
    pub runs: usize,
    /// Decisions of all runs.
    pub decisions: u64,
    /// Runs at a time.
    pub threads: usize,
    /// Seconds that it will take with so many threads, about.
    pub seconds: f64,
    /// Bytes of the largest run, about.
    pub bytes_per_run: f64,
    /// Bytes of as many as are run at a time.
    pub bytes: f64,
    /// Bytes that are free, where the system says.
    pub free: Option<u64>,
}

/// What an experiment will come to with so many threads. Some of its entries are tried for a moment each; nothing is
/// written. What cannot fit into memory is refused.
pub fn expect(experiment: &Experiment, wanted: usize) -> Result<Expected, LabError> {
    let threads = threads(experiment, wanted)?;
    let all = jobs(experiment, &keys(&Manifest::new(experiment, &[])));
    let threads = threads.min(all.len()).max(1);
    let per_seed = all.len() / experiment.seeds.len().max(1);
    let entries: Vec<&Entry> = all[..per_seed].iter().map(|job| &experiment.entries[job.entry]).collect();
    let seeds = experiment.seeds.len() as u64;
    let decisions =
        entries.iter().map(|entry| entry.stage.steps.saturating_mul(seeds)).fold(0, u64::saturating_add);
    let every = entries.len().div_ceil(MOST_TRIED).max(1);
    let tried: Vec<(&Entry, f64)> =
        entries.iter().step_by(every).map(|entry| (*entry, seconds_per_step(experiment, entry))).collect();
    // An entry that was not tried takes as long as one of its block that was.
    let rate = |entry: &Entry| {
        let same = tried.iter().filter(|(known, _)| known.block == entry.block);
        let near = same.min_by_key(|(known, _)| known.stage_index.abs_diff(entry.stage_index));
        near.or(tried.first()).map_or(0.0, |(_, rate)| *rate)
    };
    let alone: f64 = entries.iter().map(|entry| rate(entry) * entry.stage.steps as f64 * seeds as f64).sum();
    let bytes_per_run = largest(experiment).map_or(0.0, |entry| entry.memory.total());
    Ok(Expected {
        entries: experiment.entries.len(),
        worlds: experiment.stages.len(),
        seeds: experiment.seeds.len(),
        runs: all.len(),
        decisions,
        threads,
        seconds: alone / threads as f64,
        bytes_per_run,
        bytes: bytes_per_run * threads as f64,
        free: available_bytes(),
    })
}

fn largest(experiment: &Experiment) -> Option<&Entry> {
    experiment.entries.iter().max_by(|a, b| a.memory.total().total_cmp(&b.memory.total()))
}

/// How many runs can be made at a time: as many as wanted, or as fit into memory. Where not even one does, that is
/// refused, with the sum.
pub(super) fn threads(experiment: &Experiment, wanted: usize) -> Result<usize, LabError> {
    let (Some(entry), Some(free)) = (largest(experiment), available_bytes()) else { return Ok(wanted) };
    let (seeds, runs) =
        (experiment.seeds.len() as f64, experiment.entries.len() as f64 * experiment.seeds.len() as f64);
    let points = experiment.stages.iter().map(|stage| stage.scenario.horizon.min(CURVE_POINTS)).max();
    // All runs that are still to be made; and, in the end, the curves of all seeds of an entry and of the first one.
    let books = (runs * JOB_BYTES).max(2.0 * seeds * POINT_BYTES * points.unwrap_or_default() as f64);
    if books > free as f64 {
        return Err(LabError::Input(format!(
            "these are {} runs, {} seeds of each entry: to keep account of them takes {}, and {} are free: \
             take fewer seeds or entries",
            grouped(runs, 0),
            grouped(seeds, 0),
            bytes(books),
            bytes(free as f64)
        )));
    }
    let fit = (free as f64 / entry.memory.total().max(1.0)).floor();
    if fit < 1.0 {
        return Err(LabError::Input(format!(
            "{} does not fit into memory: a run takes at least {}, and {} are free: \
             lower clients, dim or arms, or use a larger machine",
            entry.label,
            entry.memory,
            bytes(free as f64)
        )));
    }
    Ok(wanted.min(fit as usize))
}

/// Seconds that a decision of an entry takes, tried for a moment with its first seed.
fn seconds_per_step(experiment: &Experiment, entry: &Entry) -> f64 {
    let (mut begun, mut last) = (Instant::now(), (0, Duration::ZERO));
    let mut watch = |tick: u64| {
        if tick == 0 {
            begun = Instant::now();
        }
        last = (tick, begun.elapsed());
        last.1 < LOOK
    };
    let Entry { algorithm, params, stage, .. } = entry;
    let seed = experiment.seeds.first().copied().unwrap_or_default();
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        experiment.catalogue.simulate(
            algorithm,
            params,
            &stage.scenario,
            seed,
            Options::default(),
            &mut watch,
        )
    }));
    if matches!(ran, Ok(Ok(_))) {
        last = (stage.scenario.horizon, begun.elapsed());
    }
    let per_tick = stage.steps as f64 / stage.scenario.horizon.max(1) as f64;
    last.1.as_secs_f64() / (last.0.max(1) as f64 * per_tick).max(1.0)
}
