//! Files that appear complete or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cahoots_figure::{Picture, Size};
use tempfile::{Builder, NamedTempFile};

use crate::error::LabError;

/// How the names of unfinished files begin.
const UNFINISHED: &str = ".part-";

/// Writes a file: beside its place first, then onto the disk, then in place.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    write_with(path, |file| file.write_all(bytes))
}

/// Writes a file with a function that fills it.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), LabError> {
    Prepared::new(path.to_path_buf(), fill)?.put()
}

/// A form that a picture can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For pages: sharp at every size.
    Svg,
    /// For everything else: pixels, at twice the scale.
    Png,
    /// For papers.
    Pdf,
}

impl Format {
    /// All there are.
    pub const ALL: [Format; 3] = [Format::Svg, Format::Png, Format::Pdf];

    /// How names of such files end.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Png => "png",
            Format::Pdf => "pdf",
        }
    }
}

/// Draws `stem.svg`, `stem.png` (at twice the scale) and `stem.pdf`, creating the folder if needed.
pub fn draw(stem: &Path, picture: &dyn Picture) -> Result<(), LabError> {
    draw_as(stem, picture, None, &[])
}

/// Draws a picture in some forms (all where none is named) and a size. All are prepared before any is put in place.
pub fn draw_as(
    stem: &Path,
    picture: &dyn Picture,
    size: Option<Size>,
    formats: &[Format],
) -> Result<(), LabError> {
    let scene = picture.scene_in(size)?;
    if let Some(folder) = stem.parent() {
        fs::create_dir_all(folder).map_err(|error| LabError::io("create", folder, &error))?;
    }
    let formats = if formats.is_empty() { &Format::ALL[..] } else { formats };
    let prepared: Result<Vec<Prepared>, LabError> = formats
        .iter()
        .map(|format| {
            let bytes = match format {
                Format::Svg => scene.svg().into_bytes(),
                Format::Png => scene.png()?,
                Format::Pdf => scene.pdf()?,
            };
            let path = with_suffix(stem, &format!(".{}", format.ending()));
            Prepared::new(path, |file| file.write_all(&bytes))
        })
        .collect();
    prepared?.into_iter().try_for_each(Prepared::put)
}

/// Appends rather than replaces an extension: a stem may contain dots (`epsilon-0.5`).
fn with_suffix(stem: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(stem);
    name.push(suffix);
    name.into()
}

/// A file that is complete and on the disk, but not yet in its place.
struct Prepared {
    file: NamedTempFile,
    path: PathBuf,
}

impl Prepared {
    fn new(path: PathBuf, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<Prepared, LabError> {
        let filled = || -> io::Result<NamedTempFile> {
            let mut builder = Builder::new();
            builder.prefix(UNFINISHED);
            // A temporary file is private by default, a result is not.
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
            let mut file = builder.tempfile_in(folder_of(&path))?;
            fill(file.as_file_mut())?;
            file.as_file().sync_all()?;
            Ok(file)
        };
        match filled() {
            Ok(file) => Ok(Prepared { file, path }),
            Err(error) => Err(LabError::io("write", &path, &error)),
        }
    }

    fn put(self) -> Result<(), LabError> {
        let Prepared { file, path } = self;
        file.persist(&path).map_err(|failed| LabError::io("write", &path, &failed.error))?;
        // The name is on the disk when its folder is; not every system can say so.
        let _ = File::open(folder_of(&path)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes what a run that was killed had begun to write.
pub fn remove_unfinished(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(UNFINISHED) {
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

#[cfg(test)]
mod tests {
    use cahoots_figure::Figure;

    use super::*;

    #[test]
    fn a_picture_is_three_files_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let stem = folder.path().join("new").join("epsilon-0.5");
        let figure = Figure { title: "A title".into(), ..Figure::default() };
        for _ in 0..2 {
            draw(&stem, &figure).unwrap();
        }
        let names = fs::read_dir(stem.parent().unwrap()).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["epsilon-0.5.pdf", "epsilon-0.5.png", "epsilon-0.5.svg"]);
        let read = |suffix| fs::read(with_suffix(&stem, suffix)).unwrap();
        assert_eq!(read(".svg"), figure.svg().unwrap().into_bytes());
        assert_eq!(read(".png"), figure.png().unwrap());
        assert_eq!(read(".pdf"), figure.pdf().unwrap());
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("figure.svg")).unwrap();
        let error = draw(&folder.path().join("figure"), &Figure::default()).unwrap_err();
        assert!(error.to_string().contains("figure.svg"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished is left");
    }
}
