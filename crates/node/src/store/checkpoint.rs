//! The state at one commit: a head that says whose it is and what follows, then the snapshot and the named values, one
//! after the other, each under a checksum. A checkpoint is written whole beside the one before, and then takes its
//! place; it is never changed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::files::{self, Files};
use super::log::Link;
use super::record::{self, checksum};
use super::{FORMAT, StoreError, Sync, damaged, unreachable};
use crate::platform::{File, Opening};

/// Every version's store begins with this, its format and a checksum of both.
const MAGIC: &[u8; 8] = b"cahootsC";
/// How the stores of formats 1 and 2 begin.
const OLD_MAGIC: &[u8] = b"redb";
const PREFIX: usize = 16;
const SNAPSHOT: &str = "";

/// The head as it is written.
#[derive(Serialize, Deserialize)]
struct Head {
    generation: u64,
    salt: u64,
    commits: u64,
    owner: String,
    /// The snapshot, under no name, then the values: bytes and checksum of each.
    pieces: Vec<(String, u64, u32)>,
}

/// Where a piece lies in the file.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: u64,
    bytes: u64,
    sum: u32,
}

/// A checkpoint on disk.
#[derive(Debug)]
pub(super) struct Checkpoint {
    file: File,
    link: Link,
    owner: String,
    pieces: BTreeMap<String, Place>,
    bytes: u64,
    format: u32,
}

impl Checkpoint {
    /// Writes one beside the one before; the values bear names, the snapshot is the state they belong to.
    pub(super) fn write(
        files: &Files,
        link: Link,
        owner: &str,
        snapshot: Option<&[u8]>,
        values: BTreeMap<String, Cow<'_, [u8]>>,
        sync: Sync,
    ) -> io::Result<Checkpoint> {
        let mut pieces = values;
        if let Some(state) = snapshot {
            pieces.insert(SNAPSHOT.into(), Cow::Borrowed(state));
        }
        let described = pieces
            .iter()
            .map(|(name, value)| (name.clone(), value.len() as u64, checksum(name.as_bytes(), value)));
        let Link { generation, salt, commits } = link;
        let head = Head { generation, salt, commits, owner: owner.into(), pieces: described.collect() };
        let encoded = postcard::to_stdvec(&head).expect("a head can always be written");
        let sealed = record::seal(b"head", &encoded);
        let length = files::length(sealed.len())?;
        let file = files.open(&files.unfinished(), Opening::Anew)?;
        let mut out = io::BufWriter::new(file.writer());
        out.write_all(&prefix(FORMAT))?;
        out.write_all(&length)?;
        out.write_all(&sealed)?;
        for value in pieces.values() {
            out.write_all(value)?;
        }
        out.flush()?;
        drop(out);
        sync.data(&file)?;
        Ok(Checkpoint::described(file, head, sealed.len(), FORMAT))
    }

    /// What a head says, in a file where it takes so many bytes.
    fn described(file: File, head: Head, sealed: usize, format: u32) -> Checkpoint {
        let mut at = (PREFIX + 4 + sealed) as u64;
        let mut pieces = BTreeMap::new();
        for (name, bytes, sum) in head.pieces {
            pieces.insert(name, Place { at, bytes, sum });
            at = at.saturating_add(bytes);
        }
        let link = Link { generation: head.generation, salt: head.salt, commits: head.commits };
        Checkpoint { file, link, owner: head.owner, pieces, bytes: at, format }
    }

