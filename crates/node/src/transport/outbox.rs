//! One side's way out: a bounded channel that can never be full while both keep
//! to the window.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

use cahoots_core::NodeId;
use cahoots_core::drive::Queues;
use prost::Message as _;
use tokio::sync::mpsc;

use super::proto::Frame;
use super::{EnvelopeHeader, Kind, frame};

/// Messages that may be on their way without a confirmation.
pub const WINDOW: usize = 64;

/// Views among them. Each says it all, so there is no haste with the next: who reads slowly or not at all does not
/// have a window of them waiting before it, in memory, but the newest in its queue.
const VIEWS: usize = 1;

/// Messages between clients that may wait for the stream besides.
const PEER_ROOM: usize = 4096;

/// A window of messages, a window of confirmations, and a few frames that come once.
const ROOM: usize = 2 * WINDOW + 16;

/// A connection's way out.
#[derive(Debug)]
pub struct Outbox {
    frames: mpsc::Sender<Frame>,
    /// Last message that was handed to the stream.
    cursor: u64,
    /// Those that were handed to it and are not confirmed, and whether they are views. What is newer waits in its
    /// queue, where it can still be replaced: a slow reader is sent the newest view, not all of them.
    in_flight: VecDeque<(u64, bool)>,
    /// Views among them.
    views: usize,
    /// The same, of those that are for other clients.
    peers: BTreeMap<NodeId, u64>,
    /// Bytes of frames that were handed to the stream and not asked for yet.
    bytes: Cell<u64>,
}

impl Outbox {
    /// A channel for one connection.
    pub fn channel() -> (mpsc::Sender<Frame>, mpsc::Receiver<Frame>) {
        mpsc::channel(ROOM + PEER_ROOM)
    }

    /// The way out to a peer that has everything up to `received`.
    pub fn new(frames: mpsc::Sender<Frame>, received: u64) -> Outbox {
        Outbox {
            frames,
            cursor: received,
            in_flight: VecDeque::new(),
            views: 0,
            peers: BTreeMap::new(),
            bytes: Cell::new(0),
        }
    }

    /// Sends a frame; `false` when the connection is of no use any more.
    #[must_use]
    pub fn send(&self, frame: Frame) -> bool {
        let bytes = frame.encoded_len() as u64;
        let sent = self.frames.try_send(frame).is_ok();
        self.bytes.set(self.bytes.get() + if sent { bytes } else { 0 });
        sent
    }

    /// Bytes of frames that were handed to the stream since this was last asked.
    pub fn take_bytes(&self) -> u64 {
        self.bytes.take()
    }

    /// Sends a frame between clients if there is room: it will be sent again if it is lost.
    pub fn pass_on(&self, frame: Frame) {
        if self.frames.capacity() > ROOM {
            let _ = self.send(frame);
        }
    }

    /// Sends what waits for another client, from the first message that is not confirmed, no further than
    /// `up_to` and the room there is.
    pub fn pump_peer(&mut self, queues: &Queues, up_to: u64, to: NodeId, header: &EnvelopeHeader) {
        let cursor = self.peers.entry(to).or_default();
        for message in queues.after(to, *cursor).take_while(|message| message.sequence <= up_to) {
            let frame = frame(Kind::Envelope(header.envelope(to, message).into()));
            let bytes = frame.encoded_len() as u64;
            if self.frames.capacity() <= ROOM || self.frames.try_send(frame).is_err() {
                return;
            }
            self.bytes.set(self.bytes.get() + bytes);
            *cursor = message.sequence;
        }
    }

    /// Nothing was heard from a client: its messages are to be sent again.
    pub fn rewind(&mut self, peer: NodeId) {
        self.peers.remove(&peer);
    }

    /// Sends what waits for a peer, no further than `up_to`, the window, and the views that may be on their way. What is
    /// left follows when confirmations come.
    #[must_use]
    pub fn pump(&mut self, queues: &Queues, up_to: u64, to: NodeId, header: &EnvelopeHeader) -> bool {
        for message in queues.after(to, self.cursor).take_while(|message| message.sequence <= up_to) {
            let is_view = message.is_replaceable();
            if self.in_flight.len() == WINDOW || is_view && self.views == VIEWS {
                break;
            }
            if !self.send(frame(Kind::Envelope(header.envelope(to, message).into()))) {
                return false;
            }
            self.cursor = message.sequence;
            self.in_flight.push_back((message.sequence, is_view));
            self.views += usize::from(is_view);
        }
        true
    }

    /// The peer has everything up to `sequence` on disk.
    pub fn confirmed(&mut self, sequence: u64) {
        while let Some((sent, is_view)) = self.in_flight.front()
            && *sent <= sequence
        {
            self.views -= usize::from(*is_view);
            self.in_flight.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
