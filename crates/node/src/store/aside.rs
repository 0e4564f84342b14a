//! A store that makes room for another.

use std::io;
use std::path::{Path, PathBuf};

use super::files::{self, Files};
use super::mark::Mark;
use super::{Store, StoreError, unreachable};
use crate::platform::{Opening, Platform};

/// What takes the place of a store that is put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A new store, or none: whoever is interrupted is left with the whole store or with none.
    Nothing,
    /// A copy: its mark stays, so that whoever is interrupted is told that the store is gone, and does not begin with an
    /// empty one.
    Copy,
}

impl Store {
    /// Puts all files of a store that nobody uses aside, under names of their own; says where they are now.
    /// `None` where there was no store.
    pub fn set_aside(path: &Path) -> Result<Option<PathBuf>, StoreError> {
        Store::set_aside_on(&Platform::System, path, Next::Nothing)
    }

    pub(crate) fn set_aside_on(
        platform: &Platform,
        path: &Path,
        next: Next,
    ) -> Result<Option<PathBuf>, StoreError> {
        let files = Files::of(platform, path);
        let failed = |e| unreachable(path, e);
        let lock = files.lock().map_err(failed)?;
        let _lock = lock.ok_or_else(|| StoreError::Busy { path: path.into() })?;
        move_all(&files, next).map_err(failed)
    }
}

/// The checkpoint's new name is what counts: until it has that, the store is whole here, and from then on it is whole
/// there. Its mark goes before it, since a mark without a checkpoint says that a store is gone.
fn move_all(files: &Files, next: Next) -> io::Result<Option<PathBuf>> {
    let (platform, here) = (&files.platform, &files.checkpoint);
    let Some(name) = here.file_name().and_then(|name| name.to_str()) else { return Ok(None) };
    let folder = files::folder(here);
    let listed = platform.list(folder)?;
    let parts = listed.iter().filter_map(|file| file.strip_prefix(name)).filter(|rest| is_part(rest));
    let parts: Vec<&str> = parts.collect();
    if parts.is_empty() {
        return Ok(None);
    }
    let old = (1..).map(|n| format!("{name}.old-{n}")).find(|old| !platform.exists(&folder.join(old)));
    let old = old.expect("there is always a next number");
    let from = |rest: &str| folder.join(format!("{name}{rest}"));
    let to = |rest: &str| folder.join(format!("{old}{rest}"));
    let copy = |rest: &str| -> io::Result<()> {
        let (file, copied) =
            (files.open(&from(rest), Opening::ToRead)?, files.open(&to(rest), Opening::Anew)?);
        file.copy_to(file.length()?, &copied)?;
        copied.sync_all()
    };
    let logs: Vec<&str> = parts.iter().copied().filter(|rest| !matches!(*rest, "" | MARK)).collect();
    for rest in &logs {
        copy(rest)?;
    }
    if parts.contains(&MARK) {
        match next {
            Next::Nothing => platform.rename(&from(MARK), &to(MARK))?,
            Next::Copy => copy(MARK)?,
        }
    }
    if next == Next::Copy && parts.contains(&"") {
        let mark = Mark::open(files)?;
        // A power cut may have left none that can be read.
        if Mark::read(files) == 0 {
            mark.write(1)?;
        }
        mark.sync()?;
    }
    files::Sync::Disk.folder(files)?;
    if parts.contains(&"") {
        platform.rename(&from(""), &to(""))?;
        files::Sync::Disk.folder(files)?;
    }
    for rest in logs {
        platform.remove(&from(rest))?;
    }
    Ok(Some(to("")))
}

const MARK: &str = ".mark";

/// What a store's files are called, after its name.
fn is_part(rest: &str) -> bool {
    let generation = rest.strip_prefix('.').and_then(|rest| rest.strip_suffix(".log"));
    matches!(rest, "" | MARK | ".unfinished")
        || generation.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}
