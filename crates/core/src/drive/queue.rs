//! What awaits confirmation, link by link. A queue lies outside the replicated state of its machine: a
//! replay of the machine's inputs fills it again, and whoever receives says how far it has come.

mod history;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use self::history::{History, Hold};
use super::body::Body;
use super::event::{Outbox, Outgoing};
use super::snapshot::{self, SnapshotError};
use crate::contract::message::Message;
use crate::ids::NodeId;

/// A message that its receiver has not confirmed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    /// Its number on this link.
    pub sequence: u64,
    /// How many numbers before it were given to messages that it makes superfluous.
    pub skipped: u64,
    /// Its place among all messages of its sender, so that all links together
    /// can be sent again in the original order.
    pub order: u64,
    /// Which of its kind replaces it, if any does.
    slot: Option<u32>,
    body: Body,
}

impl Waiting {
    /// The encoded payload.
    pub fn payload(&self) -> Vec<u8> {
        self.body.bytes()
    }

    /// Whether a newer message may make it superfluous.
    pub fn is_replaceable(&self) -> bool {
        self.slot.is_some()
    }
}

/// The queues of one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Queues {
    links: BTreeMap<NodeId, VecDeque<Waiting>>,
    /// What was confirmed last: should a peer's store turn out to be an old copy, it is sent again.
    history: BTreeMap<NodeId, History>,
    /// Numbers before the next message that will not come, because what bore them is gone.
    gone: BTreeMap<NodeId, u64>,
    #[serde(skip)]
    keeps_all: bool,
    /// Bytes of history, per peer.
    #[serde(skip)]
    remembers: usize,
    /// Peers that may lose what they have confirmed. Not saved: starting forgets nothing, and whoever is met says it anew.
    #[serde(skip)]
    holds: BTreeMap<NodeId, Hold>,
}

impl<M: Message> Outbox<M> for Queues {
    fn post(&mut self, Outgoing { to, sequence, order, message }: Outgoing<M>) {
        let queue = self.links.entry(to).or_default();
        let slot = message.slot();
        let mut skipped = 0;
        // Whether the one before has come or not, the new one says it all.
        if !self.keeps_all && slot.is_some() && queue.back().is_some_and(|last| last.slot == slot) {
            skipped = queue.pop_back().map_or(0, |last| last.skipped + 1);
        }
        skipped += self.gone.remove(&to).unwrap_or(0);
        queue.push_back(Waiting { sequence, skipped, order, slot, body: Body::of(message) });
    }
}

impl Queues {
    /// All that waits, to be restored.
    pub fn save(&self) -> Vec<u8> {
        snapshot::save(self)
    }

    /// What waited when it was saved.
    pub fn restore(bytes: &[u8]) -> Result<Queues, SnapshotError> {
        snapshot::restore(bytes)
    }

    /// From now on nothing is replaced: every message is wanted, even one that a newer one makes superfluous.
    pub fn keep_all(&mut self) {
        self.keeps_all = true;
    }

    /// The peer has everything up to `sequence` on disk.
    pub fn confirmed(&mut self, peer: NodeId, sequence: u64) {
        let Some(queue) = self.links.get_mut(&peer) else { return };
        let known = queue.partition_point(|message| message.sequence <= sequence);
        let confirmed = queue.drain(..known);
        let hold = self.holds.get(&peer);
        if self.remembers > 0 || hold.is_some() {
            let history = self.history.entry(peer).or_default();
            history.extend(confirmed);
            history.trim(self.remembers, hold);
        } else {
            drop(confirmed);
        }
        if queue.is_empty() {
            self.links.remove(&peer);
        }
    }

    /// From now on so many bytes of what was confirmed are remembered, per peer.
    pub fn remember(&mut self, bytes: usize) {
        self.remembers = bytes;
    }

