//! The record that a live client keeps of its decisions: a file of it, or its folder.

use std::path::{Path, PathBuf};

use super::super::refusal::Refusal;
use super::Names;

/// What tells such a record from other logs: columns that no other has together.
const OURS: [&str; 4] = ["decision", "outcome", "offered", "decided"];
/// How a decision ended of which nothing was learned.
pub(super) const ABANDONED: &str = "abandoned";

/// The tables of a folder, in order of time; `None` where it holds no record.
pub(super) fn tables(folder: &Path) -> Result<Option<Vec<PathBuf>>, Refusal> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| Refusal::Unreadable(format!("{}: {error}", folder.display())))?;
    let is_table = |name: &str| name.starts_with("decisions-") && name.ends_with(".parquet");
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| is_table(name)).collect();
    names.sort();
    let tables = names.iter().map(|name| folder.join(name)).collect();
    Ok((!names.is_empty()).then_some(tables))
}

/// Whether these are the columns of a record.
pub(super) fn are_ours(columns: &[String]) -> bool {
    OURS.iter().all(|name| columns.iter().any(|column| column == name))
}

/// The names of a record's columns, where others are not stated.
pub(super) fn filled(names: &Names) -> Names {
    Names { offered: names.offered.clone().or(Some("offered".into())), ..names.clone() }
}
