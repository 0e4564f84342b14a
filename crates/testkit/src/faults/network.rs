//! Connections: two ordered streams of frames, which may be late, cut, or go on beside a newer one.

use std::collections::VecDeque;

use cahoots_node::transport::Kind;
use cahoots_node::transport::proto::Frame;
use prost::Message as _;
use tokio::sync::mpsc;

use super::computer::Micros;

/// What comes over a stream.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A frame.
    Frame(Frame),
    /// The other side has closed.
    End,
}

impl Item {
    /// Is it a message?
    pub(super) fn is_message(&self) -> bool {
        matches!(self, Item::Frame(Frame { kind: Some(Kind::Envelope(_)) }))
    }
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    /// What the sender hands to its stream; `None` before it has one, and when nobody reads it any more.
    pub(super) from: Option<mpsc::Receiver<Frame>>,
    /// The number of the last message to or from the coordinator: on one connection it only grows.
    pub(super) number: u64,
    /// What is on its way.
    pub(super) items: VecDeque<Item>,
    /// When the last item will be there.
    pub(super) last: Micros,
    /// Nothing moves until then.
    pub(super) stalled: Micros,
    /// What is handed over vanishes.
    pub(super) black_hole: bool,
    /// The bit that is flipped in the next message.
    pub(super) flip: Option<u64>,
    /// The next message comes twice.
    pub(super) duplicate: bool,
    /// The next message comes after the one behind it.
    pub(super) swap: bool,
}

/// A connection between a client and the coordinator; its place in the list is its session's number.
#[derive(Debug)]
pub(super) struct Connection {
    /// Whose.
    pub(super) client: usize,
    /// To the coordinator.
    pub(super) up: Pipe,
    /// To the client.
    pub(super) down: Pipe,
    /// How often the client's store had been replaced when it was made.
    pub(super) replaced: u64,
    /// Has the coordinator heard of it?
    pub(super) opened: bool,
}

impl Connection {
    /// One of its directions.
    pub(super) fn pipe(&mut self, up: bool) -> &mut Pipe {
        if up { &mut self.up } else { &mut self.down }
    }
}

/// Flips a bit of an envelope's content; other frames stay as they are. `true` if one was flipped.
pub(super) fn flip(frame: &mut Frame, bit: u64) -> bool {
    let Some(Kind::Envelope(envelope)) = &mut frame.kind else { return false };
    if envelope.payload.is_empty() {
        envelope.sequence ^= 1 << (bit % 8);
    } else if bit.is_multiple_of(5) {
        envelope.skipped ^= 1 << (bit / 5 % 8);
    } else {
        let bit = (bit % (8 * envelope.payload.len() as u64)) as usize;
        envelope.payload[bit / 8] ^= 1 << (bit % 8);
    }
    true
}

/// What a frame is, in few words.
pub(super) fn words(frame: &Frame) -> String {
    match &frame.kind {
        Some(Kind::Hello(hello)) => {
            format!("hello (sent {}, received {}, rejoins {})", hello.sent, hello.received, hello.rejoins)
        }
        Some(Kind::Welcome(welcome)) => {
            format!("welcome (sent {}, received {})", welcome.sent, welcome.received)
        }
        Some(Kind::Envelope(e)) => {
            let sum = crc32fast::hash(&e.payload);
            format!(
                "message {} (-{}) from {} to {} [{sum:08x}]",
                e.sequence, e.skipped, e.from as i32, e.to as i32
            )
        }
        Some(Kind::Confirm(confirm)) => format!("confirmed {} {:?}", confirm.sequence, confirm.peer),
        Some(Kind::Refusal(refusal)) => {
            format!("refused{}: {}", if refusal.r#final { " for good" } else { "" }, refusal.reason)
        }
        Some(other) => format!("{} bytes", frame_len(other)),
        None => "nothing".into(),
    }
}

fn frame_len(kind: &Kind) -> usize {
    Frame { kind: Some(kind.clone()) }.encoded_len()
}
