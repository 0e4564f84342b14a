//! What awaits confirmation, link by link. A queue lies outside the replicated state of its machine: a
//! replay of the machine's inputs fills it again, and whoever receives says how far it has come.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

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
    history: BTreeMap<NodeId, VecDeque<Waiting>>,
    /// Numbers before the next message that will not come, because what bore them is gone.
    gone: BTreeMap<NodeId, u64>,
    #[serde(skip)]
    keeps_all: bool,
    /// Bytes of history, per peer.
    #[serde(skip)]
    remembers: usize,
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
        if self.remembers > 0 {
            let history = self.history.entry(peer).or_default();
            history.extend(confirmed);
            let mut bytes: usize = history.iter().map(|message| message.body.len()).sum();
            while bytes > self.remembers {
                bytes -= history.pop_front().map_or(0, |oldest| oldest.body.len());
            }
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

    /// The peer has everything up to `received` and nothing beyond, though it may have confirmed more: its
    /// store is an old copy. What is remembered waits again. Gives how many messages up to `sent` are gone.
    pub fn reclaim(&mut self, peer: NodeId, received: u64, sent: u64) -> u64 {
        let history = self.history.entry(peer).or_default();
        let first = history.partition_point(|message| message.sequence <= received);
        let mut again = history.split_off(first);
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

    /// The last `again` messages that wait for a peer take the last numbers up to `sent`; those before are no
    /// longer wanted.
    pub(super) fn renumber(&mut self, peer: NodeId, sent: u64, again: u64) {
        let Some(queue) = self.links.get_mut(&peer) else { return };
        queue.drain(..queue.len().saturating_sub(again as usize));
        let first = sent - queue.len() as u64 + 1;
        for (sequence, message) in (first..).zip(queue) {
            (message.sequence, message.skipped) = (sequence, 0);
        }
    }

    /// Nothing is to be sent to this peer any more.
    pub fn forget(&mut self, peer: NodeId) {
        self.links.remove(&peer);
        self.history.remove(&peer);
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
mod tests {
    use super::*;
    use crate::contract::message::{self, Kind, control, control_len};
    use crate::contract::private::Arrived;
    use crate::error::Misbehaviour;
    use crate::wire;

    const PEER: NodeId = NodeId(3);

    /// A view (which replaces another) or a signal (which does not).
    #[derive(Clone, Debug)]
    struct Say(u32);

    impl Message for Say {
        fn kind(&self) -> Kind {
            Kind::Control
        }
        fn scalars(&self) -> u64 {
            0
        }
        fn to_wire(&self) -> wire::Payload {
            control(self.0, 0, 0)
        }
        fn from_wire(_: wire::Payload, _: Arrived) -> Result<Self, Misbehaviour> {
            Ok(Say(0))
        }
        fn wire_len(&self) -> usize {
            control_len(self.0, 0, 0)
        }
        fn slot(&self) -> Option<u32> {
            (self.0 >= 100).then_some(0)
        }
    }

    fn queues(said: &[u32]) -> Queues {
        let mut queues = Queues::default();
        for (place, say) in said.iter().enumerate() {
            let place = place as u64;
            queues.post(Outgoing { to: PEER, sequence: place + 1, order: place, message: Say(*say) });
        }
        queues
    }

    fn numbers(queues: &Queues, received: u64) -> Vec<(u64, u64)> {
        queues.after(PEER, received).map(|message| (message.sequence, message.skipped)).collect()
    }

    #[test]
    fn what_is_not_confirmed_is_sent_again() {
        let mut queues = queues(&[1, 2, 3]);
        queues.confirmed(PEER, 1);
        assert_eq!((queues.len(PEER), numbers(&queues, 2)), (2, vec![(3, 0)]));
        queues.confirmed(PEER, 3);
        assert!(queues.is_empty());
    }

    #[test]
    fn a_peer_whose_store_is_an_old_copy_is_sent_again_what_it_lacks() {
        let mut remembering = queues(&[1, 2, 3, 4]);
        remembering.remember(1000);
        remembering.confirmed(PEER, 3);
        assert_eq!(remembering.reclaim(PEER, 1, 4), 0);
        assert_eq!(numbers(&remembering, 1), [(2, 0), (3, 0), (4, 0)]);

        remembering.confirmed(PEER, 4);
        assert_eq!(remembering.reclaim(PEER, 0, 4), 0, "and once more, if it is lost again");
        assert_eq!(numbers(&remembering, 0), [(1, 0), (2, 0), (3, 0), (4, 0)]);

        // Memory is bounded: what is gone is said to be, and does not hold up what follows.
        let mut forgetful = queues(&[1, 2, 3, 4]);
        let size = forgetful.first(PEER).unwrap().payload().len();
        forgetful.remember(size);
        forgetful.confirmed(PEER, 3);
        assert_eq!(forgetful.reclaim(PEER, 0, 4), 2);
        assert_eq!(numbers(&forgetful, 0), [(3, 2), (4, 0)]);

        let mut oblivious = queues(&[1, 2]);
        oblivious.confirmed(PEER, 2);
        assert_eq!(oblivious.reclaim(PEER, 0, 2), 2);
        oblivious.post(Outgoing { to: PEER, sequence: 3, order: 2, message: Say(1) });
        assert_eq!(numbers(&oblivious, 0), [(3, 2)]);
    }

    #[test]
    fn what_is_encoded_when_it_leaves_is_saved_and_sent_as_the_same_bytes() {
        let queues = queues(&[1, 100, 101]);
        let sent: Vec<_> = queues.after(PEER, 0).map(Waiting::payload).collect();
        assert_eq!(sent, [message::encode(&Say(1)), message::encode(&Say(101))]);
        let restored = Queues::restore(&queues.save()).unwrap();
        assert_eq!(restored, queues);
        assert_eq!(restored.after(PEER, 0).map(Waiting::payload).collect::<Vec<_>>(), sent);
        assert_eq!(restored.save(), queues.save());
    }

    #[test]
    fn numbers_go_on_where_the_peer_is() {
        let mut queues = queues(&[1, 2, 3]);
        queues.renumber(PEER, 9, 2);
        assert_eq!(numbers(&queues, 0), [(8, 0), (9, 0)]);
    }

    #[test]
    fn a_newer_view_replaces_the_one_before_it_and_nothing_else() {
        assert_eq!(numbers(&queues(&[100, 100, 100]), 0), [(3, 2)]);
        assert_eq!(numbers(&queues(&[100, 1, 100, 100]), 0), [(1, 0), (2, 0), (4, 1)]);
        assert_eq!(numbers(&queues(&[1, 100, 2]), 0), [(1, 0), (2, 0), (3, 0)]);
    }
}
