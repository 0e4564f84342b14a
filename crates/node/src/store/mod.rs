//! What survives a kill: a snapshot, the log of inputs since, and a few named
//! values, in one file. A commit is one transaction; whatever is not committed
//! has not happened. Nothing here knows what the bytes mean.

mod backend;
mod batch;
mod error;
mod mark;
mod record;

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition, TableError};

use backend::Backend;
pub use backend::Sync;
use backend::Unwritten;
pub use batch::Batch;
pub use error::StoreError;
use mark::Mark;

/// Version of the file's layout and of the log and the snapshot in it.
pub const FORMAT: u32 = 2;

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
const VALUES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("values");
/// Enough for a node's working set; the state itself lives in the machine.
const CACHE: usize = 4 << 20;

/// One node's store.
#[derive(Debug)]
pub struct Store {
    database: Database,
    path: PathBuf,
    mark: Option<Mark>,
    commits: u64,
    /// Entries ever logged.
    next: u64,
    /// Entries and bytes that a restart would replay.
    entries: u64,
    bytes: u64,
    /// Size of the last snapshot.
    snapshot: u64,
}

/// What a store held when it was opened.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The last snapshot.
    pub snapshot: Option<Vec<u8>>,
    /// The inputs since.
    pub log: Vec<Vec<u8>>,
}

