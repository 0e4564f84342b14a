//! Tables as they are run: rows of the same width in one file, outside of any checkout, known by a hash of where they
//! come from. Any row is read without those before it; a hash of all that stands before it comes last.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::features::Features;

/// How these files begin; the last digit is the version of what follows.
const MAGIC: &[u8; 8] = b"cahtab02";

/// Bytes of the hash at their end.
const HASH: u64 = 32;

/// What stands before the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// How many rows there are.
    pub rows: u64,
    /// How many clients the column of clients has, if there is one.
    pub clients: Option<usize>,
    /// Names of the arms.
    pub arms: Vec<String>,
    /// Features of the context.
    pub context: Features,
    /// Features of the arms, one arm after the other, where they come from a file.
    pub arm_features: Option<Vec<f64>>,
    /// Whether rows say what their arm pays, and from where to where that goes.
    pub rewards: Option<(f64, f64)>,
    /// The most arms that a row offers, where rows say.
    pub offered: Option<usize>,
    /// Rows that were left out: with too many or too few cells, with empty cells, with rare labels.
    pub left_out: [u64; 3],
}

impl Meta {
    /// Bytes of a row.
    pub(super) fn width(&self) -> usize {
        let reward = if self.rewards.is_some() { 8 } else { 0 };
        8 + reward + 4 * self.offered.unwrap_or(0) + self.context.width()
    }
}

/// A file of rows.
#[derive(Clone, Debug)]
pub struct Cached {
    /// Where it is.
    pub path: PathBuf,
    /// What stands before its rows.
    pub meta: Meta,
    first: u64,
}

/// Where such files are kept: in the usual place, or with what is temporary where there is none.
#[cfg(not(test))]
pub fn folder() -> PathBuf {
    crate::place::usual().unwrap_or_else(|| std::env::temp_dir().join("cahoots"))
}

/// Tests keep theirs to themselves.
#[cfg(test)]
pub(crate) fn folder() -> PathBuf {
    static OWN: std::sync::LazyLock<tempfile::TempDir> =
        std::sync::LazyLock::new(|| tempfile::tempdir().expect("a folder"));
    OWN.path().to_path_buf()
}

impl Cached {
    /// The file of this key, if it is there and whole.
    pub(super) fn open(folder: &Path, key: &str) -> Option<Cached> {
        let path = place(folder, key);
        let mut file = File::open(&path).ok()?;
        let mut head = [0; 16];
        file.read_exact(&mut head).ok()?;
        let (magic, length) = head.split_at(8);
        let length = u64::from_le_bytes(length.try_into().ok()?);
        let size = file.metadata().ok()?.len();
        if magic != MAGIC || length > size {
            return None;
        }
        let mut meta = vec![0; usize::try_from(length).ok()?];
        file.read_exact(&mut meta).ok()?;
        let meta: Meta = serde_json::from_slice(&meta).ok()?;
        let first = 16 + length;
        let end = meta.rows.checked_mul(meta.width() as u64)?.checked_add(first)?;
        let whole = end.checked_add(HASH)? == size && is_right(file, end).ok()?;
        whole.then_some(Cached { path, meta, first })
    }

    /// Writes the file of this key: complete, or not at all.
    pub(super) fn write(folder: &Path, key: &str, meta: Meta) -> io::Result<Writing> {
        fs::create_dir_all(folder)?;
        let file = BufWriter::with_capacity(1 << 18, NamedTempFile::new_in(folder)?);
        let head = serde_json::to_vec(&meta)?;
        let cached = Cached { path: place(folder, key), first: 16 + head.len() as u64, meta };
        let mut writing = Writing { file, hash: Sha256::new(), cached };
        for part in [&MAGIC[..], &(head.len() as u64).to_le_bytes(), &head] {
            writing.write(part)?;
        }
        Ok(writing)
    }

    /// Opens it for reading, `block` bytes at a time.
    pub(super) fn reader(&self, block: usize) -> io::Result<Reader> {
        let width = self.meta.width();
        let held = (block / width.max(1)).max(1) as u64;
        let file = File::open(&self.path)?;
        Ok(Reader { file, width, first: self.first, rows: self.meta.rows, held, from: 0, buffer: Vec::new() })
    }
}

/// Whether the hash at the end is that of the `end` bytes before it; in bounded memory.
fn is_right(mut file: File, end: u64) -> io::Result<bool> {
    file.seek(SeekFrom::Start(0))?;
    let (mut hash, mut buffer, mut left) = (Sha256::new(), vec![0; 1 << 16], end);
    while left > 0 {
        let part = &mut buffer[..left.min(1 << 16) as usize];
        file.read_exact(part)?;
        hash.update(&*part);
        left -= part.len() as u64;
    }
    let mut stated = [0; HASH as usize];
    file.read_exact(&mut stated)?;
    Ok(stated == *hash.finalize())
}

fn place(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("table-{key}.rows"))
}

/// A file that is not complete yet.
pub(super) struct Writing {
    file: BufWriter<NamedTempFile>,
    /// Of all that was written so far.
    hash: Sha256,
    cached: Cached,
}

impl Writing {
    pub(super) fn row(&mut self, packed: &[u8]) -> io::Result<()> {
        debug_assert_eq!(packed.len(), self.cached.meta.width());
        self.write(packed)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.file.write_all(bytes)
    }

    pub(super) fn done(mut self) -> io::Result<Cached> {
        self.file.write_all(&self.hash.finalize())?;
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        // A name that outlives a crash must not stand for less than all of it.
        file.as_file().sync_all()?;
        file.persist(&self.cached.path).map_err(|error| error.error)?;
        Ok(self.cached)
    }
}

/// Reads rows by their number.
#[derive(Debug)]
pub(super) struct Reader {
    file: File,
    width: usize,
    first: u64,
    rows: u64,
    /// How many rows are read at once.
    held: u64,
    from: u64,
    buffer: Vec<u8>,
}

impl Reader {
    pub(super) fn row(&mut self, row: u64) -> io::Result<&[u8]> {
        let here = (self.buffer.len() / self.width.max(1)) as u64;
        if !(self.from..self.from + here).contains(&row) {
            let count = self.held.min(self.rows.saturating_sub(row));
            self.from = row;
            self.buffer.resize(count as usize * self.width, 0);
            self.file.seek(SeekFrom::Start(self.first + row * self.width as u64))?;
            self.file.read_exact(&mut self.buffer)?;
        }
        Ok(&self.buffer[(row - self.from) as usize * self.width..][..self.width])
    }
}
