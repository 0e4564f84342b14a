//! Tables as they are run: rows of the same width in one file, outside of any checkout, known by a hash of where they
//! come from. Any row is read without those before it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::features::Features;

/// How these files begin; the last digit is the version of what follows.
const MAGIC: &[u8; 8] = b"cahtab01";

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
        let whole = meta.rows.checked_mul(meta.width() as u64)?.checked_add(first)? == size;
        whole.then_some(Cached { path, meta, first })
    }

    /// Writes the file of this key: complete, or not at all.
    pub(super) fn write(folder: &Path, key: &str, meta: Meta) -> io::Result<Writing> {
        fs::create_dir_all(folder)?;
        let mut file = BufWriter::with_capacity(1 << 18, NamedTempFile::new_in(folder)?);
        let head = serde_json::to_vec(&meta)?;
        file.write_all(MAGIC)?;
        file.write_all(&(head.len() as u64).to_le_bytes())?;
        file.write_all(&head)?;
        let cached = Cached { path: place(folder, key), first: 16 + head.len() as u64, meta };
        Ok(Writing { file, cached })
    }

    /// Opens it for reading, `block` bytes at a time.
    pub(super) fn reader(&self, block: usize) -> io::Result<Reader> {
        let width = self.meta.width();
        let held = (block / width.max(1)).max(1) as u64;
        let file = File::open(&self.path)?;
        Ok(Reader { file, width, first: self.first, rows: self.meta.rows, held, from: 0, buffer: Vec::new() })
    }
}

fn place(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("table-{key}.rows"))
}

/// A file that is not complete yet.
pub(super) struct Writing {
    file: BufWriter<NamedTempFile>,
    cached: Cached,
}

impl Writing {
    pub(super) fn row(&mut self, packed: &[u8]) -> io::Result<()> {
        debug_assert_eq!(packed.len(), self.cached.meta.width());
        self.file.write_all(packed)
    }

    pub(super) fn done(self) -> io::Result<Cached> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
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
