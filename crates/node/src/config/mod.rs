//! Configuration files of `serve` and `client`. Unknown keys and wrong values
//! are refused with the line they are on.

mod client;
mod serve;
mod tls;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::error::NodeError;

pub use client::ClientFile;
pub use serve::{AlgorithmTable, LockstepTable, ServeFile, SettingTable};
pub use tls::TlsTable;

/// Reads a configuration file.
fn read<T: DeserializeOwned>(path: &Path) -> Result<T, NodeError> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        NodeError::Config(format!("{}: {e}; give the path of a configuration file", path.display()))
    })?;
    toml::from_str(&text).map_err(|e| {
        let line = e.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        NodeError::Config(format!("{}:{line}: {}", path.display(), e.message()))
    })
}

/// Paths in a file are relative to the file.
fn beside(file: &Path, path: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(path)
}

/// A length of time in seconds.
fn seconds(file: &Path, key: &str, value: f64) -> Result<Duration, NodeError> {
    let time = Duration::try_from_secs_f64(value).ok().filter(|time| *time >= Duration::from_millis(1));
    time.ok_or_else(|| {
        NodeError::Config(format!(
            "{}: {key} must be a number of seconds, at least 0.001, not {value}",
            file.display()
        ))
    })
}

fn one() -> f64 {
    1.0
}

fn hour() -> f64 {
    3600.0
}

fn five() -> f64 {
    5.0
}

fn thousand() -> u64 {
    1000
}
