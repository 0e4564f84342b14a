//! The configuration of `serve` and `client`: a file, variables and flags over it. Unknown keys and wrong values are
//! refused with the place they are from.

mod client;
mod nats;
mod overlay;
mod serve;
mod shown;
mod sources;
mod tls;

use std::path::Path;
use std::time::Duration;

use crate::error::NodeError;

pub use client::ClientFile;
pub use nats::NatsTable;
pub(crate) use nats::{streams, token};
pub use overlay::Given;
pub use serve::{AlgorithmTable, LockstepTable, ServeFile, SettingTable, WarmStartTable};
pub use shown::Shown;
pub use sources::{Source, Sources};
pub use tls::TlsTable;

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
