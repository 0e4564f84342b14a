//! What would happen at a start, without one.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::NodeFile;
use crate::config::Shown;
use crate::error::NodeError;
use crate::live::Known;
use crate::prior::{Began, Beginning};
use crate::store::{Look, StoreError};
use crate::terms::Terms;

/// A configuration that a node can be started with.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// Every value, and where it is from.
    pub holds: Vec<Shown>,
    /// What there is of the store, in words.
    pub store: String,
}

/// Checks all that a start would check, but whether addresses are free, and changes nothing; `path` is the file, for words.
pub fn check(known: &Arc<Known>, file: &NodeFile, path: &Path) -> Result<Checked, NodeError> {
    let (holds, terms, warm) = match file {
        NodeFile::Coordinator(serve) => {
            let (config, _) = serve.may_start(known, path)?;
            (serve.holds(known, path)?, Some(config.terms), config.warm_start)
        }
        NodeFile::Client(client) => {
            (client.holds(known, path)?, client.may_start(known, path)?.0.terms, None)
        }
    };
    // What a new federation would begin from.
    let begin = |terms: Option<&Terms>| match (&warm, terms) {
        (Some(warm), Some(terms)) => Beginning::read(warm, terms, known).map(drop),
        _ => Ok(()),
    };
    if let NodeFile::Coordinator(serve) = file
        && let Some(log) = &serve.log
    {
        begin(terms.as_ref())?;
        return Ok(Checked {
            holds,
            store: format!("the log is kept by {log}; whether it is there is seen at a start"),
        });
    }
    let store = file.store();
    let words = match Look::at(store) {
        Ok(look) if look.owner != file.owner() => {
            let (found, expected) = (look.owner, file.owner());
            return Err(StoreError::Foreign { path: store.into(), found, expected }.into());
        }
        Ok(look) => {
            let known_terms = look.get("terms");
            if let (Some(stored), Some(terms)) = (known_terms, &terms)
                && stored != terms.to_toml().as_bytes()
            {
                return Err(NodeError::Config(format!(
                    "store {} was made under other terms (algorithm, parameters, setting or seed), which cannot change",
                    store.display()
                )));
            }
            match &warm {
                Some(_) if look.snapshot.is_none() && look.log.is_empty() => begin(terms.as_ref())?,
                Some(warm) => {
                    let began = look.get(Began::KEY).map(Began::restore).transpose();
                    let began = began.map_err(|what| StoreError::Damaged { path: store.into(), what })?;
                    Beginning::compare(warm, began.as_ref(), &store.display().to_string())?;
                }
                None => {}
            }
            format!("is there, after {} commits, and would be continued", look.commits)
        }
        Err(StoreError::Busy { .. }) => "is in use by a node that runs".into(),
        Err(StoreError::Unreachable { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            begin(terms.as_ref())?;
            "is not there, and would be made".into()
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Checked { holds, store: format!("the store {} {words}", store.display()) })
}
