//! Which tables stay.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::config::DecisionLogConfig;
use super::table::prefix;

struct Table {
    path: PathBuf,
    bytes: u64,
    age: Duration,
}

/// Lets go what is too old or too much, and gives how many tables are left. What others put into the folder stays.
pub(super) fn keep(folder: &Path, client: u32, config: &DecisionLogConfig) -> io::Result<u64> {
    let now = SystemTime::now();
    let mut tables = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(&prefix(client)) || !name.ends_with(".parquet") {
            continue;
        }
        let about = entry.metadata()?;
        let age = now.duration_since(about.modified()?).unwrap_or_default();
        tables.push(Table { path: entry.path(), bytes: about.len(), age });
    }
    // Names are in order of time: the youngest first.
    tables.sort_by(|one, other| other.path.cmp(&one.path));
    let (mut bytes, mut left) = (0, 0);
    for table in tables {
        bytes += table.bytes;
        let old = config.keep_for().is_some_and(|keep| table.age > keep);
        let much = config.keep_bytes.is_some_and(|keep| bytes > keep);
        if old || much {
            fs::remove_file(&table.path)?;
        } else {
            left += 1;
        }
    }
    Ok(left)
}