    /// From now on what this peer confirms is remembered until it is [kept](Self::kept) elsewhere, as long as it takes
    /// no more than `most` bytes: the peer may lose what it has confirmed.
    pub fn hold(&mut self, peer: NodeId, most: usize) {
        self.holds.insert(peer, Hold { most, covered: 0 });
    }

    /// From now on what this peer confirms is remembered as usual.
    pub fn let_go(&mut self, peer: NodeId) {
        self.holds.remove(&peer);
        self.trim(peer);
    }

    /// The peer cannot lose what is up to `sequence` any more. What it has not confirmed waits all the same.
    pub fn kept(&mut self, peer: NodeId, sequence: u64) {
        if let Some(hold) = self.holds.get_mut(&peer) {
            hold.covered = hold.covered.max(sequence);
            self.trim(peer);
        }
    }

    fn trim(&mut self, peer: NodeId) {
        if let Some(history) = self.history.get_mut(&peer) {
            history.trim(self.remembers, self.holds.get(&peer));
        }
    }

    /// The peer has everything up to `received` and nothing beyond, though it may have confirmed more: its
    /// store is an old copy. What is remembered waits again. Gives how many messages up to `sent` are gone.
    pub fn reclaim(&mut self, peer: NodeId, received: u64, sent: u64) -> u64 {
        let history = self.history.entry(peer).or_default();
        let mut again = history.split_off(received);
        again.extend(self.links.remove(&peer).unwrap_or_default());
        let expected = received + 1;
        let Some(first) = again.front_mut() else {
            let gone = sent.saturating_sub(received);
            if gone > 0 {
                self.gone.insert(peer, gone);
            }
            return gone;
        };
        let gone = (first.sequence - first.skipped).saturating_sub(expected);
        first.skipped += gone;
        self.links.insert(peer, again);
        gone
    }

    /// These messages and no others wait for a peer, under the last numbers up to `sent`.
    pub(super) fn begin_again(&mut self, peer: NodeId, sent: u64, again: Vec<Waiting>) {
        self.links.remove(&peer);
        let first = sent - again.len() as u64 + 1;
        let queue =
            (first..).zip(again).map(|(sequence, message)| Waiting { sequence, skipped: 0, ..message });
        let queue: VecDeque<Waiting> = queue.collect();
        if !queue.is_empty() {
            self.links.insert(peer, queue);
        }
    }

    /// Nothing is to be sent to this peer any more.
    pub fn forget(&mut self, peer: NodeId) {
        self.links.remove(&peer);
        self.history.remove(&peer);
        self.holds.remove(&peer);
        self.gone.remove(&peer);
    }

    /// What must be sent again to a peer that has all up to `received`.
    pub fn after(&self, peer: NodeId, received: u64) -> impl Iterator<Item = &Waiting> {
        let queue = self.links.get(&peer);
        let known = queue.map_or(0, |queue| queue.partition_point(|message| message.sequence <= received));
        queue.into_iter().flat_map(move |queue| queue.range(known..))
    }

    /// Messages that wait for this peer's confirmation.
    pub fn len(&self, peer: NodeId) -> usize {
        self.links.get(&peer).map_or(0, VecDeque::len)
    }

    /// The oldest message that waits for this peer's confirmation.
    pub fn first(&self, peer: NodeId) -> Option<&Waiting> {
        self.links.get(&peer).and_then(VecDeque::front)
    }

    /// Nothing waits for anyone.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Those for whom something waits.
    pub fn peers(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.links.keys().copied()
    }

    /// Every message that waits, in the order of sending: what a recovered node sends first.
    pub fn in_order(&self) -> Vec<(NodeId, &Waiting)> {
        let all = self.links.iter().flat_map(|(&to, queue)| queue.iter().map(move |message| (to, message)));
        let mut waiting: Vec<_> = all.collect();
        waiting.sort_unstable_by_key(|(_, message)| message.order);
        waiting
    }
}

#[cfg(test)]
mod tests;
