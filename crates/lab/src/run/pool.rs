//! All jobs of an experiment over several threads. Which thread runs what, and
//! when, changes no result.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rayon::ThreadPoolBuilder;
use rayon::iter::{ParallelBridge as _, ParallelIterator as _};

use super::folder::Folder;
use super::job;
use super::progress::{Counters, Progress, Watch};
use crate::error::LabError;
use crate::experiment::Experiment;

/// Time between two looks at the counters.
const LOOK: Duration = Duration::from_millis(100);

/// A run that is still to be done.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// Number of its entry.
    pub entry: usize,
    /// Key of its entry.
    pub key: String,
    /// Its seed.
    pub seed: u64,
}

/// What threads share.
struct Shared<'a> {
    experiment: &'a Experiment,
    folder: &'a Folder,
    counters: Counters,
    /// Set by the user.
    stop: &'a AtomicBool,
    /// Whether runs are counted client by client.
    per_client: bool,
    /// What failed first.
    failure: OnceLock<LabError>,
}

/// Runs all jobs, in the order of the queue; each is kept as soon as it is done. Says how many were
/// finished, and what failed first.
pub(super) fn run(
    experiment: &Experiment,
    folder: &Folder,
    queue: &[Job],
    threads: usize,
    stop: &AtomicBool,
    quiet: bool,
    per_client: bool,
    watch: Option<Watch<'_>>,
) -> (usize, Option<LabError>) {
    let threads = threads.clamp(1, queue.len().max(1));
    // The command tells the panics of runs from its own by this name.
    let named = ThreadPoolBuilder::new().num_threads(threads).thread_name(|number| format!("run-{number}"));
    let pool = match named.build() {
        Ok(pool) => pool,
        Err(error) => return (0, Some(LabError::Failed(format!("cannot start a thread: {error}")))),
    };
    let shared = Shared {
        experiment,
        folder,
        counters: Counters::default(),
        stop,
        per_client,
        failure: OnceLock::new(),
    };
    let steps =
        queue.iter().map(|job| experiment.entries[job.entry].stage.steps).fold(0, u64::saturating_add);
    let mut progress = Progress::new(steps, queue.len(), quiet, watch);
    let (finished, all_finished) = mpsc::channel::<()>();
    pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            // Nothing is sent: the channel closes when this is over.
            let _open = finished;
            queue.iter().take_while(|_| !shared.stopped()).par_bridge().for_each(|job| shared.work(job));
        });
        while all_finished.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            progress.show(&shared.counters);
        }
    });
    progress.finish(&shared.counters);
    (shared.counters.runs.into_inner(), shared.failure.into_inner())
}

impl Shared<'_> {
    fn work(&self, job: &Job) {
        if let Err(error) = self.one(job) {
            let _ = self.failure.set(error);
        }
    }

    fn one(&self, job: &Job) -> Result<(), LabError> {
        let entry = &self.experiment.entries[job.entry];
        let per_tick = entry.stage.steps / entry.stage.scenario.horizon.max(1);
        let mut counted = 0;
        let mut progress = |tick: u64| {
            self.counters.steps.fetch_add((tick - counted) * per_tick, Ordering::Relaxed);
            counted = tick;
            !self.stopped()
        };
        let record =
            job::run(&self.experiment.catalogue, entry, &job.key, job.seed, self.per_client, &mut progress)?;
        if let Some(record) = record {
            progress(entry.stage.scenario.horizon);
            self.folder.keep(job.entry, &record)?;
            self.counters.runs.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failure.get().is_some()
    }
}
