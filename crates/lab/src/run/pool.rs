//! All jobs of an experiment over several threads. Which thread runs what, and
//! when, changes no result.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::folder::Folder;
use super::job;
use super::progress::{Counters, Progress};
use crate::error::LabError;
use crate::experiment::Experiment;

/// Time between two looks at the counters.
const LOOK: Duration = Duration::from_millis(100);

/// A run that is still to be done.
#[derive(Clone, Debug)]
pub struct Job {
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
    queue: &'a [Job],
    next: AtomicUsize,
    counters: Counters,
    /// Set by the user.
    stop: &'a AtomicBool,
    /// Set by the first job that fails.
    failed: AtomicBool,
    failure: Mutex<Option<LabError>>,
    running: Mutex<usize>,
    finished: Condvar,
}

/// Runs all jobs; each is kept as soon as it is done. Says how many were finished, and what failed first.
pub fn run(
    experiment: &Experiment,
    folder: &Folder,
    queue: &[Job],
    threads: usize,
    stop: &AtomicBool,
    quiet: bool,
) -> (usize, Option<LabError>) {
    let threads = threads.clamp(1, queue.len().max(1));
    let shared = Shared {
        experiment,
        folder,
        queue,
        next: AtomicUsize::new(0),
        counters: Counters::default(),
        stop,
        failed: AtomicBool::new(false),
        failure: Mutex::new(None),
        running: Mutex::new(threads),
        finished: Condvar::new(),
    };
    let steps =
        queue.iter().map(|job| experiment.entries[job.entry].stage.steps).fold(0, u64::saturating_add);
    let mut progress = Progress::new(steps, queue.len(), quiet);
    std::thread::scope(|scope| {
        for number in 0..threads {
            let named = std::thread::Builder::new().name(format!("run-{number}"));
            let worker = || shared.work();
            if let Err(error) = named.spawn_scoped(scope, worker) {
                shared.fail(LabError::Failed(format!("cannot start a thread: {error}")));
                shared.leave();
            }
        }
        let mut running = shared.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        while *running > 0 {
            let waited = shared.finished.wait_timeout(running, LOOK);
            running = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
            progress.show(&shared.counters);
        }
    });
    progress.finish();
    let failure = shared.failure.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    (shared.counters.runs.into_inner(), failure)
}

impl Shared<'_> {
    fn work(&self) {
        while !self.stopped()
            && let Some(job) = self.queue.get(self.next.fetch_add(1, Ordering::Relaxed))
        {
            if let Err(error) = self.one(job) {
                self.fail(error);
            }
        }
        self.leave();
    }

    fn fail(&self, error: LabError) {
        self.failed.store(true, Ordering::Relaxed);
        self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(error);
    }

    fn leave(&self) {
        *self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) -= 1;
        self.finished.notify_all();
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
        let record = job::run(&self.experiment.catalogue, entry, &job.key, job.seed, &mut progress)?;
        if let Some(record) = record {
            progress(entry.stage.scenario.horizon);
            self.folder.keep(job.entry, &record)?;
            self.counters.runs.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}
