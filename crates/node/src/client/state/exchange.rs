//! What comes in over the connection, what a commit makes durable, and what leaves after it.

use std::collections::BTreeMap;

use cahoots_core::drive::Event;
use cahoots_core::link::Arrival;
use cahoots_core::{Misbehaviour, NodeId};

use super::super::telemetry::Now;
use super::{Durable, State, Waiter, Work};
use crate::platform::Bug;
use crate::transport::proto::Alive;
use crate::transport::{self, Contents, Kind, WINDOW, confirm, confirm_peer, frame};

impl State {
    /// An envelope: new ones are logged and applied, seen ones confirmed again,
    /// gaps refused.
    pub(in crate::client) fn envelope(
        &mut self,
        envelope: cahoots_core::wire::Envelope,
    ) -> Result<(), String> {
        let member = self.member.as_mut().ok_or("a message before the terms were known")?;
        let from = NodeId(envelope.from);
        let Contents { sequence, skipped, payload } = transport::open(envelope, &member.header, from)?;
        match member.machine.check(from, sequence, skipped) {
            Ok(Arrival::Next) => {
                self.taken += usize::from(from == NodeId::SERVER);
                if self.taken > 2 * WINDOW {
                    return Err("more messages than the window allows".into());
                }
                self.event(Event::Message { from, sequence, skipped, message: payload }, None);
            }
            Ok(Arrival::Seen) => {}
            Err(gap) if from == NodeId::SERVER => return Err(gap.to_string()),
            // The coordinator keeps no messages between clients, so there may be gaps: what is missing will
            // be sent again, and what is behind it with it.
            Err(gap @ Misbehaviour::Gap { .. }) => {
                tracing::debug!(%from, %gap, "a message was lost on the way");
                return Ok(());
            }
            // Nobody's fault here: whoever sent it must not cost this client its connection.
            Err(misbehaviour) => {
                self.refuse(&misbehaviour);
                return Ok(());
            }
        }
        match from {
            NodeId::SERVER => self.due.coordinator = true,
            peer => {
                self.due.peers.insert(peer);
            }
        }
        self.flush = true;
        Ok(())
    }

    /// The coordinator has everything up to `sequence` on disk; what is up to `kept` it cannot lose any more.
    pub(in crate::client) fn confirmed(&mut self, sequence: u64, kept: Option<u64>) -> Result<(), String> {
        let member = self.member.as_mut().ok_or("a confirmation before the terms were known")?;
        if sequence > member.machine.ends(NodeId::SERVER).sent {
            return Err("a confirmation of what was never sent".into());
        }
        let queues = member.machine.queues();
        queues.confirmed(NodeId::SERVER, sequence);
        let uncovered = self.clock.has(Bug::ForgetUncovered).then_some(sequence);
        if let Some(kept) = uncovered.or(kept) {
            // No snapshot is ahead of what was confirmed, whatever is said.
            queues.kept(NodeId::SERVER, kept.min(sequence));
        }
        if let Some(outbox) = &mut self.outbox {
            outbox.confirmed(sequence);
        }
        Ok(())
    }

    /// Another client says that it has everything up to `sequence` on disk. Whoever is no neighbour, or
    /// confirms what was never sent, is not believed.
    pub(in crate::client) fn confirmed_by(&mut self, peer: NodeId, sequence: u64) -> Result<(), String> {
        let member = self.member.as_mut().ok_or("a confirmation before the terms were known")?;
        let heard = peer != NodeId::SERVER && member.machine.seat().hears(peer);
        if !heard {
            self.refuse(&Misbehaviour::Stranger(peer));
            return Ok(());
        }
        if sequence > member.machine.ends(peer).sent {
            self.refuse(&format!("{peer} confirms what was never sent"));
            return Ok(());
        }
        member.machine.queues().confirmed(peer, sequence);
        Ok(())
    }

