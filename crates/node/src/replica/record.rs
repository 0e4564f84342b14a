//! What a message of the stream is: part of a record, linked to the message before it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::key::LogKey;
use crate::platform::Platform;

/// The longest part of a record: with all that is around it, a message stays below 1 MiB.
pub(super) const LONGEST: usize = 900 << 10;

/// Version of the layout.
const LAYOUT: u8 = 1;

/// The hash of a message.
pub(crate) type Hash = [u8; 32];

/// One entry of the log, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The sequence of its last message.
    pub sequence: u64,
    /// Who wrote it: the how manieth leader.
    pub epoch: u64,
    /// What it says.
    pub content: Content,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// An epoch begins: the coordinator of this name leads.
    Barrier(String),
    /// Inputs and named values of one commit, as a store's log has them.
    Batch(#[serde(with = "serde_bytes")] Vec<u8>),
}

/// What is said of a message that the key does not open.
pub(super) const SEALED: &str = "a message that was changed, or sealed under another key";

/// What stands before a part, in the clear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    layout: u8,
    /// Names the record.
    pub(super) record: [u8; 16],
    pub(super) epoch: u64,
    /// The hash of the message before.
    pub(super) previous: Hash,
    pub(super) part: u32,
    pub(super) parts: u32,
}

/// The hash by which the next message is linked to this one.
pub fn hash(message: &[u8]) -> Hash {
    Sha256::digest(message).into()
}

/// A record as messages that follow one with the hash `previous`, and the hash of the last of them.
pub(super) fn messages(
    content: &Content,
    epoch: u64,
    mut previous: Hash,
    key: &LogKey,
    platform: &Platform,
) -> std::io::Result<(Vec<Vec<u8>>, Hash)> {
    let body = postcard::to_stdvec(content).map_err(std::io::Error::other)?;
    let mut record = [0; 16];
    platform.fill(&mut record)?;
    let parts = body.len().div_ceil(LONGEST).max(1) as u32;
    let mut messages = Vec::new();
    for part in 0..parts {
        let from = part as usize * LONGEST;
        let piece = &body[from..body.len().min(from + LONGEST)];
        let header = Header { layout: LAYOUT, record, epoch, previous, part, parts };
        let mut message = postcard::to_stdvec(&header).map_err(std::io::Error::other)?;
        let sealed = key.seal(platform, &message, piece)?;
        message.extend_from_slice(&sealed);
        previous = hash(&message);
        messages.push(message);
    }
    Ok((messages, previous))
}

/// Whether a message that the key opens follows one with this hash; what it does not open says nothing.
pub(super) fn follows(message: &[u8], previous: &Hash, key: &LogKey) -> bool {
    open(message, key).map_or(true, |(header, _)| header.previous == *previous)
}

/// A message, taken apart: what stands before it, and its part of the record.
pub(super) fn open(message: &[u8], key: &LogKey) -> Result<(Header, Vec<u8>), String> {
    let (header, sealed): (Header, _) = postcard::take_from_bytes(message)
        .map_err(|_| "a message that is no part of a record".to_string())?;
    if header.layout != LAYOUT {
        return Err(format!("a record of layout {}, this build reads {LAYOUT}", header.layout));
    }
    let beside = &message[..message.len() - sealed.len()];
    let body = key.open(beside, sealed).ok_or(SEALED)?;
    Ok((header, body))
}
