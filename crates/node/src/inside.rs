//! For this project's own tests, and no promise to anyone else: the cores of the nodes, stepped by hand on a platform
//! that a test brings along. The fault simulator of the testkit stands on this.

use std::path::Path;

use cahoots_core::Keys;

pub use crate::client::inside::{Durable, Parted, SteppedClient};
pub use crate::coordinator::inside::{SteppedCoordinator, SteppedReplica};
use crate::error::NodeError;
pub use crate::http::inside::{abandon_body, arms_body, decide_body, reward_body};
pub use crate::platform::{Bug, File, Opening, Platform, Simulated, SimulatedFile};
use crate::store::{Next, Recovered, Store, StoreError, Sync};
use crate::terms::Terms;

/// A store, opened or made, on a platform of the caller's.
pub fn store(platform: &Platform, path: &Path, owner: &str) -> Result<(Store, Recovered), StoreError> {
    Store::open_on(platform, path, owner, Sync::Memory)
}

/// `cahoots rejoin`: a client's store makes room for one that keeps nothing but whose it is.
pub fn rejoin(platform: &Platform, store: &Path, federation: &str, client: u32) -> Result<(), StoreError> {
    crate::operation::start_anew(platform, store, &crate::client::owner(federation, client)).map(|_| ())
}

/// `cahoots reset`: a store is put aside.
pub fn reset(platform: &Platform, store: &Path) -> Result<(), StoreError> {
    Store::set_aside_on(platform, store, Next::Nothing).map(|_| ())
}

/// `cahoots restore`: a copy takes the place of a coordinator's store.
pub fn restore(platform: &Platform, from: &Path, store: &Path, federation: &str) -> Result<(), NodeError> {
    let owner = crate::coordinator::owner(federation);
    Ok(crate::operation::put_back(platform, from, store, &owner, false).map(|_| ())?)
}

/// What decisions and noise of a node with this secret follow from.
pub fn keys(terms: &Terms, secret: [u8; 32]) -> Keys {
    crate::secret::keys(terms, secret)
}
