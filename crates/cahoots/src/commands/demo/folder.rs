//! Where the demo's nodes have their files: gone with the demo, unless they are to be kept.

use std::path::{Path, PathBuf};

use cahoots_lab::LabError;
use tempfile::TempDir;

/// A folder for one demo.
pub(super) enum Folder {
    Passing(TempDir),
    Kept(PathBuf),
}

impl Folder {
    /// A new one; `keep` must have nothing in it.
    pub(super) fn new(keep: Option<&Path>) -> Result<Folder, LabError> {
        let Some(keep) = keep else {
            let made = tempfile::Builder::new().prefix("cahoots-demo-").tempdir();
            let failed = |error| LabError::io("make a folder in", &std::env::temp_dir(), &error);
            return made.map(Folder::Passing).map_err(failed);
        };
        let failed = |error: std::io::Error| LabError::io("use", keep, &error);
        std::fs::create_dir_all(keep).map_err(failed)?;
        if std::fs::read_dir(keep).map_err(failed)?.next().is_some() {
            let problem = format!("--keep {}: there is something in it; name a new folder", keep.display());
            return Err(LabError::Input(problem));
        }
        std::path::absolute(keep).map(Folder::Kept).map_err(failed)
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Folder::Passing(folder) => folder.path(),
            Folder::Kept(folder) => folder,
        }
    }
}
