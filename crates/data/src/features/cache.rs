//! Features that were computed before, outside of any checkout: files known by the hash of the data. A file is there
//! whole or not at all; one that is damaged is made anew.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{Features, Variant};
use crate::datasets::Dataset;
use crate::place;

/// What files begin with; goes up when features are computed or written otherwise.
const MAGIC: &[u8; 16] = b"cahoots-feats-02";

/// Sets with fewer items than this are computed faster than a file is worth.
const WORTH_KEEPING: usize = 2000;

/// A folder of features.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// What is known of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is there and whole.
    Whole,
    /// There is none.
    Absent,
    /// It is there, but damaged or of another version.
    Damaged,
}

impl Cache {
    /// In this folder.
    pub fn at(folder: &Path) -> Cache {
        Cache { folder: folder.to_path_buf() }
    }

    /// In the usual place; none where nobody says where that is.
    pub fn usual() -> Option<Cache> {
        place::usual().map(|folder| Cache { folder })
    }

    /// The usual one for sets that are worth it.
    pub fn usual_for(set: &Dataset) -> Option<Cache> {
        Cache::usual().filter(|_| set.items.len() >= WORTH_KEEPING)
    }

    /// The file of these features.
    pub fn path(&self, set: &Dataset, variant: Variant, dim: usize) -> PathBuf {
        let content = set.content.get(..24).unwrap_or(&set.content);
        self.folder.join(format!("{}-{content}-{}-{dim}.features", set.kind.name(), variant.name()))
    }

    /// Whether these features are there.
    pub fn state(&self, set: &Dataset, variant: Variant, dim: usize) -> Kept {
        match fs::read(self.path(set, variant, dim)) {
            Err(_) => Kept::Absent,
            Ok(bytes) if read(&bytes, set, dim).is_some() => Kept::Whole,
            Ok(_) => Kept::Damaged,
        }
    }

    /// The features, if they are there and whole.
    pub fn get(&self, set: &Dataset, variant: Variant, dim: usize) -> Option<Features> {
        read(&fs::read(self.path(set, variant, dim)).ok()?, set, dim)
    }

    /// Keeps features, if that can be done: a cache that cannot be written to is no failure.
    pub fn put(&self, set: &Dataset, variant: Variant, features: &Features) -> bool {
        let path = self.path(set, variant, features.dim);
        let written = || -> std::io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            let mut file = tempfile::Builder::new().prefix(".part-").tempfile_in(&self.folder)?;
            file.write_all(&bytes(set, features))?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|failed| failed.error)?;
            Ok(())
        };
        written().is_ok()
    }
}

/// Magic, the set's hash, rows, dim, kept, residual, rounds, values; then the hash of all that.
fn bytes(set: &Dataset, features: &Features) -> Vec<u8> {
    let mut out = Vec::with_capacity(256 + 8 * features.values.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(set.content.as_bytes());
    for number in [set.items.len() as u64, features.dim as u64, features.rounds as u64] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for value in [features.kept, features.residual].iter().chain(&features.values) {
        out.extend_from_slice(&value.to_le_bytes());
    }
    let hash = Sha256::digest(&out);
    out.extend_from_slice(&hash);
    out
}

fn read(bytes: &[u8], set: &Dataset, dim: usize) -> Option<Features> {
    let (body, hash) = bytes.split_last_chunk::<32>()?;
    let rest = body.strip_prefix(MAGIC)?.strip_prefix(set.content.as_bytes())?;
    let (words, []) = rest.as_chunks::<8>() else { return None };
    let (head, values) = words.split_first_chunk::<5>()?;
    let [rows, width, rounds] = [0, 1, 2].map(|at| u64::from_le_bytes(head[at]));
    let right = rows == set.items.len() as u64
        && width == dim as u64
        && values.len() == set.items.len() * dim
        && *hash == *Sha256::digest(body);
    right.then(|| Features {
        dim,
        values: values.iter().map(|word| f64::from_le_bytes(*word)).collect(),
        kept: f64::from_le_bytes(head[3]),
        residual: f64::from_le_bytes(head[4]),
        rounds: rounds as usize,
    })
}