    /// Opens one of this format or an older one, down to `oldest`, and looks at every byte of it; `path` is for words
    /// alone.
    pub(super) fn open(path: &Path, files: &Files, oldest: u32) -> Result<Checkpoint, StoreError> {
        let file = files.open(&files.checkpoint, Opening::ToRead).map_err(|e| unreachable(path, e))?;
        let length = file.length().map_err(|e| unreachable(path, e))?;
        let read = |at: u64, bytes: u64| -> Result<Vec<u8>, StoreError> {
            if at.checked_add(bytes).is_none_or(|end| end > length) {
                return Err(damaged(path, "it is cut short"));
            }
            let mut out = vec![0; bytes as usize];
            file.read_exact_at(&mut out, at).map_err(|e| unreachable(path, e))?;
            Ok(out)
        };
        let format = check_prefix(path, &read(0, length.min(PREFIX as u64))?, oldest)?;
        let after = PREFIX as u64;
        let sealed = u32::from_le_bytes(read(after, 4)?.try_into().expect("four bytes"));
        let sealed = read(after + 4, u64::from(sealed))?;
        let head = record::open(b"head", &sealed).and_then(|bytes| postcard::from_bytes(bytes).ok());
        let head: Head = head.ok_or_else(|| damaged(path, "its head is altered"))?;
        let checkpoint = Checkpoint::described(file, head, sealed.len(), format);
        if checkpoint.bytes != length {
            return Err(damaged(path, "it is longer or shorter than it says"));
        }
        for name in checkpoint.pieces.keys() {
            checkpoint.piece(path, name)?;
        }
        Ok(checkpoint)
    }

    fn piece(&self, path: &Path, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(place) = self.pieces.get(name) else { return Ok(None) };
        let mut value = vec![0; place.bytes as usize];
        self.file.read_exact_at(&mut value, place.at).map_err(|e| unreachable(path, e))?;
        if checksum(name.as_bytes(), &value) != place.sum {
            let what = if name == SNAPSHOT { "the snapshot" } else { &format!("the value of {name:?}") };
            return Err(damaged(path, &format!("{what} is altered")));
        }
        Ok(Some(value))
    }

    /// A named value; `path` is for words alone.
    pub(super) fn value(&self, path: &Path, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        if name == SNAPSHOT { Ok(None) } else { self.piece(path, name) }
    }

    /// Whether it has a value of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        name != SNAPSHOT && self.pieces.contains_key(name)
    }

    /// The names of all values.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.keys().map(String::as_str).filter(|name| *name != SNAPSHOT)
    }

    /// The state.
    pub(super) fn snapshot(&self, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
        self.piece(path, SNAPSHOT)
    }

    /// What its log must say.
    pub(super) fn link(&self) -> Link {
        self.link
    }

    /// Whose it is.
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// Its format.
    pub(super) fn format(&self) -> u32 {
        self.format
    }

    /// Bytes of all of it.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

fn prefix(format: u32) -> [u8; PREFIX] {
    let mut prefix = [0; PREFIX];
    prefix[..8].copy_from_slice(MAGIC);
    prefix[8..12].copy_from_slice(&format.to_le_bytes());
    let sum = checksum(b"format", &prefix[..12]);
    prefix[12..].copy_from_slice(&sum.to_le_bytes());
    prefix
}

/// Does a store of any version begin like this?
pub(super) fn begins_store(first: &[u8; 8]) -> bool {
    first == MAGIC || first.starts_with(OLD_MAGIC)
}

/// Is this a store of our format, or of an older one that will do? What else it may be is told apart.
fn check_prefix(path: &Path, found: &[u8], oldest: u32) -> Result<u32, StoreError> {
    if found.starts_with(OLD_MAGIC) {
        return Err(StoreError::Older { path: path.into(), found: 2 });
    }
    let Some(format) = found.get(8..12).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes)
    else {
        let what = if found.is_empty() { "the file is empty" } else { "it is cut short" };
        return Err(damaged(path, what));
    };
    if found != prefix(format) {
        return Err(damaged(path, "it does not begin as a store does"));
    }
    match format {
        found if (oldest..=FORMAT).contains(&found) => Ok(found),
        found if found > FORMAT => Err(StoreError::Newer { path: path.into(), found }),
        found => Err(StoreError::Older { path: path.into(), found }),
    }
}
