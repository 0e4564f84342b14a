//! How many commits a store has seen, written beside it after each. A log whose last frame does not check was cut
//! short by a kill or a power cut, and nobody was told of that commit; or it has rotted, which is a loss: this tells
//! them apart. The mark is never ahead of a sound store, so a store behind its mark is not.

use std::io;

use super::files::Files;
use super::record;
use crate::platform::{File, Opening};

const KEY: &[u8] = b"mark";

/// The file beside a store.
#[derive(Debug)]
pub(super) struct Mark(File);

impl Mark {
    /// Bytes of a mark.
    pub(super) const BYTES: u64 = 12;

    pub(super) fn open(files: &Files) -> io::Result<Mark> {
        files.open(&files.mark(), Opening::ToWrite).map(Mark)
    }

    /// The commits that were counted; 0 when there is no readable mark.
    pub(super) fn read(files: &Files) -> u64 {
        let sealed = files.platform.read(&files.mark()).unwrap_or_default();
        record::open(KEY, &sealed).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    /// It lasts from now on. Marks of commits are not synced: one that is behind accuses nobody.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    pub(super) fn write(&self, commits: u64) -> io::Result<()> {
        self.0.write_all_at(&record::seal(KEY, &commits.to_le_bytes()), 0)
    }
}
