//! The files of a store, beside each other: who may read them, who holds them, and when they are on disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::identity::Private;

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

impl Sync {
    /// What was written to this file is on disk.
    pub(super) fn data(self, file: &File) -> io::Result<()> {
        match self {
            Sync::Disk => file.sync_data(),
            Sync::Memory => Ok(()),
        }
    }

    /// The names in the folder of `path` are on disk.
    pub(super) fn folder(self, path: &Path) -> io::Result<()> {
        match self {
            Sync::Disk => File::open(folder(path))?.sync_all(),
            Sync::Memory => Ok(()),
        }
    }
}

/// A store that is this process's alone.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Drop for Lock {
    /// Explicitly: a child process on its way to `exec` holds the file open for a moment longer.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Where everything of one store is.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub(super) checkpoint: PathBuf,
}

impl Files {
    /// Links are followed: whoever opens the same store by another name meets the same lock.
    pub(super) fn of(path: &Path) -> Files {
        Files { checkpoint: std::fs::canonicalize(path).unwrap_or_else(|_| path.into()) }
    }

    /// The log that follows the checkpoint of this generation.
    pub(super) fn log(&self, generation: u64) -> PathBuf {
        self.beside(&format!("{generation}.log"))
    }

    /// How many commits there were.
    pub(super) fn mark(&self) -> PathBuf {
        self.beside("mark")
    }

    /// A checkpoint that is being written.
    pub(super) fn unfinished(&self) -> PathBuf {
        self.beside("unfinished")
    }

    /// Takes the store for this process alone; `None` when another has it.
    pub(super) fn lock(&self) -> io::Result<Option<Lock>> {
        Private::folder(folder(&self.checkpoint))?;
        self.tighten();
        let file = private().truncate(false).open(self.beside("lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(e)) => Err(e),
        }
    }

    /// What others may read, from a copy or an older version, is its owner's alone from now on.
    fn tighten(&self) {
        let name = self.checkpoint.file_name().unwrap_or_default().as_encoded_bytes();
        let ours = |file: &[u8]| match file.strip_prefix(name) {
            Some([]) => true,
            Some([b'.', rest @ ..]) => {
                matches!(rest, b"mark" | b"lock" | b"unfinished")
                    || rest.ends_with(b".log")
                    || rest.starts_with(b"old-")
            }
            _ => false,
        };
        for entry in std::fs::read_dir(folder(&self.checkpoint)).into_iter().flatten().flatten() {
            if ours(entry.file_name().as_encoded_bytes())
                && let Err(error) = Private::tighten(&entry.path())
            {
                tracing::warn!(%error, path = %entry.path().display(), "others may read this file: `chmod 600` it as its owner");
            }
        }
    }

    fn beside(&self, extension: &str) -> PathBuf {
        let mut name = self.checkpoint.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        name.into()
    }
}

/// A file that is read and written, made where there is none, and nobody else's to read.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    options
}

/// A length as files hold it.
pub(super) fn length(bytes: usize) -> io::Result<[u8; 4]> {
    let length = u32::try_from(bytes);
    let length =
        length.map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "more than 4 GiB at once"))?;
    Ok(length.to_le_bytes())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
