//! The files that an experiment names: read once, relative to the file that names them, and known by their hashes
//! from then on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cahoots_sim::files::{Files, Located, hexadecimal};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::reason;

/// Files of at most so many bytes are kept in the manifest.
const SMALL: usize = 64 << 10;

/// A file that an experiment names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// As the experiment file names it.
    pub path: String,
    /// Hash of its bytes.
    pub sha256: String,
    /// How many there are.
    pub bytes: u64,
    /// What is in it, where that is little.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Input {
    /// A file with this text.
    pub fn new(path: &str, text: &str) -> Input {
        Input {
            path: path.into(),
            sha256: sha256(text.as_bytes()),
            bytes: text.len() as u64,
            text: (text.len() <= SMALL).then(|| text.to_string()),
        }
    }

    /// As many digits of the hash as tell files apart.
    pub fn short_hash(&self) -> &str {
        self.sha256.get(..12).unwrap_or(&self.sha256)
    }
}

fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Reads the files that an experiment names, and remembers which and what was in them.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    folder: PathBuf,
    /// Whether an earlier run is run again, and what they were in it.
    again: bool,
    recorded: BTreeMap<String, Input>,
    read: RefCell<BTreeMap<String, (Input, Option<String>)>>,
}

impl Inputs {
    /// Files that are named relative to a folder.
    pub fn beside(folder: &Path) -> Inputs {
        Inputs { folder: folder.to_path_buf(), ..Inputs::default() }
    }

    /// The same, as they were in an earlier run: what has changed since is refused, what is gone is taken from the
    /// manifest where it is kept there.
    pub fn recorded(folder: &Path, inputs: Vec<Input>) -> Inputs {
        let recorded = inputs.into_iter().map(|input| (input.path.clone(), input)).collect();
        Inputs { again: true, recorded, ..Inputs::beside(folder) }
    }

    /// The folder that paths are relative to, as it was named.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The text of a file; one that was read before is not read again.
    pub fn read(&self, path: &str) -> Result<String, String> {
        if let Some((_, Some(text))) = self.read.borrow().get(path) {
            return Ok(text.clone());
        }
        let text = match self.recorded.get(path) {
            Some(recorded) => self.as_it_was(recorded)?,
            None => self.on_disk(path)?.ok_or_else(|| self.missing(path))?,
        };
        self.read.borrow_mut().insert(path.into(), (Input::new(path, &text), Some(text.clone())));
        Ok(text)
    }

    /// What was read, in the order of names.
    pub fn into_inputs(self) -> Vec<Input> {
        self.read.into_inner().into_values().map(|(input, _)| input).collect()
    }

    /// Where a file is, and what it is known by; one that was looked at before is not read again.
    fn find(&self, path: &str) -> Result<Located, String> {
        let place = self.folder.join(path);
        if let Some((input, _)) = self.read.borrow().get(path) {
            return Ok(Located { path: place, sha256: input.sha256.clone(), bytes: input.bytes });
        }
        let then = self.recorded.get(path);
        if self.again && then.is_none() {
            return Err(
                "it was no part of that run: move it away, or run the experiment file and not its manifest"
                    .into(),
            );
        }
        let found = Located::at(&place).map_err(|error| match (error.kind(), then) {
            (io::ErrorKind::NotFound, Some(then)) => {
                format!("it is gone (sha256 {} in that run): put it back", then.short_hash())
            }
            (io::ErrorKind::NotFound, None) => self.missing(path),
            _ => reason(&error),
        })?;
        let input = Input { path: path.into(), sha256: found.sha256.clone(), bytes: found.bytes, text: None };
        if let Some(recorded) = then.filter(|then| then.sha256 != input.sha256) {
            return Err(changed(recorded, &input));
        }
        self.read.borrow_mut().insert(path.into(), (input, None));
        Ok(found)
    }

    fn as_it_was(&self, recorded: &Input) -> Result<String, String> {
        let then = recorded.short_hash();
        if let Some(text) = self.on_disk(&recorded.path)? {
            let now = Input::new(&recorded.path, &text);
            if now.sha256 == recorded.sha256 {
                return Ok(text);
            }
            return Err(changed(recorded, &now));
        }
        match &recorded.text {
            Some(text) if sha256(text.as_bytes()) == recorded.sha256 => Ok(text.clone()),
            Some(_) => {
                Err(format!("it is gone, and its copy in the manifest is not what it was (sha256 {then})"))
            }
            None => Err(format!("it is gone, and too large to be kept in the manifest (sha256 {then})")),
        }
    }

