//! The files of a store, beside each other: who may read them, who holds them, and when they are on disk.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::identity::Private;
use crate::platform::{File, Opening, Platform};

/// What "on disk" means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

    /// The names in the folder of these files are on disk.
    pub(super) fn folder(self, files: &Files) -> io::Result<()> {
        match self {
            Sync::Disk => files.platform.sync_folder(folder(&files.checkpoint)),
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
        self.0.unlock();
    }
}

/// Where everything of one store is.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub(super) platform: Platform,
    pub(super) checkpoint: PathBuf,
}

impl Files {
    /// Links are followed: whoever opens the same store by another name meets the same lock.
    pub(super) fn of(platform: &Platform, path: &Path) -> Files {
        Files { platform: platform.clone(), checkpoint: platform.canonical(path) }
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

    /// Held by the process that uses the store.
    pub(super) fn lock_file(&self) -> PathBuf {
        self.beside("lock")
    }

    /// Takes the store for this process alone; `None` when another has it.
    pub(super) fn lock(&self) -> io::Result<Option<Lock>> {
        self.platform.create_folder(folder(&self.checkpoint))?;
        if matches!(self.platform, Platform::System) {
            self.tighten();
        }
        let file = self.platform.open(&self.lock_file(), Opening::ToWrite)?;
        Ok(file.try_lock()?.then(|| Lock(file)))
    }

    /// Opens one of them.
    pub(super) fn open(&self, path: &Path, opening: Opening) -> io::Result<File> {
        self.platform.open(path, opening)
    }

    /// Removes one of them, if that can be done.
    pub(super) fn discard(&self, path: &Path) {
        let _ = self.platform.remove(path);
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

/// A length as files hold it.
pub(super) fn length(bytes: usize) -> io::Result<[u8; 4]> {
    let length = u32::try_from(bytes);
    let length =
        length.map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "more than 4 GiB at once"))?;
    Ok(length.to_le_bytes())
}

pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
