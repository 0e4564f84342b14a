//! A store that makes room for another.

use std::path::{Path, PathBuf};

use super::files::{self, Files};
use super::{Store, StoreError, unreachable};
use crate::platform::Platform;

impl Store {
    /// Puts all files of a store that nobody uses aside, under names of their own; says where they are now.
    /// `None` where there was no store.
    pub fn set_aside(path: &Path) -> Result<Option<PathBuf>, StoreError> {
        Store::set_aside_on(&Platform::System, path)
    }

    pub(crate) fn set_aside_on(platform: &Platform, path: &Path) -> Result<Option<PathBuf>, StoreError> {
        let files = Files::of(platform, path);
        let failed = |e| unreachable(path, e);
        let lock = files.lock().map_err(failed)?;
        let _lock = lock.ok_or_else(|| StoreError::Busy { path: path.into() })?;
        let here = &files.checkpoint;
        let Some(name) = here.file_name().and_then(|name| name.to_str()) else { return Ok(None) };
        let folder = files::folder(here);
        let mut parts = Vec::new();
        for file in platform.list(folder).map_err(failed)? {
            if let Some(rest) = file.strip_prefix(name).filter(|rest| is_part(rest)) {
                parts.push(rest.to_string());
            }
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let aside =
            (1..).map(|n| folder.join(format!("{name}.old-{n}"))).find(|aside| !platform.exists(aside));
        let aside = aside.expect("there is always a next number");
        for rest in parts {
            let to =
                folder.join(format!("{}{rest}", aside.file_name().and_then(|n| n.to_str()).unwrap_or(name)));
            platform.rename(&folder.join(format!("{name}{rest}")), &to).map_err(failed)?;
        }
        Ok(Some(aside))
    }
}

/// What a store's files are called, after its name.
fn is_part(rest: &str) -> bool {
    let generation = rest.strip_prefix('.').and_then(|rest| rest.strip_suffix(".log"));
    matches!(rest, "" | ".mark" | ".unfinished")
        || generation.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}
