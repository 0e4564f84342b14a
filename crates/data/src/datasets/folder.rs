//! A folder of data as an experiment names it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use cahoots_sim::files::{Files, Located};

use super::error::DataError;

/// A folder, through whoever keeps account of files. A file may be there as it is or with `.gz` behind its name.
pub struct Folder<'a> {
    files: &'a dyn Files,
    path: String,
    found: RefCell<BTreeMap<String, Option<Located>>>,
}

impl<'a> Folder<'a> {
    /// The folder of this path.
    pub fn new(files: &'a dyn Files, path: &str) -> Folder<'a> {
        let path = path.trim_end_matches('/').to_string();
        Folder { files, path, found: RefCell::default() }
    }

    /// As it was named.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A file that may be there.
    pub fn find(&self, name: &str) -> Result<Option<PathBuf>, DataError> {
        if let Some(known) = self.found.borrow().get(name) {
            return Ok(known.as_ref().map(|file| file.path.clone()));
        }
        let look = |name: &str| {
            let path = format!("{}/{name}", self.path);
            let found = self.files.has(&path).then(|| self.files.locate(&path)).transpose();
            found.map_err(|error| DataError::plain(format!("{name}: {error}")))
        };
        let found = match (look(name)?, look(&format!("{name}.gz"))?) {
            (Some(_), Some(_)) => {
                let problem = format!("there are both {name} and {name}.gz: move one of them away");
                return Err(DataError::plain(problem));
            }
            (plain, zipped) => plain.or(zipped),
        };
        let path = found.as_ref().map(|file| file.path.clone());
        self.found.borrow_mut().insert(name.into(), found);
        Ok(path)
    }

    /// A file that must be there.
    pub fn need(&self, name: &str) -> Result<PathBuf, DataError> {
        self.find(name)?
            .ok_or_else(|| DataError::plain(format!("there is no {name} or {name}.gz in {}", self.path)))
    }

    /// Whether a file is there.
    pub fn has(&self, name: &str) -> Result<bool, DataError> {
        Ok(self.find(name)?.is_some())
    }

    /// Whether there is such a folder.
    pub fn is_there(&self) -> bool {
        self.files.has(&self.path)
    }

    /// What the files that were found are known by.
    pub fn key(&self) -> String {
        let found = self.found.borrow();
        let known = found.iter().filter_map(|(name, file)| Some((name, file.as_ref()?)));
        known.map(|(name, file)| format!("{name} {}\n", file.sha256)).collect()
    }
}
