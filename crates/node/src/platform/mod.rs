//! What a node stands on: files, the time, random bytes. The system's; or, for tests that rerun a fault from its seed,
//! a simulated one, which only [`inside`](crate::inside) hands in.

mod file;

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use file::{File, Opening, SimulatedFile};

use crate::store::Batch;

/// Synced logs grow by this much at once: a commit then changes the file's data and not its size.
const ROOM: u64 = 1 << 20;

static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Where a node runs.
#[derive(Clone, Debug, Default)]
pub enum Platform {
    /// This machine.
    #[default]
    System,
    /// A test's.
    Simulated(Arc<dyn Simulated>),
}

/// A platform that a test has in its hands.
pub trait Simulated: Debug + Send + Sync {
    /// The date, as a wall clock has it: it may jump.
    fn wall(&self) -> Duration;
    /// Time that has passed: it never goes back.
    fn elapsed(&self) -> Duration;
    /// Random bytes.
    fn fill(&self, bytes: &mut [u8]);
    /// Opens a file.
    fn open(&self, path: &Path, opening: Opening) -> io::Result<Box<dyn SimulatedFile>>;
    /// Whether there is such a file.
    fn exists(&self, path: &Path) -> bool;
    /// Gives a file another name, in the place of whatever has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// The names in a folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// The names in a folder are on disk.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// By how much synced logs grow at once.
    fn room(&self) -> u64;
    /// Bytes after which a log that others keep is long, if that is not for the log to say.
    fn long_log(&self) -> Option<u64> {
        None
    }
    /// A store is about to make its commit of this number durable.
    fn committing(&self, store: &Path, number: u64, batch: &Batch);
    /// A fault that the node is to have, to see that it is found.
    fn bug(&self) -> Option<Bug>;
}

/// Faults that can be planted, to see that the fault simulator finds them. No node outside a simulated platform has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A commit does not wait for the disk.
    SkipFlush,
    /// A client does not log the messages that it takes, and so forgets their numbers.
    ForgetNumber,
    /// A coordinator takes a repeated message for a new one.
    DoubleMerge,
    /// What a replayed input reports is not entered in the books.
    DropFacts,
    /// Who starts anew under its number draws the same noise again.
    ReuseNoise,
    /// What is kept of decisions for an app is not written.
    ForgetTicket,
    /// A leader sends what its log has not acknowledged.
    SendEarly,
    /// A coordinator that stands by skips an input now and then.
    SkipInput,
    /// A client forgets what was confirmed before a snapshot covers it.
    ForgetUncovered,
}

impl Platform {
    /// The date, as a wall clock has it.
    pub fn wall(&self) -> Duration {
        match self {
            Platform::System => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            Platform::Simulated(platform) => platform.wall(),
        }
    }

    /// Time that has passed since some beginning; it never goes back.
    pub fn elapsed(&self) -> Duration {
        match self {
            Platform::System => BEGUN.elapsed(),
            Platform::Simulated(platform) => platform.elapsed(),
        }
    }

    /// Random bytes that nobody can guess.
    pub fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        match self {
            Platform::System => getrandom::fill(bytes)
                .map_err(|e| io::Error::other(format!("the system gives no random bytes: {e}"))),
            Platform::Simulated(platform) => {
                platform.fill(bytes);
                Ok(())
            }
        }
    }

    /// Opens a file.
    pub fn open(&self, path: &Path, opening: Opening) -> io::Result<File> {
        match self {
            Platform::System => opening.system(path).map(File::System),
            Platform::Simulated(platform) => platform.open(path, opening).map(File::Simulated),
        }
    }

    /// All of a file.
    pub fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self {
            Platform::System => std::fs::read(path),
            Platform::Simulated(_) => {
                let file = self.open(path, Opening::ToRead)?;
                let mut bytes = vec![0; file.length()? as usize];
                file.read_exact_at(&mut bytes, 0)?;
                Ok(bytes)
            }
        }
    }

    /// Whether there is such a file.
    pub fn exists(&self, path: &Path) -> bool {
        match self {
            Platform::System => path.exists(),
            Platform::Simulated(platform) => platform.exists(path),
        }
    }

    /// Gives a file another name, in the place of whatever has it.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self {
            Platform::System => std::fs::rename(from, to),
            Platform::Simulated(platform) => platform.rename(from, to),
        }
    }

    /// Removes a file.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        match self {
            Platform::System => std::fs::remove_file(path),
            Platform::Simulated(platform) => platform.remove(path),
        }
    }

    /// The names in a folder.
    pub fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        match self {
            Platform::System => {
                let names = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name()));
                let names: io::Result<Vec<_>> = names.collect();
                Ok(names?.into_iter().filter_map(|name| name.into_string().ok()).collect())
            }
            Platform::Simulated(platform) => platform.list(folder),
        }
    }

    /// The names in a folder are on disk.
    pub fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        match self {
            Platform::System => std::fs::File::open(folder)?.sync_all(),
            Platform::Simulated(platform) => platform.sync_folder(folder),
        }
    }

    /// The one name of a file that may have several.
    pub fn canonical(&self, path: &Path) -> PathBuf {
        match self {
            Platform::System => std::fs::canonicalize(path).unwrap_or_else(|_| path.into()),
            Platform::Simulated(_) => path.into(),
        }
    }

    /// Makes a folder, and those that it is in.
    pub fn create_folder(&self, folder: &Path) -> io::Result<()> {
        match self {
            Platform::System => crate::identity::Private::folder(folder),
            Platform::Simulated(_) => Ok(()),
        }
    }

    /// By how much synced logs grow at once.
    pub fn room(&self) -> u64 {
        match self {
            Platform::System => ROOM,
            Platform::Simulated(platform) => platform.room(),
        }
    }

    /// Bytes after which a log that others keep is long, where nobody could wait until it is.
    pub fn long_log(&self) -> Option<u64> {
        match self {
            Platform::System => None,
            Platform::Simulated(platform) => platform.long_log(),
        }
    }

    /// A store is about to make its commit of this number durable: whoever simulates may look.
    pub fn committing(&self, store: &Path, number: u64, batch: &Batch) {
        if let Platform::Simulated(platform) = self {
            platform.committing(store, number, batch);
        }
    }

    /// Was this fault planted?
    pub fn has(&self, bug: Bug) -> bool {
        matches!(self, Platform::Simulated(platform) if platform.bug() == Some(bug))
    }
}
