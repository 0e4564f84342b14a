//! Files that appear complete or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use crate::error::LabError;

/// How the names of unfinished files begin: ours, and those of figures.
const UNFINISHED: [&str; 2] = [".part-", ".figure-"];

/// Writes a file: beside its place first, then onto the disk, then in place.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    write_with(path, |file| file.write_all(bytes))
}

/// Writes a file with a function that fills it.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), LabError> {
    let put = || -> io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = beside(folder)?;
        fill(file.as_file_mut())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|failed| failed.error)?;
        // The name is on the disk when its folder is; not every system can say so.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
        Ok(())
    };
    put().map_err(|error| LabError::io("write", path, &error))
}

fn beside(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(UNFINISHED[0]);
    // A temporary file is private by default, a result is not.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Removes what a run that was killed had begun to write.
pub fn remove_unfinished(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if UNFINISHED.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes a file that may not be there.
pub fn remove(path: &Path) -> Result<(), LabError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LabError::io("remove", path, &error)),
        _ => Ok(()),
    }
}

/// Reads a text file; one that is not there, or is no text, is the user's to mend.
pub fn read(path: &Path) -> Result<String, LabError> {
    fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => LabError::Input(format!("there is no file {}", path.display())),
        io::ErrorKind::InvalidData => LabError::Input(format!("{} is not a text file", path.display())),
        io::ErrorKind::IsADirectory => LabError::Input(format!("{} is a folder, not a file", path.display())),
        _ => LabError::io("read", path, &error),
    })
}