    /// `None` where there is no such file.
    fn on_disk(&self, path: &str) -> Result<Option<String>, String> {
        match fs::read_to_string(self.folder.join(path)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err("it is no text".into()),
            Err(error) => Err(reason(&error)),
        }
    }

    fn missing(&self, path: &str) -> String {
        let looked = self.folder.join(path);
        let elsewhere = if looked != Path::new(path) && Path::new(path).exists() {
            format!("; there is {path} in the current folder, but")
        } else if Path::new(path).is_absolute() {
            return "there is no such file".into();
        } else {
            ";".into()
        };
        format!("there is no {}{elsewhere} paths are relative to the file that names them", looked.display())
    }
}

impl Files for Inputs {
    fn text(&self, path: &str) -> Result<String, String> {
        self.read(path)
    }

    fn has(&self, path: &str) -> bool {
        self.recorded.contains_key(path) || self.folder.join(path).try_exists().unwrap_or(true)
    }

    fn locate(&self, path: &str) -> Result<Located, String> {
        self.find(path)
    }
}

fn changed(then: &Input, now: &Input) -> String {
    let kept = if then.text.is_some() { ", or move it away (a copy is in the manifest)" } else { "" };
    format!(
        "it has changed since that run (sha256 {} then, {} now): put the old one back{kept}; \
         for results with the new one, run the experiment file and not its manifest",
        then.short_hash(),
        now.short_hash()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_what_others_compute() {
        assert_eq!(
            Input::new("x", "abc").sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(Input::new("x", &"a".repeat(SMALL)).text.map(|text| text.len()), Some(SMALL));
        assert_eq!(Input::new("x", &"a".repeat(SMALL + 1)).text, None);
    }

    #[test]
    fn what_was_is_found_again_or_said_to_be_gone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.csv");
        let large = "1,".repeat(SMALL);
        let recorded = || vec![Input::new("a.csv", "1,2"), Input::new("large.csv", &large)];
        let read = |path: &str| Inputs::recorded(folder.path(), recorded()).read(path);
        assert_eq!(read("a.csv").unwrap(), "1,2", "gone, and kept");
        assert!(read("large.csv").unwrap_err().starts_with("it is gone, and too large"));
        fs::write(&file, "1,2").unwrap();
        assert_eq!(read("a.csv").unwrap(), "1,2");
        fs::write(&file, "1,3").unwrap();
        let error = read("a.csv").unwrap_err();
        let (then, now) = (Input::new("", "1,2").short_hash().to_string(), Input::new("", "1,3"));
        assert!(error.contains(&then) && error.contains(now.short_hash()), "{error}");
        let mut forged = recorded();
        forged[0].text = Some("1,4".into());
        fs::remove_file(&file).unwrap();
        let error = Inputs::recorded(folder.path(), forged).read("a.csv").unwrap_err();
        assert!(error.contains("not what it was"), "{error}");
    }

    #[test]
    fn what_is_not_held_is_known_by_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("large.bin");
        fs::write(&file, [0xff, 0xfe, 0]).unwrap();
        let inputs = Inputs::beside(folder.path());
        let found = inputs.locate("large.bin").unwrap();
        assert_eq!((found.path.as_path(), found.bytes), (file.as_path(), 3));
        assert!(inputs.locate("none.bin").unwrap_err().contains("paths are relative to"));
        let recorded = inputs.into_inputs();
        assert_eq!((recorded.len(), &recorded[0].sha256, &recorded[0].text), (1, &found.sha256, &None));
        let again =
            |recorded: &[Input]| Inputs::recorded(folder.path(), recorded.to_vec()).locate("large.bin");
        assert_eq!(again(&recorded).unwrap(), found);
        fs::write(&file, [0xff, 0xfe, 1]).unwrap();
        assert!(again(&recorded).unwrap_err().starts_with("it has changed since that run"));
        // What is gone is not simply absent, and what has come is not simply taken in its place.
        fs::rename(&file, folder.path().join("large.bin.gz")).unwrap();
        let inputs = Inputs::recorded(folder.path(), recorded);
        assert!(inputs.has("large.bin") && inputs.has("large.bin.gz") && !inputs.has("other.bin"));
        assert!(inputs.locate("large.bin").unwrap_err().starts_with("it is gone (sha256 "));
        assert!(inputs.locate("large.bin.gz").unwrap_err().starts_with("it was no part of that run"));
    }
}
