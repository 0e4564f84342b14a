//! What keeps a stream and, beside it, whole objects.

use std::fmt::Debug;

use super::beacon::Beacon;
use crate::error::NodeError;

/// An append without an acknowledgement: it may have happened, now or later, or not. Reading the stream tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsure(pub String);

/// No answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence(pub String);

/// What is at a sequence, as far as whoever answered knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A message.
    Message(Vec<u8>),
    /// None, or none yet: that is not final.
    Nothing,
}

/// Where a stream begins and ends, as far as whoever answered knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its first message; one more than the last where there is none.
    pub first: u64,
    /// Its last message.
    pub last: u64,
}

/// The message that another is to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    /// Its sequence; 0 before the first.
    pub sequence: u64,
    /// Its SHA-256; nothing where the stream begins right behind it.
    pub hash: Option<[u8; 32]>,
}

/// A stream of messages numbered from 1, that grows by compare-and-set.
pub trait Engine: Debug + Send {
    /// Appends a message right after this one, or not at all, and so it does whenever it comes: a stream that went back may have grown to
    /// the same length again, with another message there. `Ok` is an acknowledgement by a majority.
    fn append(&mut self, before: Before, message: &[u8]) -> Result<(), Unsure>;

    /// The message at a sequence, from who leads the stream. It may answer from the past.
    fn get(&mut self, sequence: u64) -> Result<Found, Silence>;

    /// Where the stream begins and ends. It may answer from the past.
    fn extent(&mut self) -> Result<Extent, Silence>;

    /// Messages from a sequence on, as many as come at once; none at the end.
    fn read(&mut self, from: u64) -> Result<Vec<(u64, Vec<u8>)>, Silence>;

    /// What is before `first` is not needed any more.
    fn trim(&mut self, first: u64) -> Result<(), Silence>;

    /// Keeps an object under a name that nothing had.
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Silence>;

    /// An object.
    fn fetch(&mut self, name: &str) -> Result<Option<Vec<u8>>, Silence>;

    /// The names of all objects.
    fn names(&mut self) -> Result<Vec<String>, Silence>;

    /// An object is not needed any more.
    fn remove(&mut self, name: &str) -> Result<(), Silence>;

    /// Waits a moment before something is tried again.
    fn pause(&mut self);
}

/// Why there is no engine.
#[derive(Debug)]
pub enum Unusable {
    /// Nobody answers: later, perhaps.
    Silent(String),
    /// It will not do as it is.
    Wrong(NodeError),
}

/// Where engines come from.
pub trait Keeper: Send {
    /// A stream and its objects, checked.
    fn engine(&mut self) -> Result<Box<dyn Engine>, Unusable>;

    /// How the coordinators hear of each other.
    fn beacon(&mut self) -> Result<Box<dyn Beacon>, Unusable>;
}
