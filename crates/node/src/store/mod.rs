//! What survives a kill: a snapshot, the log of inputs since, and named values. A commit is one append to the
//! log; whatever is not committed has not happened. Nothing here knows what the bytes mean. A value that is empty is not
//! there: to set it so is to remove it.
//!
//! A store at PATH is a few files:
//!
//! | file | what |
//! |---|---|
//! | PATH | the [checkpoint]: snapshot and named values at one commit, and which generation this is |
//! | PATH.GENERATION.log | the [log] since: entries and values of every commit |
//! | PATH.mark | how many commits there were, to tell a rotten log from one that was cut short |
//! | PATH.lock | held by the process that uses the store |
//!
//! A snapshot begins a generation: a new log, then a new checkpoint beside the old one, which it replaces at one
//! stroke, and then the old log goes. Wherever that stops, one checkpoint and its log are whole.

mod aside;
mod backup;
mod batch;
mod checkpoint;
mod error;
mod files;
mod home;
mod log;
mod look;
mod mark;
mod record;
mod values;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) use aside::Next;
pub use batch::Batch;
use checkpoint::Checkpoint;
pub use error::StoreError;
pub use files::Sync;
use files::{Files, Lock};
pub use home::{Home, Place};
use log::{Link, Log, Scanned};
pub use look::Look;
use mark::Mark;
use values::Values;

use crate::platform::Platform;

/// Version of the files' layout and of the log and the snapshot in them.
pub const FORMAT: u32 = 6;

/// A log may grow to so many times the checkpoint before the state is written again ...
const LONG: u64 = 8;
/// ... or to so many times, once there are as many entries as one would want to replay.
const LONG_ENOUGH: u64 = 4;
/// Less than this is not worth a checkpoint, unless there are many entries.
const SHORT: u64 = 1 << 20;

