//! A copy of a store that is in use.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::files::{self, Files};
use super::mark::Mark;
use super::{Store, StoreError, failed_write, load, unreachable};

impl Store {
    /// Copies what is committed so far to a store at another path, where there must be none, and reads the copy again.
    /// The copy is complete or not there at all, and on disk whatever this store's `sync` is. To go back to it, stop the
    /// node and put all files of the copy (PATH and PATH.*) in the place of all files of the store.
    pub fn backup(&self, to: &Path) -> Result<(), StoreError> {
        let copy = Files::of(to);
        let lock = copy.lock().map_err(|e| unreachable(to, e))?;
        let _lock = lock.ok_or_else(|| StoreError::Busy { path: to.into() })?;
        if copy.checkpoint.exists() {
            return Err(StoreError::Exists { path: to.into() });
        }
        let (log, checkpoint) = (copy.log(self.log.link().generation), copy.unfinished());
        let copied = self.copy(&copy, &log, &checkpoint).map_err(|e| failed_write(to, e));
        copied.and_then(|()| self.check(to, &copy)).inspect_err(|_| {
            for file in [&copy.checkpoint, &log, &checkpoint, &copy.mark()] {
                let _ = std::fs::remove_file(file);
            }
        })
    }

    /// Is the copy what it should be?
    fn check(&self, to: &Path, copy: &Files) -> Result<(), StoreError> {
        let what = match load(to, copy) {
            Ok((checkpoint, scanned)) => {
                let commits = checkpoint.link().commits + scanned.batches.len() as u64;
                if commits == self.commits {
                    return Ok(());
                }
                format!("{commits} commits of {} were copied", self.commits)
            }
            Err(error) => error.to_string(),
        };
        Err(StoreError::Write { path: to.into(), what: format!("the copy is of no use: {what}") })
    }

    fn copy(&self, copy: &Files, log: &Path, checkpoint: &Path) -> io::Result<()> {
        copy_file(self.log.file(), self.log.bytes(), log)?;
        copy_file(self.checkpoint.file(), self.checkpoint.bytes(), checkpoint)?;
        let mark = Mark::open(&copy.mark())?;
        mark.write(self.commits)?;
        std::fs::rename(checkpoint, &copy.checkpoint)?;
        files::Sync::Disk.folder(&copy.checkpoint)
    }
}

fn copy_file(mut from: &File, bytes: u64, to: &Path) -> io::Result<()> {
    let mut out = files::private().truncate(true).open(to)?;
    from.seek(SeekFrom::Start(0))?;
    let copied = io::copy(&mut from.take(bytes), &mut out)?;
    if copied != bytes {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    out.sync_all()
}
