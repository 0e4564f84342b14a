//! What one simulated node stands on: its disk, its clock, its chances, and a tape of all that its store was given.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use cahoots_node::inside::{Bug, Opening, Platform, Simulated, SimulatedFile};
use cahoots_node::store::Batch;

use super::dice::Dice;
use super::disk::Disk;

/// The date when a schedule begins.
const DATE: u64 = 1_700_000_000_000_000;

/// The time of a schedule, in microseconds.
pub(super) type Micros = u64;

/// What a store was given in one commit.
#[derive(Clone, Debug, Default)]
pub(super) struct Commit {
    /// Inputs.
    pub(super) entries: Vec<Vec<u8>>,
    /// Named values.
    pub(super) values: Vec<(String, Vec<u8>)>,
}

/// What a store was given, commit by commit.
pub(super) type Commits = Vec<Arc<Commit>>;

/// All commits of a store, one after the other; those that did not last are overwritten by what took their number. A store
/// that made room for another, or for a copy, has a life of its own, and may come back.
#[derive(Clone, Debug)]
pub(super) struct Tape {
    lives: Vec<Commits>,
    current: usize,
}

impl Default for Tape {
    fn default() -> Tape {
        Tape { lives: vec![Vec::new()], current: 0 }
    }
}

impl Tape {
    /// From the first commit of the present store on.
    pub(super) fn commits(&self) -> &Commits {
        &self.lives[self.current]
    }

    /// All stores there ever were.
    pub(super) fn lives(&self) -> &[Commits] {
        &self.lives
    }

    /// Which of them is the present one.
    pub(super) fn life(&self) -> usize {
        self.current
    }

    fn push(&mut self, number: u64, batch: &Batch) {
        let before = number.saturating_sub(1) as usize;
        if before == 0 && !self.commits().is_empty() {
            self.lives.push(Vec::new());
            self.current = self.lives.len() - 1;
        }
        if let Some(start) = earlier_start(batch)
            && !began(self.commits(), start)
            && let Some(life) = self.lives.iter().position(|life| began(life, start))
        {
            // What was to take its place has not lasted.
            self.current = life;
        }
        let commits = &mut self.lives[self.current];
        commits.truncate(before);
        commits.push(Arc::new(Commit { entries: batch.entries().to_vec(), values: batch.values().to_vec() }));
    }

    /// What was given beyond so many commits did not last.
    pub(super) fn truncate(&mut self, commits: u64) {
        self.lives[self.current].truncate(commits as usize);
    }

    /// A copy of a store, which was given this much, takes its place.
    pub(super) fn put_back(&mut self, commits: Commits) {
        let first = |commits: &Commits| commits.first().map(|first| first.values.clone());
        let same = self.lives.iter().position(|life| first(life) == first(&commits));
        match same {
            Some(life) => (self.current, self.lives[life]) = (life, commits),
            None => self.fork(commits),
        }
    }

    /// The same, where what it takes the place of may come back.
    pub(super) fn fork(&mut self, commits: Commits) {
        self.lives.push(commits);
        self.current = self.lives.len() - 1;
    }

    /// The present store turned out to be this one.
    pub(super) fn go_on(&mut self, life: usize) {
        self.current = life;
    }
}

/// The start of a client before the one that a batch is about.
fn earlier_start(batch: &Batch) -> Option<u64> {
    let (_, starts) = batch.values().iter().find(|(key, _)| key == "starts")?;
    let starts: Vec<(u64, u64, u64)> = postcard::from_bytes(starts).ok()?;
    starts.iter().rev().nth(1).map(|(epoch, _, _)| *epoch)
}

/// Whether a store knows of this start.
fn began(commits: &Commits, start: u64) -> bool {
    let values = commits.iter().rev().flat_map(|commit| &commit.values);
    let mut starts = values.filter(|(key, _)| key == "starts");
    starts.any(|(_, starts)| {
        postcard::from_bytes::<Vec<(u64, u64, u64)>>(starts)
            .is_ok_and(|starts| starts.iter().any(|(epoch, _, _)| *epoch == start))
    })
}

/// The named value that was set last.
pub(super) fn value<'a>(commits: &'a [Arc<Commit>], name: &str) -> Option<&'a [u8]> {
    let mut set = commits.iter().flat_map(|commit| &commit.values).filter(|(key, _)| key == name);
    set.next_back().map(|(_, value)| &value[..])
}

/// A node's platform.
#[derive(Debug)]
pub(super) struct Computer {
    /// Its disk.
    pub(super) disk: Disk,
    store: PathBuf,
    time: Arc<AtomicU64>,
    skew: AtomicI64,
    dice: Mutex<Dice>,
    tape: Mutex<Tape>,
    /// Bytes after which a log that others keep is long; 0 where it is for the log to say.
    long_log: AtomicU64,
    bug: Option<Bug>,
}

impl Computer {
    /// With an empty disk.
    pub(super) fn new(store: &Path, time: Arc<AtomicU64>, dice: Dice, bug: Option<Bug>) -> Arc<Computer> {
        Arc::new(Computer {
            disk: Disk::default(),
            store: store.into(),
            time,
            skew: AtomicI64::new(0),
            dice: Mutex::new(dice),
            tape: Mutex::default(),
            long_log: AtomicU64::new(0),
            bug,
        })
    }

    /// As nodes take it.
    pub(super) fn platform(self: &Arc<Computer>) -> Platform {
        Platform::Simulated(self.clone())
    }

    /// A log that others keep is long after so many bytes.
    pub(super) fn logs_are_long_after(&self, bytes: u64) {
        self.long_log.store(bytes, Ordering::Relaxed);
    }

    /// The wall clock jumps.
    pub(super) fn jump(&self, by: i64) {
        self.skew.fetch_add(by, Ordering::Relaxed);
    }

    /// What its store was given.
    pub(super) fn tape(&self) -> MutexGuard<'_, Tape> {
        self.tape.lock().expect("no panic under the lock")
    }

    /// Its chances.
    pub(super) fn dice(&self) -> MutexGuard<'_, Dice> {
        self.dice.lock().expect("no panic under the lock")
    }
}

impl Simulated for Computer {
    fn wall(&self) -> Duration {
        let date = DATE + self.time.load(Ordering::Relaxed);
        Duration::from_micros(date.saturating_add_signed(self.skew.load(Ordering::Relaxed)))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.time.load(Ordering::Relaxed))
    }

    fn fill(&self, bytes: &mut [u8]) {
        let mut dice = self.dice();
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&dice.bits().to_le_bytes()[..chunk.len()]);
        }
    }

    fn open(&self, path: &Path, opening: Opening) -> io::Result<Box<dyn SimulatedFile>> {
        self.disk.open(path, opening)
    }

    fn exists(&self, path: &Path) -> bool {
        self.disk.exists(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.disk.list(folder)
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        self.disk.sync_folder()
    }

    fn room(&self) -> u64 {
        512
    }

    fn long_log(&self) -> Option<u64> {
        Some(self.long_log.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
    }

    fn committing(&self, store: &Path, number: u64, batch: &Batch) {
        if store == self.store {
            self.tape().push(number, batch);
        }
    }

    fn bug(&self) -> Option<Bug> {
        self.bug
    }
}
