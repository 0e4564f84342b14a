//! A machine that never met a fault, given the inputs of one that did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::drive::{Event, Input, Node, Timed};
use cahoots_core::{DecisionId, Keys, Membership, NodeId};
use cahoots_node::books::Books;

use super::super::computer::Commit;
use super::super::world::Broken;

/// What such a machine has come to.
#[derive(Default)]
pub(in crate::faults) struct Shadow {
    pub(in crate::faults) state: Vec<u8>,
    pub(in crate::faults) books: Books,
    /// Checksums of what it sent, by receiver and number; what was numbered anew counts under its last number.
    pub(in crate::faults) emitted: BTreeMap<(NodeId, u64), u32>,
    /// Numbers and checksums of what it took, by sender and by how often that had left before.
    pub(in crate::faults) received: BTreeMap<(NodeId, u64), Vec<(u64, u32)>>,
    /// Starts of clients that were let in, by the same.
    pub(in crate::faults) epochs: BTreeMap<(NodeId, u64), BTreeSet<u64>>,
    /// Rewards, in their order.
    pub(in crate::faults) rewards: Vec<(DecisionId, f64)>,
    left: BTreeMap<NodeId, u64>,
}

impl Shadow {
    /// How often a client has left.
    pub(in crate::faults) fn left(&self, client: NodeId) -> u64 {
        self.left.get(&client).copied().unwrap_or(0)
    }

    /// The last number that was sent to a peer.
    pub(in crate::faults) fn last(&self, peer: NodeId) -> Option<u64> {
        self.emitted.range((peer, 0)..=(peer, u64::MAX)).next_back().map(|((_, sequence), _)| *sequence)
    }
}

/// Gives a new machine all inputs that a store was given.
pub(in crate::faults) fn replay<N: Node + ?Sized>(
    machine: &mut N,
    commits: &[Arc<Commit>],
    keys: &Keys,
    me: NodeId,
) -> Result<Shadow, Broken> {
    let mut shadow = Shadow::default();
    let mut before = 0;
    for commit in commits {
        for entry in &commit.entries {
            let read = postcard::take_from_bytes::<Timed<Input<()>>>(entry);
            let (Timed { input, now }, _) =
                read.map_err(|e| format!("an entry of {me} makes no sense: {e}"))?;
            if now < before {
                return Err(format!("time goes back at {me}: from tick {before} to {now}"));
            }
            before = now;
            machine.replay(entry, keys).map_err(|e| format!("an entry of {me} cannot be replayed: {e}"))?;
            let step = machine.take_step();
            shadow.books.enter(me, step.facts);
            for (to, sequence) in step.posted {
                note(machine, &mut shadow, to, sequence);
            }
            match input {
                Input::Event(Event::Message { from, sequence, message, .. }) => {
                    let stay = (from, shadow.left(from));
                    shadow.received.entry(stay).or_default().push((sequence, crc32fast::hash(&message)));
                }
                Input::Event(Event::Membership(Membership::Left(client))) => {
                    *shadow.left.entry(client).or_default() += 1;
                    shadow.emitted.retain(|(to, _), _| *to != client);
                }
                Input::Reward { id, value } => shadow.rewards.push((id, value)),
                Input::Behind { peer, sent, again } => {
                    for sequence in sent - again.len() as u64 + 1..=sent {
                        note(machine, &mut shadow, peer, sequence);
                    }
                }
                _ => {}
            }
        }
        // What was set last in a commit counts.
        for (key, owner) in commit.values.iter().map(|(key, value)| (key, value)).collect::<BTreeMap<_, _>>()
        {
            let client = key.strip_prefix("member/").and_then(|client| client.parse().ok());
            // A name, then the start that was let in, then whether it was told to leave.
            if let (Some(client), Ok(((_, epoch, false), _))) =
                (client, postcard::take_from_bytes::<(Vec<u8>, u64, bool)>(owner))
            {
                let stay = (NodeId(client), shadow.left(NodeId(client)));
                shadow.epochs.entry(stay).or_default().insert(epoch);
            }
        }
    }
    Ok(shadow)
}

fn note<N: Node + ?Sized>(machine: &mut N, shadow: &mut Shadow, to: NodeId, sequence: u64) {
    let message = machine.queues().after(to, sequence - 1).next();
    if let Some(message) = message.filter(|message| message.sequence == sequence) {
        shadow.emitted.insert((to, sequence), crc32fast::hash(&message.payload()));
    }
}