impl Store {
    /// Opens a store, or makes one. A new store is complete or not there at all;
    /// a file that is there and not complete is damaged, whatever its length.
    pub fn open(path: &Path, owner: &str, sync: Sync) -> Result<(Store, Recovered), StoreError> {
        if !path.exists() {
            Self::create(path, owner, sync)?;
        }
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|e| unreachable(path, e))?;
        if file.metadata().map_err(|e| unreachable(path, e))?.len() == 0 {
            return Err(damaged(path, "the file is empty"));
        }
        // A database library may give up on bytes that it never wrote.
        let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            Self::check_format(path, file.try_clone().map_err(|e| unreachable(path, e))?)?;
            let store = Self::attach(path, file, sync)?;
            let recovered = store.recover(owner)?;
            Ok((store, recovered))
        }));
        let (mut store, recovered) =
            opened.unwrap_or_else(|_| Err(damaged(path, "its structure makes no sense")))?;
        store.entries = recovered.log.len() as u64;
        store.bytes = recovered.log.iter().map(|entry| entry.len() as u64).sum();
        store.snapshot = recovered.snapshot.as_ref().map_or(0, |state| state.len() as u64);
        store.next = store.number("next")?;
        store.commits = store.number("commits")?;
        let mark = Mark::open(path).map_err(|e| unreachable(path, e))?;
        let counted = mark.read();
        if counted > store.commits {
            let what = format!("its last {} commits are gone, or it is an old copy", counted - store.commits);
            return Err(damaged(path, &what));
        }
        store.mark = Some(mark);
        Ok((store, recovered))
    }

    fn create(path: &Path, owner: &str, sync: Sync) -> Result<(), StoreError> {
        let unfinished = path.with_extension("unfinished");
        let make = || -> std::io::Result<File> {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            File::options().read(true).write(true).create(true).truncate(false).open(&unfinished)
        };
        let file = make().map_err(|e| unreachable(path, e))?;
        let held = file.try_clone().map_err(|e| unreachable(path, e))?;
        let backend = lock(path, file, sync)?;
        // Only now is it ours; what an interrupted start left behind is of no use.
        held.set_len(0).map_err(|e| unreachable(path, e))?;
        let mut store = Self::over(path, backend)?;
        let mut batch = Batch::default();
        batch.set("format", FORMAT.to_le_bytes().to_vec());
        batch.set("owner", owner.as_bytes().to_vec());
        store.commit(batch)?;
        drop(store);
        std::fs::rename(&unfinished, path).map_err(|e| unreachable(path, e))?;
        if sync == Sync::Disk
            && let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
        {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| unreachable(path, e))?;
        }
        Ok(())
    }

    /// Refuses what another version wrote before anything is written: merely opening a database can.
    fn check_format(path: &Path, file: File) -> Result<(), StoreError> {
        let unwritten = Unwritten::over(lock(path, file, Sync::Memory)?).map_err(|e| unreachable(path, e))?;
        let store = Self::over(path, unwritten)?;
        let format = store.get("format")?.ok_or_else(|| damaged(path, "it has no format number"))?;
        match number::<4>(&format).map(u32::from_le_bytes) {
            Some(FORMAT) => Ok(()),
            Some(found) if found > FORMAT => Err(StoreError::Newer { path: path.into(), found }),
            Some(found @ 1..) => Err(StoreError::Older { path: path.into(), found }),
            _ => Err(damaged(path, "its format number is none")),
        }
    }

    fn attach(path: &Path, file: File, sync: Sync) -> Result<Store, StoreError> {
        let mut store = Self::over(path, lock(path, file, sync)?)?;
        // Every page against its checksum; what cannot be mended without loss shows in the mark.
        store.database.check_integrity().map_err(|e| refused(path, e))?;
        Ok(store)
    }

    fn over(path: &Path, backend: impl redb::StorageBackend) -> Result<Store, StoreError> {
        Ok(Store {
            database: builder().create_with_backend(backend).map_err(|e| refused(path, e))?,
            path: path.into(),
            mark: None,
            commits: 0,
            next: 0,
            entries: 0,
            bytes: 0,
            snapshot: 0,
        })
    }

    fn recover(&self, owner: &str) -> Result<Recovered, StoreError> {
        let found = self.get("owner")?.and_then(|bytes| String::from_utf8(bytes).ok());
        let found = found.ok_or_else(|| damaged(&self.path, "it names no owner"))?;
        if found != owner {
            return Err(StoreError::Foreign { path: self.path.clone(), found, expected: owner.into() });
        }
        let snapshot = self.get("snapshot")?;
        let first =
            self.get("snapshot position")?.map_or(Some(0), |bytes| number(&bytes).map(u64::from_le_bytes));
        let first = first.ok_or_else(|| damaged(&self.path, "its snapshot has no position"))?;
        Ok(Recovered { snapshot, log: self.log(first)? })
    }

    /// The log from `first`: every entry, in order, as it was written.
    fn log(&self, first: u64) -> Result<Vec<Vec<u8>>, StoreError> {
        let next = self.number("next")?;
        let read = self.database.begin_read().map_err(|e| refused(&self.path, e))?;
        let mut entries = Vec::new();
        match read.open_table(LOG) {
            Err(TableError::TableDoesNotExist(_)) => {}
            Err(e) => return Err(refused(&self.path, e)),
            Ok(table) => {
                for item in table.iter().map_err(|e| refused(&self.path, e))? {
                    let (key, value) = item.map_err(|e| refused(&self.path, e))?;
                    let position = key.value();
                    let expected = first + entries.len() as u64;
                    let entry = record::open(&position.to_le_bytes(), value.value());
                    match entry {
                        Some(entry) if position == expected => entries.push(entry.to_vec()),
                        _ => {
                            return Err(damaged(
                                &self.path,
                                &format!("log entry {expected} is missing or altered"),
                            ));
                        }
                    }
                }
            }
        }
        if first + entries.len() as u64 != next {
            let what = format!("the log ends at entry {}, not at {next}", first + entries.len() as u64);
            return Err(damaged(&self.path, &what));
        }
        Ok(entries)
    }

    /// A named number; 0 when there is none.
    fn number(&self, key: &str) -> Result<u64, StoreError> {
        match self.get(key)? {
            None => Ok(0),
            Some(bytes) => number(&bytes)
                .map(u64::from_le_bytes)
                .ok_or_else(|| damaged(&self.path, &format!("the value of {key:?} is no number"))),
        }
    }

    /// A named value.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let read = self.database.begin_read().map_err(|e| refused(&self.path, e))?;
        let table = match read.open_table(VALUES) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            other => other.map_err(|e| refused(&self.path, e))?,
        };
        let Some(sealed) = table.get(key).map_err(|e| refused(&self.path, e))? else { return Ok(None) };
        match record::open(key.as_bytes(), sealed.value()) {
            Some(value) => Ok(Some(value.to_vec())),
            None => Err(damaged(&self.path, &format!("the value of {key:?} is altered"))),
        }
    }

    /// Named values whose names begin with `prefix`.
    pub fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let read = self.database.begin_read().map_err(|e| refused(&self.path, e))?;
        let table = match read.open_table(VALUES) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            other => other.map_err(|e| refused(&self.path, e))?,
        };
        let mut found = Vec::new();
        for item in table.range(prefix..).map_err(|e| refused(&self.path, e))? {
            let (key, sealed) = item.map_err(|e| refused(&self.path, e))?;
            let key = key.value();
            if !key.starts_with(prefix) {
                break;
            }
            let value = record::open(key.as_bytes(), sealed.value())
                .ok_or_else(|| damaged(&self.path, &format!("the value of {key:?} is altered")))?;
            found.push((key.to_string(), value.to_vec()));
        }
        Ok(found)
    }

    /// Makes a batch durable: when this returns, it survives.
    pub fn commit(&mut self, batch: Batch) -> Result<(), StoreError> {
        let path = self.path.clone();
        let failed = |e: redb::Error| failed_write(&path, e);
        let next = self.next + batch.entries.len() as u64;
        let write = self.database.begin_write().map_err(|e| failed(e.into()))?;
        {
            let mut values = write.open_table(VALUES).map_err(|e| failed(e.into()))?;
            let mut put = |key: &str, value: &[u8]| {
                let sealed = record::seal(key.as_bytes(), value);
                values.insert(key, sealed.as_slice()).map(|_| ()).map_err(|e| failed(e.into()))
            };
            for (key, value) in &batch.values {
                put(key, value)?;
            }
            put("commits", &(self.commits + 1).to_le_bytes())?;
            if next != self.next {
                put("next", &next.to_le_bytes())?;
            }
            if let Some(state) = &batch.snapshot {
                put("snapshot", state)?;
                put("snapshot position", &next.to_le_bytes())?;
                write.delete_table(LOG).map_err(|e| failed(e.into()))?;
            } else if !batch.entries.is_empty() {
                let mut log = write.open_table(LOG).map_err(|e| failed(e.into()))?;
                for (position, entry) in (self.next..).zip(&batch.entries) {
                    let sealed = record::seal(&position.to_le_bytes(), entry);
                    log.insert(position, sealed.as_slice()).map_err(|e| failed(e.into()))?;
                }
            }
        }
        write.commit().map_err(|e| failed(e.into()))?;
        self.next = next;
        self.commits += 1;
        if let Some(mark) = &self.mark {
            mark.write(self.commits).map_err(|e| failed(redb::Error::Io(e)))?;
        }
        if let Some(state) = &batch.snapshot {
            (self.entries, self.bytes, self.snapshot) = (0, 0, state.len() as u64);
        } else {
            self.entries += batch.entries.len() as u64;
            self.bytes += batch.bytes() as u64;
        }
        Ok(())
    }

    /// Is the log long enough that a snapshot pays? Amortised: a log may grow to
    /// four times the state before the state is written again.
    pub fn wants_snapshot(&self, every: u64) -> bool {
        self.entries >= every || self.bytes > (4 * self.snapshot).max(1 << 20)
    }

    /// Entries that a restart would replay.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of named values (for inspection).
    pub fn values(&self) -> Result<u64, StoreError> {
        let read = self.database.begin_read().map_err(|e| refused(&self.path, e))?;
        let table = read.open_table(VALUES).map_err(|e| refused(&self.path, e))?;
        table.len().map_err(|e| refused(&self.path, e))
    }
}

fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE);
    builder
}

/// Takes the file for this process alone.
fn lock(path: &Path, file: File, sync: Sync) -> Result<Backend, StoreError> {
    let locked = Backend::lock(file, sync).map_err(|e| unreachable(path, e))?;
    locked.ok_or_else(|| StoreError::Busy { path: path.into() })
}

fn number<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

fn unreachable(path: &Path, source: std::io::Error) -> StoreError {
    if is_full(&source) {
        StoreError::Full { path: path.into() }
    } else {
        StoreError::Unreachable { path: path.into(), source }
    }
}

/// No space on the disk, none left of a quota, or a file as large as this process may make one.
fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn damaged(path: &Path, what: &str) -> StoreError {
    StoreError::Damaged { path: path.into(), what: what.into() }
}

/// The database could not be read.
fn refused(path: &Path, error: impl Into<redb::Error>) -> StoreError {
    match error.into() {
        redb::Error::DatabaseAlreadyOpen => StoreError::Busy { path: path.into() },
        redb::Error::Io(e)
            if matches!(e.kind(), std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::InvalidData) =>
        {
            damaged(path, &e.to_string())
        }
        redb::Error::Io(e) => unreachable(path, e),
        other => damaged(path, &other.to_string()),
    }
}

/// The database could not be written.
fn failed_write(path: &Path, error: redb::Error) -> StoreError {
    match error {
        redb::Error::Io(e) if is_full(&e) => StoreError::Full { path: path.into() },
        other => StoreError::Write { path: path.into(), what: other.to_string() },
    }
}
