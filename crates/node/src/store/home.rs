//! Where a coordinator's log lives: in a [`Store`] on its disk, or in a stream that other machines keep too.

use std::fmt::Debug;
use std::path::Path;

use super::{Batch, Store, StoreError};
use crate::platform::Platform;

/// Where a log with replicas is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The last epoch that was begun.
    pub epoch: u64,
    /// The last message that was read or written.
    pub sequence: u64,
    /// The last message that is known of.
    pub end: u64,
    /// The hash of the last message.
    pub hash: [u8; 32],
    /// The last snapshot: behind which message, when in seconds since 1970, and its bytes.
    pub snapshot: Option<(u64, f64, u64)>,
}

/// What a coordinator asks of the place where its log is kept.
pub trait Home: Debug + Send {
    /// A named value.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Named values whose names begin with `prefix`.
    fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError>;

    /// Makes a batch durable: when this returns `Ok`, it survives. After [`StoreError::Full`] nothing has happened, and the same
    /// batch can be committed again. After [`StoreError::Unanswered`] it is not known whether it has: nothing may follow before
    /// [`Home::settle`] has told.
    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// Asks what became of a batch that had no answer, and tries again if nothing did.
    fn settle(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Is the log long enough that a snapshot pays?
    fn wants_snapshot(&self, every: u64) -> bool;

    /// Entries that a restart would replay.
    fn entries(&self) -> u64;

    /// Bytes of the last snapshot and the log since.
    fn size(&self) -> u64;

    /// How often it was written, ever.
    fn commits(&self) -> u64;

    /// What it is called in words about it.
    fn path(&self) -> &Path;

    /// What it stands on.
    fn platform(&self) -> &Platform;

    /// Copies what is committed to a store at another path.
    fn backup(&self, to: &Path) -> Result<(), StoreError>;

    /// Where it is among its replicas, if it has any.
    fn replica(&self) -> Option<Place> {
        None
    }

    /// The store, for who swaps the disk under it.
    #[cfg(test)]
    fn store(&mut self) -> &mut Store {
        panic!("this log is on no disk of its own")
    }
}

impl Home for Store {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Store::get(self, key)
    }

    fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        Store::list(self, prefix)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        Store::commit(self, batch)
    }

    fn wants_snapshot(&self, every: u64) -> bool {
        Store::wants_snapshot(self, every)
    }

    fn entries(&self) -> u64 {
        Store::entries(self)
    }

    fn size(&self) -> u64 {
        Store::size(self)
    }

    fn commits(&self) -> u64 {
        Store::commits(self)
    }

    fn path(&self) -> &Path {
        Store::path(self)
    }

    fn platform(&self) -> &Platform {
        Store::platform(self)
    }

    fn backup(&self, to: &Path) -> Result<(), StoreError> {
        Store::backup(self, to)
    }

    #[cfg(test)]
    fn store(&mut self) -> &mut Store {
        self
    }
}
