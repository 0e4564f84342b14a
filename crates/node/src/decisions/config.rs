//! What a client's file says about the record of its decisions.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// `[decisions]` in a client's file: a record of decisions is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionLogConfig {
    /// Where it lies: a folder beside the file, for its owner alone.
    pub folder: PathBuf,
    /// A file has so many rows at most.
    #[serde(default = "rows")]
    pub rotate_rows: u64,
    /// A file is of so many hours at most.
    #[serde(default = "day")]
    pub rotate_hours: f64,
    /// Files whose last row is older than so many days go.
    pub keep_days: Option<f64>,
    /// The oldest files go when all are larger than this.
    pub keep_bytes: Option<u64>,
}

fn rows() -> u64 {
    100_000
}

fn day() -> f64 {
    24.0
}

impl DecisionLogConfig {
    /// In this folder, a file a day, kept for good.
    pub fn new(folder: impl Into<PathBuf>) -> DecisionLogConfig {
        DecisionLogConfig {
            folder: folder.into(),
            rotate_rows: rows(),
            rotate_hours: day(),
            keep_days: None,
            keep_bytes: None,
        }
    }

    /// Refuses what cannot be meant.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=10_000_000).contains(&self.rotate_rows) {
            return Err(format!(
                "[decisions] rotate_rows must be from 1 to 10000000, not {}",
                self.rotate_rows
            ));
        }
        let hours = |key: &str, value: f64, unit: f64| {
            let fits = value > 0.0 && Duration::try_from_secs_f64(value * unit).is_ok();
            fits.then_some(())
                .ok_or_else(|| format!("[decisions] {key} must be a number above 0, not {value}"))
        };
        hours("rotate_hours", self.rotate_hours, 3600.0)?;
        self.keep_days.map_or(Ok(()), |days| hours("keep_days", days, 86400.0))
    }

    pub(super) fn rotate_after(&self) -> Duration {
        Duration::try_from_secs_f64(self.rotate_hours * 3600.0).unwrap_or(Duration::MAX)
    }

    pub(super) fn keep_for(&self) -> Option<Duration> {
        self.keep_days.map(|days| Duration::try_from_secs_f64(days * 86400.0).unwrap_or(Duration::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_meant_is_refused_by_its_key() {
        let usual = DecisionLogConfig::new("decisions");
        assert_eq!(usual.check(), Ok(()));
        for (config, key) in [
            (DecisionLogConfig { rotate_rows: 0, ..usual.clone() }, "rotate_rows"),
            (DecisionLogConfig { rotate_hours: f64::NAN, ..usual.clone() }, "rotate_hours"),
            (DecisionLogConfig { rotate_hours: 1e300, ..usual.clone() }, "rotate_hours"),
            (DecisionLogConfig { keep_days: Some(-1.0), ..usual }, "keep_days"),
        ] {
            assert!(config.check().unwrap_err().contains(key));
        }
    }
}
