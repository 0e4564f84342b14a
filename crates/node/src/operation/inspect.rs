//! What is in a store that no node uses: whose it is, where it stands, what a restart would find. Nothing is changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::NodeFile;
use crate::config::Given;
use crate::error::NodeError;
use crate::live::Known;
use crate::prior::Began;
use crate::store::{Look, Store, StoreError};
use crate::terms::Terms;

/// What is in a store, or in the one that a configuration names.
pub fn inspect(known: &Arc<Known>, given: impl Into<Given>) -> Result<Value, NodeError> {
    let store = store_of(&given.into())?;
    let look = Look::at(&store).map_err(|error| match error {
        StoreError::Busy { path } => NodeError::Request(format!(
            "a node runs with the store {}: ask it with `cahoots status FILE`, or look at a copy that `cahoots backup FILE --to \
             PATH` makes",
            path.display()
        )),
        StoreError::Unreachable { path, source } => {
            NodeError::Config(format!("there is no store to be read at {}: {source}", path.display()))
        }
        other => other.into(),
    })?;
    describe(known, &look)
}

/// The store itself, or the one that a file names.
fn store_of(given: &Given) -> Result<PathBuf, NodeError> {
    let path = given.path();
    if Store::is_one(path) {
        return Ok(path.into());
    }
    let text = std::fs::read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let table = text.filter(|text| !text.is_empty()).and_then(|text| text.parse::<toml::Table>().ok());
    if table.is_none() && path.extension().is_none_or(|extension| extension != "toml") {
        return Ok(path.into());
    }
    let file = NodeFile::read(given)?;
    file.log_is_here()?;
    Ok(file.store().into())
}

fn describe(known: &Arc<Known>, look: &Look) -> Result<Value, NodeError> {
    let mut told = Map::new();
    let mut tell = |key: &str, value: Value| _ = told.insert(key.into(), value);
    tell("store", json!(look.path));
    tell("owner", json!(look.owner));
    tell("format", json!(look.format));
    tell("made", json!(born(look)));
    let began = look.get(Began::KEY).and_then(|bytes| Began::restore(bytes).ok());
    tell("began_from", json!(began.map(|began| began.words())));
    tell("commits", json!(look.commits));
    tell(
        "snapshot",
        json!({ "present": look.snapshot.is_some(), "bytes": look.checkpoint_bytes, "written": look.checkpoint_time.map(epoch) }),
    );
    tell(
        "log",
        json!({ "commits": look.since, "entries": look.log.len(), "bytes": look.log_bytes, "cut_short": look.torn }),
    );
    tell("files", json!(files(&look.path)));
    let terms = look.get("terms").and_then(|bytes| std::str::from_utf8(bytes).ok()).map(Terms::from_toml);
    match &terms {
        None => tell("terms", Value::Null),
        Some(Ok(terms)) => tell(
            "terms",
            json!({
                "algorithm": terms.algorithm, "seed": terms.seed, "params": terms.params, "setting": terms.setting,
                "hash": format!("{:016x}", terms.hash()),
            }),
        ),
        Some(Err(error)) => tell("terms", json!({ "error": error.to_string() })),
    }
    // What a restart would find follows from a replay, in memory.
    if let Some(Ok(terms)) = terms {
        let found = if look.owner.starts_with("the coordinator ") {
            crate::coordinator::inspect(known, look, &terms).map(|found| ("coordinator", found))
        } else {
            crate::client::inspect(known, look, terms).map(|found| ("client", found))
        };
        match found {
            Ok((role, found)) => tell(role, found),
            Err(error @ NodeError::Store(_)) => return Err(error),
            // An algorithm of somebody else's program, say.
            Err(error) => tell("not_replayed", json!(error.to_string())),
        }
    }
    Ok(Value::Object(told))
}

fn epoch(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn born(look: &Look) -> Option<f64> {
    let millis = u64::from_le_bytes(look.get("born")?.try_into().ok()?);
    Some(millis as f64 / 1000.0)
}

/// The files of a store, and what they take.
fn files(store: &Path) -> Vec<Value> {
    let folder = store.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(name) = store.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(String, u64)> = entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.metadata().ok()?.len())))
        .filter(|(file, _)| {
            file.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(name, bytes)| json!({ "name": name, "bytes": bytes })).collect()
}
