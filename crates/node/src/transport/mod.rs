//! How bytes travel: the stream format, its gRPC server and its gRPC client.
//! Nothing here knows what a machine is; connections become secure here, below HTTP/2.

mod codec;
mod connect;
mod dial;
mod guard;
mod listen;
mod outbox;
mod pass;
mod secured;
mod weighed;

#[allow(missing_docs, clippy::all)]
pub mod proto {
    //! Types compiled from `proto/node.proto`.
    include!(concat!(env!("OUT_DIR"), "/cahoots.node.v1.rs"));
}

use cahoots_core::drive::Waiting;
use cahoots_core::{NodeId, wire};

pub use dial::{Failure, Patience, Stream, call, call_with, dial};
pub use listen::{Inbound, Session, serve};
pub use outbox::{Outbox, WINDOW};
pub use proto::frame::Kind;
use proto::{Confirm, Frame, Refusal};

/// The largest frame that is taken: a view of some 2,000 dimensions.
const MAX_FRAME: usize = 32 << 20;

/// A frame of this kind.
pub fn frame(kind: Kind) -> Frame {
    Frame { kind: Some(kind) }
}

/// "Everything up to this number is on disk here."
pub fn confirm(sequence: u64) -> Frame {
    frame(Kind::Confirm(Confirm { sequence, peer: None, kept: None }))
}

/// The same, and how much of it a snapshot covers that has replicas.
pub fn confirm_kept(sequence: u64, kept: Option<u64>) -> Frame {
    frame(Kind::Confirm(Confirm { sequence, peer: None, kept }))
}

/// The same about messages between two clients.
pub fn confirm_peer(sequence: u64, peer: NodeId) -> Frame {
    frame(Kind::Confirm(Confirm { sequence, peer: Some(peer.0), kept: None }))
}

/// A refusal that says why; `last` when trying again will not help.
pub fn refusal(reason: impl Into<String>, last: bool) -> Frame {
    frame(Kind::Refusal(Refusal {
        reason: reason.into(),
        r#final: last,
        old_copy: false,
        leader: String::new(),
    }))
}

/// What every envelope of one link says.
#[derive(Clone, Debug)]
pub struct EnvelopeHeader {
    /// Name of the federation.
    pub federation: String,
    /// Sender.
    pub from: NodeId,
    /// Hash of the terms.
    pub parameters: u64,
}

impl EnvelopeHeader {
    /// An envelope around a message that waits.
    pub fn envelope(&self, to: NodeId, message: &Waiting) -> wire::Envelope {
        self.around(to, message.sequence, message.skipped, message.payload())
    }

    /// An envelope around an encoded payload.
    pub fn around(&self, to: NodeId, sequence: u64, skipped: u64, payload: Vec<u8>) -> wire::Envelope {
        let mut envelope = wire::Envelope {
            federation: self.federation.clone(),
            from: self.from.0,
            to: to.0,
            sequence,
            version: wire::VERSION,
            parameters: self.parameters,
            payload,
            skipped,
            checksum: 0,
        };
        envelope.checksum = checksum(&envelope);
        envelope
    }
}

/// What was in an envelope.
#[derive(Debug)]
pub struct Contents {
    /// Number on the link.
    pub sequence: u64,
    /// Numbers before it that will not come.
    pub skipped: u64,
    /// The encoded payload.
    pub payload: Vec<u8>,
}

/// What an envelope's checksum must be.
pub fn checksum(envelope: &wire::Envelope) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&envelope.from.to_le_bytes());
    sum.update(&envelope.to.to_le_bytes());
    for number in [envelope.sequence, envelope.parameters, envelope.skipped] {
        sum.update(&number.to_le_bytes());
    }
    sum.update(&envelope.payload);
    sum.finalize()
}

/// Refuses an envelope that was altered on its way: it will be sent again.
pub fn intact(envelope: &wire::Envelope) -> Result<(), String> {
    if envelope.checksum == checksum(envelope) {
        Ok(())
    } else {
        Err(format!("message {} was altered on its way", envelope.sequence))
    }
}

/// What is in an envelope that came from `from` under the same terms.
pub fn open(envelope: wire::Envelope, header: &EnvelopeHeader, from: NodeId) -> Result<Contents, String> {
    intact(&envelope)?;
    if envelope.federation != header.federation || envelope.parameters != header.parameters {
        return Err("an envelope of another federation or under other terms".into());
    }
    if envelope.from != from.0 || envelope.to != header.from.0 {
        return Err(format!(
            "an envelope from {} to {} on the link between {from} and {}",
            NodeId(envelope.from),
            NodeId(envelope.to),
            header.from
        ));
    }
    let wire::Envelope { sequence, skipped, payload, .. } = envelope;
    Ok(Contents { sequence, skipped, payload })
}
