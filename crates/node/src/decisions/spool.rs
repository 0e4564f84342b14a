//! Rows as lines, until they become a table.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::row::Row;

/// The rows of the present.
#[derive(Debug)]
pub(super) struct Spool {
    path: PathBuf,
    file: BufWriter<File>,
    rows: u64,
    /// When the first row closed, in milliseconds since 1970.
    since: Option<i64>,
}

impl Spool {
    /// Goes on where the last process stopped. A last line that was cut short goes.
    pub(super) fn open(folder: &Path, client: u32) -> io::Result<Spool> {
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(builder.recursive(true), 0o700);
        builder.create(folder)?;
        let path = folder.join(format!("client-{client}.rows"));
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path)?;
        let (mut rows, mut since, mut whole) = (0, None, 0);
        each(&file, |row, end| {
            (rows, since, whole) = (rows + 1, since.or(Some(row.closed)), end);
            Ok(())
        })?;
        file.set_len(whole)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Spool { path, file: BufWriter::new(file), rows, since })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// How long ago the first row closed.
    pub(super) fn age(&self, now: SystemTime) -> Duration {
        let Some(since) = self.since else { return Duration::ZERO };
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        now.saturating_sub(Duration::from_millis(since.max(0) as u64))
    }

    pub(super) fn append(&mut self, row: &Row) -> io::Result<()> {
        let mut line = serde_json::to_vec(row)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.rows += 1;
        self.since.get_or_insert(row.closed);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// What is here has become a table.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().set_len(0)?;
        (self.rows, self.since) = (0, None);
        Ok(())
    }
}

/// Every whole row, and where it ends. What comes after a line that is no row is left out: it was cut short.
pub(super) fn each(file: &File, mut see: impl FnMut(Row, u64) -> io::Result<()>) -> io::Result<()> {
    let mut lines = BufReader::new(file);
    lines.seek(SeekFrom::Start(0))?;
    let (mut line, mut end) = (Vec::new(), 0);
    loop {
        line.clear();
        end += lines.read_until(b'\n', &mut line)? as u64;
        if line.last() != Some(&b'\n') {
            return Ok(());
        }
        let Ok(row) = serde_json::from_slice::<Row>(&line) else { return Ok(()) };
        see(row, end)?;
    }
}
