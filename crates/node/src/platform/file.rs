//! An open file, the system's or a simulated one.

use std::fmt::Debug;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

/// What a file is opened for. Whatever is made is nobody else's to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// To be read; it must be there.
    ToRead,
    /// To be read and written, made where there is none.
    ToWrite,
    /// The same, without what was in it.
    Anew,
}

impl Opening {
    pub(super) fn system(self, path: &Path) -> io::Result<fs::File> {
        let mut options = OpenOptions::new();
        match self {
            Opening::ToRead => options.read(true),
            Opening::ToWrite | Opening::Anew => {
                options.read(true).write(true).create(true).truncate(self == Opening::Anew).mode(0o600)
            }
        };
        options.open(path)
    }
}

/// An open file.
#[derive(Debug)]
pub enum File {
    /// The system's.
    System(fs::File),
    /// A test's.
    Simulated(Box<dyn SimulatedFile>),
}

/// An open file of a simulated platform.
pub trait SimulatedFile: Debug + Send + Sync {
    /// Fills the buffer from this place.
    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()>;
    /// Writes all of this at this place.
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    /// Cuts it off, or makes it longer by zeros.
    fn set_len(&self, length: u64) -> io::Result<()>;
    /// How long it is.
    fn length(&self) -> io::Result<u64>;
    /// What was written is on disk.
    fn sync(&self) -> io::Result<()>;
    /// Takes the file for this process alone; `false` when another has it.
    fn try_lock(&self) -> io::Result<bool>;
    /// Lets it go again.
    fn unlock(&self);
}

impl File {
    /// Fills the buffer from this place.
    pub fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            File::System(file) => file.read_exact_at(buffer, at),
            File::Simulated(file) => file.read_exact_at(buffer, at),
        }
    }

    /// Writes all of this at this place.
    pub fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        match self {
            File::System(file) => file.write_all_at(bytes, at),
            File::Simulated(file) => file.write_all_at(bytes, at),
        }
    }

    /// Cuts it off, or makes it longer by zeros.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        match self {
            File::System(file) => file.set_len(length),
            File::Simulated(file) => file.set_len(length),
        }
    }

    /// How long it is.
    pub fn length(&self) -> io::Result<u64> {
        match self {
            File::System(file) => file.metadata().map(|data| data.len()),
            File::Simulated(file) => file.length(),
        }
    }

    /// What was written is on disk.
    pub fn sync_data(&self) -> io::Result<()> {
        match self {
            File::System(file) => file.sync_data(),
            File::Simulated(file) => file.sync(),
        }
    }

    /// What was written is on disk, and so is when.
    pub fn sync_all(&self) -> io::Result<()> {
        match self {
            File::System(file) => file.sync_all(),
            File::Simulated(file) => file.sync(),
        }
    }

    /// Takes the file for this process alone; `false` when another has it.
    pub fn try_lock(&self) -> io::Result<bool> {
        match self {
            File::System(file) => match file.try_lock() {
                Ok(()) => Ok(true),
                Err(fs::TryLockError::WouldBlock) => Ok(false),
                Err(fs::TryLockError::Error(e)) => Err(e),
            },
            File::Simulated(file) => file.try_lock(),
        }
    }

    /// Lets it go again.
    pub fn unlock(&self) {
        match self {
            File::System(file) => {
                let _ = file.unlock();
            }
            File::Simulated(file) => file.unlock(),
        }
    }

    /// Copies the first `bytes` of this file to another, which is empty; gives how many there were.
    pub fn copy_to(&self, bytes: u64, to: &File) -> io::Result<u64> {
        if let (File::System(from), File::System(to)) = (self, to) {
            let (mut from, mut to): (&fs::File, &fs::File) = (from, to);
            from.seek(SeekFrom::Start(0))?;
            return io::copy(&mut from.take(bytes), &mut to);
        }
        let bytes = bytes.min(self.length()?);
        let mut copied = vec![0; bytes as usize];
        self.read_exact_at(&mut copied, 0)?;
        to.write_all_at(&copied, 0)?;
        Ok(bytes)
    }

    /// Writes one piece after the other, from the beginning of the file.
    pub fn writer(&self) -> Writer<'_> {
        Writer { file: self, at: 0 }
    }
}

/// Writes one piece after the other.
#[derive(Debug)]
pub struct Writer<'a> {
    file: &'a File,
    at: u64,
}

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all_at(bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