/// One node's store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    files: Files,
    sync: Sync,
    checkpoint: Checkpoint,
    log: Log,
    /// Values that were set since the checkpoint.
    values: Values,
    mark: Mark,
    commits: u64,
    /// Entries that a restart would replay.
    entries: u64,
    written: u64,
    /// The disk did something that only a restart can sort out.
    broken: Option<String>,
    _lock: Lock,
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
        Store::open_on(&Platform::System, path, owner, sync)
    }

    /// The same, on any platform.
    pub(crate) fn open_on(
        platform: &Platform,
        path: &Path,
        owner: &str,
        sync: Sync,
    ) -> Result<(Store, Recovered), StoreError> {
        let files = Files::of(platform, path);
        let cannot = |e| unreachable(path, e);
        let lock = files.lock().map_err(cannot)?.ok_or_else(|| StoreError::Busy { path: path.into() })?;
        let counted = Mark::read(&files);
        if !platform.exists(&files.checkpoint) {
            if counted > 0 {
                return Err(damaged(path, &format!("the file is gone, after {counted} commits")));
            }
            create(&files, owner, sync).map_err(cannot)?;
        }
        let (checkpoint, scanned) = load(path, &files)?;
        if checkpoint.owner() != owner {
            let (found, expected) = (checkpoint.owner().into(), owner.into());
            return Err(StoreError::Foreign { path: path.into(), found, expected });
        }
        let link = checkpoint.link();
        let commits = link.commits + scanned.batches.len() as u64;
        if counted > commits {
            let what = format!("its last {} commits are gone, or it is an old copy", counted - commits);
            return Err(damaged(path, &what));
        }
        let snapshot = checkpoint.snapshot(path)?;
        // From here on it is sound, and may be written to. What a killed process has left to the system counts now.
        let log = Log::resume(&files, link, &scanned, sync).map_err(cannot)?;
        sync.data(checkpoint.file()).and_then(|()| sync.folder(&files)).map_err(cannot)?;
        let mark = Mark::open(&files).map_err(cannot)?;
        for generation in [link.generation.wrapping_sub(1), link.generation.wrapping_add(1)] {
            files.discard(&files.log(generation));
        }
        files.discard(&files.unfinished());
        let (mut values, mut entries) = (Values::default(), Vec::new());
        for batch in scanned.batches {
            values.set_all(batch.values, &checkpoint);
            entries.extend(batch.entries);
        }
        let store = Store {
            path: path.into(),
            files,
            sync,
            checkpoint,
            log,
            values,
            mark,
            commits,
            entries: entries.len() as u64,
            written: 0,
            broken: None,
            _lock: lock,
        };
        Ok((store, Recovered { snapshot, log: entries }))
    }

    /// A named value.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found = match self.values.get(key) {
            Some(value) => Some(value.to_vec()),
            None => self.checkpoint.value(&self.path, key)?,
        };
        Ok(found.filter(|value| !value.is_empty()))
    }

    /// Named values whose names begin with `prefix`.
    pub fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let mut found = BTreeMap::new();
        for name in self.checkpoint.names().filter(|name| name.starts_with(prefix)) {
            if let Some(value) = self.checkpoint.value(&self.path, name)? {
                found.insert(name.to_string(), value);
            }
        }
        let newer = self.values.beginning_with(prefix);
        found.extend(newer.map(|(name, value)| (name.to_string(), value.to_vec())));
        found.retain(|_, value| !value.is_empty());
        Ok(found.into_iter().collect())
    }

    /// Makes a batch durable: when this returns `Ok`, it survives. After [`StoreError::Full`] the store is as it was
    /// before, and the same batch can be committed again when there is space.
    pub fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if let Some(what) = &self.broken {
            return Err(StoreError::Write { path: self.path.clone(), what: what.clone() });
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.files.platform.committing(&self.path, self.commits + 1, batch);
        match &batch.snapshot {
            None => self.append(batch)?,
            Some(state) => self.begin_generation(batch, state)?,
        }
        self.commits += 1;
        // The commit stands; a mark that lags behind finds less, and accuses nobody.
        if self.mark.write(self.commits).is_ok() {
            self.written += Mark::BYTES;
        }
        Ok(())
    }

    fn append(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let written = self.log.append(self.commits + 1, batch, self.sync);
        let bytes = written.map_err(|error| {
            if !is_full(&error) {
                self.broken = Some(error.to_string());
            }
            failed_write(&self.path, error)
        })?;
        self.written += bytes;
        self.entries += batch.entries.len() as u64;
        self.values.set_all(batch.values.iter().cloned(), &self.checkpoint);
        Ok(())
    }

    /// A new checkpoint with a new log. Until it takes the place of the old one, nothing has happened.
    fn begin_generation(&mut self, batch: &Batch, state: &[u8]) -> Result<(), StoreError> {
        let mut values: BTreeMap<String, Cow<'_, [u8]>> = BTreeMap::new();
        let added = batch.values.iter().map(|(name, value)| (name.as_str(), &value[..]));
        let newer = self.values.beginning_with("").chain(added);
        values.extend(newer.map(|(name, value)| (name.to_string(), Cow::Borrowed(value))));
        for name in self.checkpoint.names() {
            if !values.contains_key(name)
                && let Some(value) = self.checkpoint.value(&self.path, name)?
            {
                values.insert(name.to_string(), Cow::Owned(value));
            }
        }
        values.retain(|_, value| !value.is_empty());
        let old = self.checkpoint.link().generation;
        let (files, sync) = (&self.files, self.sync);
        let begun = random(&files.platform).and_then(|salt| {
            let link = Link { generation: old + 1, salt, commits: self.commits + 1 };
            put_in_place(files, link, self.checkpoint.owner(), Some(state), values, sync)
        });
        let (checkpoint, log) = begun.map_err(|error| {
            files.discard(&files.unfinished());
            files.discard(&files.log(old + 1));
            failed_write(&self.path, error)
        })?;
        self.written += checkpoint.bytes() + log.bytes();
        (self.checkpoint, self.log, self.entries) = (checkpoint, log, 0);
        self.values = Values::default();
        if let Err(error) = sync.folder(&self.files) {
            // Which of the two a power cut would leave is not known: the old log must stay.
            self.broken = Some(error.to_string());
            return Err(failed_write(&self.path, error));
        }
        self.files.discard(&self.files.log(old));
        Ok(())
    }

    /// Is the log long enough that a snapshot pays? Amortised by bytes, so that what is written for snapshots stays a
    /// fraction of what is written for the log: it may grow to eight times the checkpoint (and to 1 MiB in any case), or
    /// to four times, once it has `every` entries. That also bounds what a restart has to replay.
    pub fn wants_snapshot(&self, every: u64) -> bool {
        let (log, checkpoint) = (self.log.bytes(), self.checkpoint.bytes());
        log > (LONG * checkpoint).max(SHORT) || (self.entries >= every && log >= LONG_ENOUGH * checkpoint)
    }

    /// Entries that a restart would replay.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes handed to the system since the store was opened.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Bytes of the last snapshot and the log since.
    pub fn size(&self) -> u64 {
        self.checkpoint.bytes() + self.log.bytes()
    }

    /// How often it was written, ever.
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// Another disk under the log, so to speak.
    #[cfg(test)]
    pub(crate) fn swap_log(&mut self, file: crate::platform::File) -> crate::platform::File {
        self.log.swap_file(file)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it stands on.
    pub(crate) fn platform(&self) -> &Platform {
        &self.files.platform
    }
}

