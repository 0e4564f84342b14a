//! Writing a scene to its two files, each complete or not at all.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::FigureError;
use crate::drawing::{self, Scene};

/// Writes `stem.svg` and `stem.png`; both are prepared before either is put in place.
pub(crate) fn save(scene: &Scene, stem: &Path) -> Result<(), FigureError> {
    let svg = drawing::svg(scene);
    let png = drawing::png(scene)?;
    let svg = Prepared::new(with_suffix(stem, ".svg"), svg.as_bytes())?;
    let png = Prepared::new(with_suffix(stem, ".png"), &png)?;
    svg.put()?;
    png.put()
}

struct Prepared {
    file: NamedTempFile,
    path: PathBuf,
}

impl Prepared {
    fn new(path: PathBuf, bytes: &[u8]) -> Result<Self, FigureError> {
        match write_beside(&path, bytes) {
            Ok(file) => Ok(Self { file, path }),
            Err(source) => Err(FigureError::Write { path, source }),
        }
    }

    fn put(self) -> Result<(), FigureError> {
        match self.file.persist(&self.path) {
            Ok(_) => Ok(()),
            Err(failed) => Err(FigureError::Write { path: self.path, source: failed.error }),
        }
    }
}

fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder)?;
    let mut builder = Builder::new();
    builder.prefix(".figure-");
    // A temporary file is private by default, a figure is not.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Appends rather than replaces an extension: a stem may contain dots (`epsilon-0.5`).
fn with_suffix(stem: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(stem);
    name.push(suffix);
    name.into()
}