    /// Sends again to clients that have confirmed nothing since the last tick.
    pub(super) fn repeat(&mut self) {
        let Some(member) = &mut self.member else { return };
        let mut seen = BTreeMap::new();
        for peer in member.machine.peers() {
            let Some(first) = member.machine.queues().first(peer).map(|waiting| waiting.sequence) else {
                continue;
            };
            if self.unmoved.get(&peer) == Some(&first)
                && let Some(outbox) = &mut self.outbox
            {
                outbox.rewind(peer);
            }
            seen.insert(peer, first);
        }
        self.unmoved = seen;
        self.pump_peers();
    }

    /// Tells the coordinator how far this store has come: an older copy of it will not pass for it.
    pub(in crate::client) fn say_alive(&mut self) {
        self.said_alive = Some(self.clock.elapsed());
        if let Some(outbox) = &self.outbox {
            outbox.pass_on(frame(Kind::Alive(self.alive())));
        }
    }

    /// What is said with that: what was spent, and what its owner chose to show.
    pub(super) fn alive(&self) -> Alive {
        let position = self.position;
        let Some(member) = &self.member else { return Alive { position, ..Alive::default() } };
        let (_, rewards, reward_sum) = self.history.totals();
        let now = Now {
            rewards,
            reward_sum,
            unsent: member.machine.unsent(),
            open_decisions: member.machine.open() as u64,
            gain: self.beside.gain(),
        };
        Alive {
            position,
            spent: self.spending.as_ref().map(|spending| spending.told(self.ceiling.as_ref())),
            telemetry: self.telemetry.told(&member.promised, &now),
        }
    }

    /// Positions that the next commit makes durable.
    pub(in crate::client) fn reached(&mut self) -> Durable {
        let entries = self.journal.entries;
        let Some(member) = &self.member else { return Durable { entries, ..Durable::default() } };
        let machine = &member.machine;
        let ends = machine.ends(NodeId::SERVER);
        let peers = machine.peers().into_iter().map(|peer| {
            let ends = machine.ends(peer);
            (peer, (ends.sent, ends.received))
        });
        Durable { entries, sent: ends.sent, received: ends.received, peers: peers.collect() }
    }

    /// Everything since the last commit; what comes now gathers for the next.
    pub(in crate::client) fn gather(&mut self) -> Work {
        self.flush = false;
        if let Some(tutored) = &mut self.apprentice {
            tutored.keep(&mut self.journal.batch);
        }
        Work {
            durable: self.reached(),
            batch: std::mem::take(&mut self.journal.batch),
            due: std::mem::take(&mut self.due),
            after: std::mem::take(&mut self.after),
        }
    }

    /// A commit went through: acknowledge, confirm, send.
    pub(in crate::client) fn committed(&mut self, Work { durable, due, after, .. }: Work) {
        let (entries, received) = (durable.entries, durable.received);
        self.durable = durable;
        self.taken = 0;
        let (done, waiting) =
            std::mem::take(&mut self.waiters).into_iter().partition(|w| w.entries <= entries);
        self.waiters = waiting;
        for waiter in <Vec<Waiter>>::into_iter(done) {
            let _ = waiter.answer.send(Ok(()));
        }
        let Some(outbox) = &mut self.outbox else { return };
        let mut fine = !due.coordinator || outbox.send(confirm(received));
        for peer in due.peers {
            let (_, received) = self.durable.peers.get(&peer).copied().unwrap_or_default();
            outbox.pass_on(confirm_peer(received, peer));
        }
        fine = fine && self.pump();
        for frame in after {
            fine = fine && self.outbox.as_ref().is_some_and(|outbox| outbox.send(frame));
        }
        if !fine {
            self.outbox = None;
        }
    }

    /// Sends what is on disk, as far as the window allows.
    pub(in crate::client) fn pump(&mut self) -> bool {
        let (Some(member), Some(outbox)) = (&mut self.member, &mut self.outbox) else { return true };
        let queues = member.machine.queues();
        let fine = outbox.pump(queues, self.durable.sent, NodeId::SERVER, &member.header);
        self.pump_peers();
        fine
    }

    /// The same for messages to other clients.
    fn pump_peers(&mut self) {
        let (Some(member), Some(outbox)) = (&mut self.member, &mut self.outbox) else { return };
        for (&peer, &(sent, _)) in &self.durable.peers {
            outbox.pump_peer(member.machine.queues(), sent, peer, &member.header);
        }
    }
}
