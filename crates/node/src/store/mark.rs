//! How many commits a store has seen, written beside it after each. A database
//! that finds its last commit damaged falls back to the one before, which is
//! right after a power cut and a silent loss otherwise: this tells them apart.
//! The mark is never ahead of a sound store, so a store behind its mark is not.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::record;

const KEY: &[u8] = b"mark";

/// The file beside a store.
#[derive(Debug)]
pub(super) struct Mark(File);

impl Mark {
    pub(super) fn open(store: &Path) -> io::Result<Mark> {
        let options =
            File::options().read(true).write(true).create(true).truncate(false).open(path(store))?;
        Ok(Mark(options))
    }

    /// The commits that were counted; 0 when there is no readable mark.
    pub(super) fn read(&self) -> u64 {
        let mut sealed = [0; 12];
        let read = self.0.read_exact_at(&mut sealed, 0).ok();
        read.and_then(|()| record::open(KEY, &sealed)?.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    pub(super) fn write(&self, commits: u64) -> io::Result<()> {
        self.0.write_all_at(&record::seal(KEY, &commits.to_le_bytes()), 0)
    }
}

/// Where the mark of a store is.
pub(super) fn path(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".mark");
    name.into()
}
