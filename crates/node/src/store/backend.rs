//! The file under the database: locked for one process, synced or not.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

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

/// A file that is read and not written: what a database writes to it is forgotten with it.
#[derive(Debug)]
pub(super) struct Unwritten {
    file: Backend,
    over: Mutex<Over>,
}

/// What lies over the file: the length there would be, what of the file itself is left, and what was
/// written, newer pieces last.
#[derive(Debug)]
struct Over {
    len: u64,
    left: u64,
    pieces: Vec<(u64, Vec<u8>)>,
}

impl Unwritten {
    pub(super) fn over(file: Backend) -> io::Result<Unwritten> {
        let len = redb::StorageBackend::len(&file)?;
        Ok(Unwritten { file, over: Mutex::new(Over { len, left: len, pieces: Vec::new() }) })
    }
}

impl redb::StorageBackend for Unwritten {
    fn len(&self) -> io::Result<u64> {
        Ok(self.over.lock().expect("no panic under the lock").len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let over = self.over.lock().expect("no panic under the lock");
        let end = offset + out.len() as u64;
        if end > over.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        out.fill(0);
        let here = over.left.saturating_sub(offset).min(out.len() as u64) as usize;
        self.file.read(offset, &mut out[..here])?;
        for (begin, piece) in &over.pieces {
            let (from, to) = (offset.max(*begin), end.min(begin + piece.len() as u64));
            if from < to {
                let (from_piece, length) = ((from - begin) as usize, (to - from) as usize);
                out[(from - offset) as usize..][..length].copy_from_slice(&piece[from_piece..][..length]);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut over = self.over.lock().expect("no panic under the lock");
        (over.len, over.left) = (len, over.left.min(len));
        for (begin, piece) in &mut over.pieces {
            piece.truncate(len.saturating_sub(*begin) as usize);
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.over.lock().expect("no panic under the lock").pieces.push((offset, data.to_vec()));
        Ok(())
    }
}
