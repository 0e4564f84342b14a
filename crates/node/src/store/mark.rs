//! How many commits a store has seen, written beside it after each. A log whose last frame does not check was cut
//! short by a kill or a power cut, and nobody was told of that commit; or it has rotted, which is a loss: this tells
//! them apart. The mark is never ahead of a sound store, so a store behind its mark is not.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{files, record};

const KEY: &[u8] = b"mark";

/// The file beside a store.
#[derive(Debug)]
pub(super) struct Mark(File);

impl Mark {
    /// Bytes of a mark.
    pub(super) const BYTES: u64 = 12;

    pub(super) fn open(path: &Path) -> io::Result<Mark> {
        files::private().truncate(false).open(path).map(Mark)
    }

    /// The commits that were counted; 0 when there is no readable mark.
    pub(super) fn read(path: &Path) -> u64 {
        let sealed = std::fs::read(path).unwrap_or_default();
        record::open(KEY, &sealed).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    pub(super) fn write(&self, commits: u64) -> io::Result<()> {
        self.0.write_all_at(&record::seal(KEY, &commits.to_le_bytes()), 0)
    }
}
