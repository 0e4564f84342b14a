//! A copy of a store that is in use.

use std::io;
use std::path::Path;

use super::files::{self, Files};
use super::mark::Mark;
use super::{Store, StoreError, failed_write, load, unreachable};
use crate::platform::{File, Opening};

impl Store {
    /// Copies what is committed so far to a store at another path, where there must be none, and reads the copy again.
    /// The copy is complete or not there at all, and on disk whatever this store's `sync` is. To go back to it, stop the
    /// node and put all files of the copy (PATH and PATH.*) in the place of all files of the store.
    pub fn backup(&self, to: &Path) -> Result<(), StoreError> {
        let copy = Files::of(&self.files.platform, to);
        let lock = copy.lock().map_err(|e| unreachable(to, e))?;
        let _lock = lock.ok_or_else(|| StoreError::Busy { path: to.into() })?;
        if copy.platform.exists(&copy.checkpoint) {
            return Err(StoreError::Exists { path: to.into() });
        }
        // Where a store is to be put back, the mark of the one before says that there was one until it is.
        let marked = copy.platform.exists(&copy.mark());
        let (log, checkpoint) = (copy.log(self.log.link().generation), copy.unfinished());
        let copied = self.copy(&copy, &log, &checkpoint, marked).map_err(|e| failed_write(to, e));
        copied.and_then(|()| self.check(to, &copy)).inspect_err(|_| {
            for file in [&copy.checkpoint, &log, &checkpoint] {
                copy.discard(file);
            }
            if !marked {
                copy.discard(&copy.mark());
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

    fn copy(&self, copy: &Files, log: &Path, checkpoint: &Path, marked: bool) -> io::Result<()> {
        copy_file(self.log.file(), self.log.bytes(), copy, log)?;
        copy_file(self.checkpoint.file(), self.checkpoint.bytes(), copy, checkpoint)?;
        let mark = Mark::open(copy)?;
        if !marked {
            mark.write(self.commits)?;
        }
        copy.platform.rename(checkpoint, &copy.checkpoint)?;
        files::Sync::Disk.folder(copy)?;
        if marked {
            mark.write(self.commits)?;
        }
        Ok(())
    }
}

fn copy_file(from: &File, bytes: u64, copy: &Files, to: &Path) -> io::Result<()> {
    let out = copy.open(to, Opening::Anew)?;
    let copied = from.copy_to(bytes, &out)?;
    if copied != bytes {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    out.sync_all()
}
