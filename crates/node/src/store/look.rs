//! A store as it lies there, for who wants to know and not to use it: no byte of it is changed, and no file is made.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cahoots_core::snapshot;

use super::files::Files;
use super::mark::Mark;
use super::{FORMAT, Store, StoreError, checkpoint, damaged, load_from, unreachable};
use crate::platform::{Opening, Platform};

/// The oldest format that can be looked into: its files are laid out as this version's are.
pub(super) const OLDEST: u32 = 5;

/// What is in a store that nobody uses.
#[derive(Debug)]
pub struct Look {
    /// Where it is.
    pub path: PathBuf,
    /// Its format.
    pub format: u32,
    /// Whose it says that it is.
    pub owner: String,
    /// How many checkpoints there were.
    pub generation: u64,
    /// How often it was written, ever.
    pub commits: u64,
    /// Commits since the last checkpoint.
    pub since: u64,
    /// Bytes of the checkpoint.
    pub checkpoint_bytes: u64,
    /// When the checkpoint was written, as far as the file system knows.
    pub checkpoint_time: Option<SystemTime>,
    /// Bytes of the log since.
    pub log_bytes: u64,
    /// A last commit was cut short, of which nobody had been told: the next start drops it.
    pub torn: bool,
    /// The last snapshot.
    pub snapshot: Option<Vec<u8>>,
    /// The inputs since.
    pub log: Vec<Vec<u8>>,
    /// All named values.
    pub values: BTreeMap<String, Vec<u8>>,
}

impl Look {
    /// Looks at a store that no process uses, of this format or of one that is laid out the same.
    pub fn at(path: &Path) -> Result<Look, StoreError> {
        let files = Files::of(&Platform::System, path);
        let cannot = |e| unreachable(path, e);
        // Nobody writes while it is read; without a lock file, nobody ever did.
        let lock = match files.platform.open(&files.lock_file(), Opening::ToRead) {
            Ok(lock) => Some(lock),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(cannot(error)),
        };
        if let Some(lock) = &lock
            && !lock.try_lock().map_err(cannot)?
        {
            return Err(StoreError::Busy { path: path.into() });
        }
        let looked = Look::inside(path, &files);
        if let Some(lock) = lock {
            lock.unlock();
        }
        looked
    }

    fn inside(path: &Path, files: &Files) -> Result<Look, StoreError> {
        let counted = Mark::read(files);
        if !files.platform.exists(&files.checkpoint) && counted > 0 {
            return Err(damaged(path, &format!("the file is gone, after {counted} commits")));
        }
        let (checkpoint, scanned) = load_from(path, files, OLDEST)?;
        let link = checkpoint.link();
        let since = scanned.batches.len() as u64;
        let commits = link.commits + since;
        if counted > commits {
            let what = format!("its last {} commits are gone, or it is an old copy", counted - commits);
            return Err(damaged(path, &what));
        }
        let mut values = BTreeMap::new();
        for name in checkpoint.names() {
            values.extend(checkpoint.value(path, name)?.map(|value| (name.to_string(), value)));
        }
        let mut log = Vec::new();
        for batch in scanned.batches {
            values.extend(batch.values);
            log.extend(batch.entries);
        }
        values.retain(|_, value| !value.is_empty());
        let written = std::fs::metadata(&files.checkpoint).and_then(|data| data.modified());
        Ok(Look {
            path: path.into(),
            format: checkpoint.format(),
            owner: checkpoint.owner().into(),
            generation: link.generation,
            commits,
            since,
            checkpoint_bytes: checkpoint.bytes(),
            checkpoint_time: written.ok(),
            log_bytes: scanned.end,
            torn: scanned.torn,
            snapshot: checkpoint.snapshot(path)?,
            log,
            values,
        })
    }

    /// The last snapshot and the queues that belong to it, as this version reads them.
    pub fn state(&self) -> (Option<Vec<u8>>, Vec<u8>) {
        let renewed = |bytes: &[u8]| match self.format {
            FORMAT => bytes.to_vec(),
            _ => snapshot::renewed(bytes),
        };
        (self.snapshot.as_deref().map(renewed), self.get("queues").map(renewed).unwrap_or_default())
    }

    /// A named value.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.values.get(name).map(Vec::as_slice)
    }

    /// Named values whose names begin with `prefix`, as a store lists them.
    pub(crate) fn list(&self, prefix: &str) -> Vec<(String, Vec<u8>)> {
        let named = self.values.iter().filter(|(name, _)| name.starts_with(prefix));
        named.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

impl Store {
    /// Whether this file begins as a store of any version does.
    pub fn is_one(path: &Path) -> bool {
        let mut first = [0; 8];
        let read = std::fs::File::open(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut first));
        read.is_ok() && checkpoint::begins_store(&first)
    }
}
