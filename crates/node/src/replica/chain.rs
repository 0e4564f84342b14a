//! Reading a stream: whatever was lost, changed or put in between is noticed.

use super::key::LogKey;
use super::record::{self, Content, Hash, Record};

/// The stream is not what was written: to be said aloud, and not to be gone on from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {sequence}: {what}")]
pub struct Broken {
    /// Where.
    pub sequence: u64,
    /// What was found.
    pub what: String,
}

/// Where a reader is.
#[derive(Clone, Debug)]
pub struct Chain {
    key: LogKey,
    last: u64,
    previous: Hash,
    epoch: u64,
    /// The parts of a record that have come.
    begun: Option<([u8; 16], u32, Vec<u8>)>,
}

impl Chain {
    /// At the beginning of a stream.
    pub fn new(key: LogKey) -> Chain {
        Chain { key, last: 0, previous: Hash::default(), epoch: 0, begun: None }
    }

    /// Behind the message `last`, whose hash is known.
    pub(super) fn behind(key: LogKey, last: u64, previous: Hash, epoch: u64) -> Chain {
        Chain { key, last, previous, epoch, begun: None }
    }

    /// The last message that was read.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The last epoch that was begun.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn previous(&self) -> Hash {
        self.previous
    }

    pub(super) fn key(&self) -> &LogKey {
        &self.key
    }

    /// The next message; a record where it is the last part of one. What is refused changes nothing.
    pub fn take(&mut self, sequence: u64, message: &[u8]) -> Result<Option<Record>, Broken> {
        let broken = |what: String| Broken { sequence, what };
        if sequence != self.last + 1 {
            return Err(broken(format!("messages from {} on are missing", self.last + 1)));
        }
        let (header, body) = record::open(message, &self.key).map_err(broken)?;
        if header.previous != self.previous {
            return Err(broken("it follows another message than the one before it: the stream went back and was written anew".into()));
        }
        if header.epoch < self.epoch || header.part >= header.parts {
            return Err(broken(format!("it is of epoch {}, after epoch {}", header.epoch, self.epoch)));
        }
        let parts = match (&self.begun, header.part) {
            // Whoever wrote what was begun did not live to end it.
            (_, 0) => body,
            (Some((record, next, parts)), part) if *record == header.record && *next == part => {
                [parts.as_slice(), &body].concat()
            }
            _ => return Err(broken("a part of a record without those before it".into())),
        };
        let whole = header.part + 1 == header.parts;
        let content = whole.then(|| postcard::from_bytes::<Content>(&parts)).transpose();
        let content = content.map_err(|e| broken(format!("a record that cannot be read ({e})")))?;
        let begins = matches!(content, Some(Content::Barrier(_)));
        if header.epoch > self.epoch && !begins {
            return Err(broken("an epoch without a barrier".into()));
        }
        (self.last, self.previous, self.epoch) = (sequence, record::hash(message), header.epoch);
        self.begun = (!whole).then_some((header.record, header.part + 1, parts));
        Ok(content.map(|content| Record { sequence, epoch: header.epoch, content }))
    }
}
