//! A prior of what a coordinator has merged, from its store or a copy of it: nothing is written to either.

use std::path::PathBuf;

use cahoots_core::drive::Saved;

use super::PriorFile;
use super::warm::Began;
use crate::config::Given;
use crate::error::NodeError;
use crate::limits::thousands;
use crate::live::Known;
use crate::operation::NodeFile;
use crate::secret;
use crate::store::{Look, Store, StoreError};
use crate::terms::Terms;

/// What the federation of this store could hand on; `given` is a coordinator's store, a copy of one, or the file of a
/// coordinator that does not run.
pub fn of_store(known: &Known, given: impl Into<Given>) -> Result<PriorFile, NodeError> {
    let path = store_of(&given.into())?;
    let look = Look::at(&path).map_err(|error| match error {
        StoreError::Busy { .. } => NodeError::Request(format!(
            "the coordinator with the store {} runs: copy it with `cahoots backup FILE --to COPY`, and give the copy",
            path.display()
        )),
        other => other.into(),
    })?;
    let damaged = |what: String| StoreError::Damaged { path: path.clone(), what };
    let Some(federation) = crate::coordinator::federation_of(&look.owner) else {
        return Err(NodeError::Config(format!(
            "store {} belongs to {}: a prior is made of a coordinator's store",
            path.display(),
            look.owner
        )));
    };
    let text = |key: &str| look.get(key).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let terms = text("terms").ok_or_else(|| {
        NodeError::Config(format!("store {} has no terms: its federation never began", path.display()))
    })?;
    let terms = Terms::from_toml(&terms)?;
    let kind = terms.live(known)?.prior_kind(&terms)?.map_err(|why| no_prior(&terms.algorithm, &why))?;
    let prior = merged(known, &terms, &look).map_err(damaged)??;
    if prior.observations() == 0 {
        return Err(NodeError::Config(format!(
            "store {}: nothing is merged yet, so there is nothing to hand on",
            path.display()
        )));
    }
    let mut from = format!("federation {federation} ({})", terms.algorithm);
    if let Some(began) = look.get(Began::KEY).and_then(|bytes| Began::restore(bytes).ok()) {
        from = format!("{from}, which began from {}", began.words());
    }
    let from = format!("{} observations of {from}", thousands(prior.observations()));
    Ok(PriorFile { kind, from, features: Vec::new(), prior })
}

/// Why an algorithm has no part in this.
pub(super) fn no_prior(algorithm: &str, why: &str) -> NodeError {
    NodeError::Config(format!(
        "{algorithm} neither hands on a prior nor begins from one: {why}. `cahoots help prior` names those that do"
    ))
}

/// The machine as it was when the store was written last, replayed, and what it hands on.
fn merged(
    known: &Known,
    terms: &Terms,
    look: &Look,
) -> Result<Result<cahoots_core::Prior, NodeError>, String> {
    // The servers that hand something on are laid out as they were in formats 5 and 6: stores of both are in the tests.
    let (state, queues) = look.state();
    let saved = state.as_deref().map(|state| Saved { state, queues: &queues });
    let live = match terms.live(known) {
        Ok(live) => live,
        Err(error) => return Ok(Err(error)),
    };
    let mut machine = match live.coordinator(terms, saved) {
        Ok(machine) => machine,
        Err(error) => return Ok(Err(error)),
    };
    let secret = look.get("secret").and_then(|bytes| bytes.try_into().ok());
    let keys = secret::keys(terms, secret.ok_or("it has no secret")?);
    for entry in &look.log {
        machine.replay(entry, &keys).map_err(|e| format!("a log entry cannot be replayed ({e})"))?;
    }
    Ok(machine.prior().map_err(|why| no_prior(&terms.algorithm, &why)))
}

/// A store by its own name, or by the file of its coordinator.
fn store_of(given: &Given) -> Result<PathBuf, NodeError> {
    let path = given.path();
    if Store::is_one(path) {
        return Ok(path.into());
    }
    match NodeFile::read(given)? {
        NodeFile::Coordinator(file) if Store::is_one(&file.store) => Ok(file.store),
        NodeFile::Coordinator(file) => Err(NodeError::Config(format!(
            "{}: there is no store {} yet: its federation never began",
            path.display(),
            file.store.display()
        ))),
        NodeFile::Client(_) => Err(NodeError::Config(format!(
            "{} is a client's file: a prior is made of a coordinator's store",
            path.display()
        ))),
    }
}
