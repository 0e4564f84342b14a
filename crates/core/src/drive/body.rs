//! What a waiting message will be on the wire.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::contract::message::{self, Message};

/// A message that waits. One that a newer one may replace is kept as it is, most of it shared with those for other
/// receivers, and becomes bytes when it leaves: those that are replaced before never do.
#[derive(Clone)]
pub(super) enum Body {
    /// As bytes.
    Encoded(Vec<u8>),
    /// To be encoded.
    Kept(Arc<dyn Encode>),
}

/// What can be encoded, whatever its type.
pub(super) trait Encode: Send + Sync {
    /// As bytes.
    fn encode(&self) -> Vec<u8>;
    /// How many.
    fn len(&self) -> usize;
}

impl<M: Message> Encode for M {
    fn encode(&self) -> Vec<u8> {
        message::encode(self)
    }

    fn len(&self) -> usize {
        self.wire_len()
    }
}

impl Body {
    /// A message, now or later as bytes.
    pub(super) fn of<M: Message>(message: M) -> Body {
        match message.slot() {
            Some(_) => Body::Kept(Arc::new(message)),
            None => Body::Encoded(message::encode(&message)),
        }
    }

    /// As bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        match self {
            Body::Encoded(bytes) => bytes.clone(),
            Body::Kept(message) => message.encode(),
        }
    }

    /// How many bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Body::Encoded(bytes) => bytes.len(),
            Body::Kept(message) => message.len(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.bytes() == other.bytes()
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Body::Encoded(bytes) => serializer.serialize_bytes(bytes),
            Body::Kept(message) => serializer.serialize_bytes(&message.encode()),
        }
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_bytes::deserialize(deserializer).map(Body::Encoded)
    }
}
