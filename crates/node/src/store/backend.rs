//! The file under the database: locked for one process, synced or not.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde::Deserialize;

/// What "on disk" means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// Every commit waits until the device has it: survives a power cut.
    #[default]
    Disk,
    /// A commit ends in the operating system's memory: survives a killed process, not a power cut.
    Memory,
}

/// A locked file.
#[derive(Debug)]
pub(super) struct Backend {
    file: File,
    sync: Sync,
}

impl Backend {
    /// Takes the file for this process alone; `None` when another has it.
    pub(super) fn lock(file: File, sync: Sync) -> io::Result<Option<Backend>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Backend { file, sync })),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(e)) => Err(e),
        }
    }
}

impl redb::StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.sync {
            Sync::Disk => self.file.sync_data(),
            Sync::Memory => Ok(()),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }
}