/// A checkpoint and what its log holds, both whole.
fn load(path: &Path, files: &Files) -> Result<(Checkpoint, Scanned), StoreError> {
    load_from(path, files, FORMAT)
}

/// The same of a store of this format or an older one, down to `oldest`.
fn load_from(path: &Path, files: &Files, oldest: u32) -> Result<(Checkpoint, Scanned), StoreError> {
    let checkpoint = Checkpoint::open(path, files, oldest)?;
    let link = checkpoint.link();
    let log = files.log(link.generation);
    let bytes = files.platform.read(&log).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => damaged(path, &format!("its log {} is missing", log.display())),
        _ => unreachable(path, error),
    })?;
    let scanned = log::scan(&bytes, &link, checkpoint.format()).map_err(|what| damaged(path, &what))?;
    Ok((checkpoint, scanned))
}

fn create(files: &Files, owner: &str, sync: Sync) -> std::io::Result<()> {
    let link = Link { generation: 1, salt: random(&files.platform)?, commits: 0 };
    put_in_place(files, link, owner, None, BTreeMap::new(), sync)?;
    sync.folder(files)
}

/// Log first, then the checkpoint that it belongs to, at one stroke.
fn put_in_place(
    files: &Files,
    link: Link,
    owner: &str,
    snapshot: Option<&[u8]>,
    values: BTreeMap<String, Cow<'_, [u8]>>,
    sync: Sync,
) -> std::io::Result<(Checkpoint, Log)> {
    let log = Log::create(files, link, sync)?;
    let checkpoint = Checkpoint::write(files, link, owner, snapshot, values, sync)?;
    sync.folder(files)?;
    files.platform.rename(&files.unfinished(), &files.checkpoint)?;
    Ok((checkpoint, log))
}

fn random(platform: &Platform) -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    platform.fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
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

fn failed_write(path: &Path, error: std::io::Error) -> StoreError {
    if is_full(&error) {
        StoreError::Full { path: path.into() }
    } else {
        StoreError::Write { path: path.into(), what: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(byte: u8) -> Batch {
        let mut batch = Batch::default();
        batch.append(vec![byte; 20]);
        batch
    }

    #[test]
    fn a_disk_that_fails_for_another_reason_than_space_is_not_written_to_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.store");
        let (mut store, _) = Store::open(&path, "us", Sync::Memory).unwrap();
        store.commit(&one(1)).unwrap();
        let file = store.files.open(&store.files.log(1), crate::platform::Opening::ToRead).unwrap();
        let sound = store.log.swap_file(file);
        assert!(matches!(store.commit(&one(2)), Err(StoreError::Write { .. })));
        store.log.swap_file(sound);
        assert!(matches!(store.commit(&one(3)), Err(StoreError::Write { .. })), "what it did is not known");
        drop(store);
        let (mut store, recovered) = Store::open(&path, "us", Sync::Memory).unwrap();
        assert_eq!(recovered.log, [vec![1; 20]]);
        store.commit(&one(4)).unwrap();
    }
}
