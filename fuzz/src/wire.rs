//! What comes over a connection.

use cahoots_node::transport::proto::Frame;
use cahoots_node::transport::{Kind, intact};
use prost::Message;

/// A frame: whatever can be read can be written, and is then read as the same.
pub fn frame(bytes: &[u8]) {
    let Ok(frame) = Frame::decode(bytes) else { return };
    let written = frame.encode_to_vec();
    // Not-a-numbers are never equal to themselves, their bytes are.
    let again = Frame::decode(&written[..]).expect("what was written can be read");
    assert_eq!(again.encode_to_vec(), written);
    if let Some(Kind::Envelope(envelope)) = frame.kind {
        let _ = intact(&envelope);
        let _ = cahoots_core::wire::Payload::decode(&envelope.payload[..]);
    }
}
