//! What holds, and where each value is from: for `--check`.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use toml::{Table, Value};

use super::sources::shown;
use super::{ClientFile, ServeFile, Sources};
use crate::error::NodeError;
use crate::live::Known;

/// One value that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Its key, parts between dots.
    pub key: String,
    /// The value in TOML; secrets are not shown.
    pub value: String,
    /// Where it is from.
    pub source: String,
}

impl ServeFile {
    /// All that holds when a coordinator is started with this, which is checked as it would be then.
    pub fn holds(&self, known: &Arc<Known>, path: &Path) -> Result<Vec<Shown>, NodeError> {
        let (config, _) = self.may_start(known, path)?;
        let mut table = written(self)?;
        // An algorithm's defaults are its own.
        if let Some(Value::Table(algorithm)) = table.get_mut("algorithm") {
            algorithm.extend(config.terms.params);
        }
        Ok(rows(&table, &self.sources))
    }
}

impl ClientFile {
    /// All that holds when a client is started with this, which is checked as it would be then.
    pub fn holds(&self, known: &Arc<Known>, path: &Path) -> Result<Vec<Shown>, NodeError> {
        self.may_start(known, path)?;
        Ok(rows(&written(self)?, &self.sources))
    }
}

fn written(file: &impl Serialize) -> Result<Table, NodeError> {
    Table::try_from(file).map_err(|e| NodeError::Config(e.to_string()))
}

/// Single values before tables, as a file has them.
fn rows(table: &Table, sources: &Sources) -> Vec<Shown> {
    let mut rows = Vec::new();
    walk("", table, sources, &mut rows);
    rows.sort_by_key(|row| row.key.contains('.'));
    rows
}

fn walk(above: &str, table: &Table, sources: &Sources, rows: &mut Vec<Shown>) {
    for (key, value) in table {
        let key = format!("{above}{key}");
        match value {
            Value::Table(below) => walk(&format!("{key}."), below, sources, rows),
            value => rows.push(Shown {
                value: shown(&key, value),
                source: sources.of(&key).map_or_else(|| "default".into(), ToString::to_string),
                key,
            }),
        }
    }
}
