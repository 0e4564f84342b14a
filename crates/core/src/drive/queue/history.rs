//! What was confirmed and is remembered, with how much it is: nobody has to look at all of it to know.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize, Serializer};

use super::Waiting;

/// What a peer has confirmed, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "VecDeque<Waiting>")]
pub(super) struct History {
    messages: VecDeque<Waiting>,
    /// Of their payloads.
    bytes: usize,
}

/// What is not forgotten as usual, because the peer may lose what it has confirmed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hold {
    /// The most that it may take in memory.
    pub(super) most: usize,
    /// Everything up to this number cannot be lost any more.
    pub(super) covered: u64,
}

impl From<VecDeque<Waiting>> for History {
    fn from(messages: VecDeque<Waiting>) -> History {
        let bytes = messages.iter().map(|message| message.body.len()).sum();
        History { messages, bytes }
    }
}

impl Serialize for History {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.messages.serialize(serializer)
    }
}

impl History {
    pub(super) fn extend(&mut self, confirmed: impl IntoIterator<Item = Waiting>) {
        for message in confirmed {
            self.bytes += message.body.len();
            self.messages.push_back(message);
        }
    }

    /// Takes out all behind this number.
    pub(super) fn split_off(&mut self, sequence: u64) -> VecDeque<Waiting> {
        let first = self.messages.partition_point(|message| message.sequence <= sequence);
        let off = self.messages.split_off(first);
        self.bytes -= off.iter().map(|message| message.body.len()).sum::<usize>();
        off
    }

    /// Forgets the oldest down to `usual` bytes, but of what is held only what is covered or too much.
    pub(super) fn trim(&mut self, usual: usize, hold: Option<&Hold>) {
        while self.bytes > usual
            && self.messages.front().is_some_and(|oldest| {
                hold.is_none_or(|hold| oldest.sequence <= hold.covered || self.in_memory() > hold.most)
            })
        {
            self.bytes -= self.messages.pop_front().map_or(0, |oldest| oldest.body.len());
        }
    }

    /// Many small messages take more than what is in them.
    fn in_memory(&self) -> usize {
        self.bytes + self.messages.len() * size_of::<Waiting>()
    }
}
