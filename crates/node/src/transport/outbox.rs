//! One side's way out: a bounded channel that can never be full while both keep
//! to the window.

use std::collections::BTreeMap;

use cahoots_core::NodeId;
use cahoots_core::link::Link;
use tokio::sync::mpsc;

use super::proto::Frame;
use super::{Kind, Letterhead, frame};

/// Messages that may be on their way without a confirmation.
pub const WINDOW: u64 = 64;

/// Messages between clients that may wait for the stream besides.
const PEER_ROOM: usize = 4096;

/// A window of messages, a window of confirmations, and a few frames that come once.
const ROOM: usize = 2 * WINDOW as usize + 16;

/// A connection's way out.
#[derive(Debug)]
pub struct Outbox {
    frames: mpsc::Sender<Frame>,
    /// Last message that was handed to the stream.
    cursor: u64,
    /// The same, of those that are for other clients.
    peers: BTreeMap<NodeId, u64>,
}

impl Outbox {
    /// A channel for one connection.
    pub fn channel() -> (mpsc::Sender<Frame>, mpsc::Receiver<Frame>) {
        mpsc::channel(ROOM + PEER_ROOM)
    }

    /// The way out to a peer that has everything up to `received`.
    pub fn new(frames: mpsc::Sender<Frame>, received: u64) -> Outbox {
        Outbox { frames, cursor: received, peers: BTreeMap::new() }
    }

    /// Sends a frame; `false` when the connection is of no use any more.
    #[must_use]
    pub fn send(&self, frame: Frame) -> bool {
        self.frames.try_send(frame).is_ok()
    }

    /// Sends a frame between clients if there is room: it will be sent again if it is lost.
    pub fn pass_on(&self, frame: Frame) {
        if self.frames.capacity() > ROOM {
            let _ = self.frames.try_send(frame);
        }
    }

    /// Sends what the link to another client holds, from the first message that is not confirmed, no
    /// further than `up_to` and the room there is.
    pub fn pump_peer(&mut self, link: &Link, up_to: u64, to: NodeId, head: &Letterhead) {
        let cursor = self.peers.entry(to).or_default();
        for message in link.unconfirmed_after(*cursor).take_while(|message| message.sequence <= up_to) {
            let frame = frame(Kind::Envelope(head.envelope(to, message.sequence, &message.payload)));
            if self.frames.capacity() <= ROOM || self.frames.try_send(frame).is_err() {
                return;
            }
            *cursor = message.sequence;
        }
    }

    /// Nothing was heard from a client: its messages are to be sent again.
    pub fn rewind(&mut self, peer: NodeId) {
        self.peers.remove(&peer);
    }

    /// Sends what the link holds, no further than `up_to` and the window. What
    /// is left follows when confirmations come.
    #[must_use]
    pub fn pump(&mut self, link: &Link, up_to: u64, to: NodeId, head: &Letterhead) -> bool {
        let limit = up_to.min(link.confirmed_up_to() + WINDOW);
        for message in link.unconfirmed_after(self.cursor).take_while(|message| message.sequence <= limit) {
            if !self.send(frame(Kind::Envelope(head.envelope(to, message.sequence, &message.payload)))) {
                return false;
            }
            self.cursor = message.sequence;
        }
        true
    }
}
