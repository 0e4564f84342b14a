//! What a store is given when it is made: an identity, a secret, a date.

use std::time::Duration;

use cahoots_core::{Keys, Tick};

use crate::error::NodeError;
use crate::platform::Platform;
use crate::store::{Batch, Home, StoreError};
use crate::terms::Terms;

/// The name of what shows a coordinator that a number is this client's.
pub const PROOF: &str = "proof";

/// Random bytes of the operating system's, made once and kept in the store alone.
pub fn kept<const N: usize>(store: &dyn Home, batch: &mut Batch, key: &str) -> Result<[u8; N], NodeError> {
    if let Some(bytes) = store.get(key)? {
        return bytes.try_into().map_err(|_| damaged(store, &format!("{key} has the wrong length")).into());
    }
    let mut bytes = [0; N];
    store.platform().fill(&mut bytes).map_err(|e| NodeError::Stopped(e.to_string()))?;
    batch.set(key, bytes.to_vec());
    Ok(bytes)
}

/// A random number that is not 0.
pub(crate) fn number(platform: &Platform) -> Result<u64, NodeError> {
    let mut bytes = [0; 8];
    platform.fill(&mut bytes).map_err(|e| NodeError::Stopped(e.to_string()))?;
    // Ids are read and written by people too, and by languages whose numbers have 53 bits.
    Ok((u64::from_le_bytes(bytes) >> 11).max(1))
}

/// When the store was made: ticks count from there.
pub fn born(store: &dyn Home, batch: &mut Batch) -> Result<Duration, NodeError> {
    if let Some(bytes) = store.get("born")? {
        let millis = bytes.try_into().map_err(|_| damaged(store, "its date has the wrong length"))?;
        return Ok(Duration::from_millis(u64::from_le_bytes(millis)));
    }
    let today = store.platform().wall();
    batch.set("born", (today.as_millis() as u64).to_le_bytes().to_vec());
    Ok(today)
}

/// The tick of the last snapshot.
pub fn tick(store: &dyn Home) -> Result<Tick, StoreError> {
    let stored = store.get("tick")?;
    Ok(stored.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes))
}

/// Decisions follow from the federation's seed, noise from this node's secret;
/// in lockstep, a test, noise follows from the seed too.
pub fn keys(terms: &Terms, secret: [u8; 32]) -> Keys {
    let keys = Keys::from_seed(terms.seed);
    if terms.lockstep.is_some() { keys } else { keys.with_privacy(secret) }
}

fn damaged(store: &dyn Home, what: &str) -> StoreError {
    StoreError::Damaged { path: store.path().into(), what: what.into() }
}
