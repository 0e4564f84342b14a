//! Any machine, its links and its wake.

use serde::Serialize;

use super::event::{Event, Incoming, Outbox, Outcome, Outgoing};
use super::link::{Arrival, Ends, Links};
use super::snapshot::{self, SnapshotError};
use crate::contract::context::{Cx, Effects};
use crate::contract::machine::{Machine, Membership};
use crate::contract::message::{Message, Receipt};
use crate::contract::setting::Seat;
use crate::error::Misbehaviour;
use crate::ids::{NodeId, Tick};
use crate::rng::{Keys, Positions};

/// A machine with all that its driver must not lose.
#[derive(Clone, Debug)]
pub struct Host<M> {
    seat: Seat,
    machine: M,
    positions: Positions,
    wake: Option<Tick>,
    links: Links,
    /// Messages sent on all links.
    sent: u64,
}

impl<M: Machine> Host<M> {
    /// A new machine; its first event must be [`Event::Start`].
    pub fn new(seat: Seat, machine: M) -> Self {
        let links = Links::of(&seat);
        Host { seat, machine, positions: Positions::default(), wake: None, links, sent: 0 }
    }

    /// May this message be taken now? Refuses those that this machine does not hear, and gaps in a link's
    /// numbers: the sender must go back. To be asked before a message is logged.
    pub fn check(&self, from: NodeId, sequence: u64, skipped: u64) -> Result<Arrival, Misbehaviour> {
        if !self.seat.hears(from) {
            return Err(Misbehaviour::Stranger(from));
        }
        self.links.get(from).check(sequence, skipped)
    }

    /// Applies an event. An error changes nothing (see [`Self::check`]). What leaves is posted, numbered;
    /// what is to be known is in `effects`.
    pub fn apply<T: Incoming<M::Msg>>(
        &mut self,
        now: Tick,
        event: Event<T>,
        keys: &Keys,
        effects: &mut Effects<M::Msg>,
        out: &mut impl Outbox<M::Msg>,
    ) -> Result<Outcome, Misbehaviour> {
        let mut outcome = Outcome::Done;
        if let Some(stranger) = event.is_about().filter(|node| !self.seat.hears(*node)) {
            return Err(Misbehaviour::Stranger(stranger));
        }
        match event {
            Event::Start => self.step(now, keys, effects, out, |machine, cx| machine.on_start(cx)),
            Event::Wake => {
                self.wake = None;
                self.step(now, keys, effects, out, |machine, cx| machine.on_wake(cx));
            }
            Event::Membership(change) => {
                self.step(now, keys, effects, out, |machine, cx| machine.on_membership(change, cx));
                // Whoever comes back under this number starts anew.
                if let Membership::Left(client) = change {
                    *self.links.get_mut(client) = Ends::default();
                }
            }
            Event::Message { from, sequence, skipped, message } => {
                if self.check(from, sequence, skipped)? == Arrival::Seen {
                    return Ok(Outcome::Seen);
                }
                self.links.get_mut(from).received = sequence;
                let mut taken = Ok(());
                let mut receipt = None;
                match message.read() {
                    Ok(message) => {
                        receipt = message.receipt();
                        self.step(now, keys, effects, out, |machine, cx| {
                            taken = machine.on_message(from, message, cx);
                        });
                    }
                    Err(unreadable) => taken = Err(unreadable),
                }
                if let Err(misbehaviour) = taken {
                    self.answer(now, from, receipt, misbehaviour.to_string(), keys, effects, out);
                    outcome = Outcome::Refused(misbehaviour);
                }
            }
            Event::Ruling(ruling) => {
                self.step(now, keys, effects, out, |machine, cx| machine.on_ruling(ruling, cx));
            }
            Event::Prior(prior) => {
                // Asked before it was logged: only a log that is not this machine's own says otherwise.
                self.machine.takes_prior(&prior).map_err(Misbehaviour::Unexpected)?;
                self.step(now, keys, effects, out, |machine, cx| machine.on_prior(*prior, cx));
            }
            Event::Turned { from, sequence, skipped, message, reason } => {
                if self.check(from, sequence, skipped)? == Arrival::Seen {
                    return Ok(Outcome::Seen);
                }
                self.links.get_mut(from).received = sequence;
                let receipt = message.read().ok().and_then(|message| message.receipt());
                self.answer(now, from, receipt, reason.clone(), keys, effects, out);
                outcome = Outcome::Refused(Misbehaviour::Unexpected(reason));
            }
        }
        Ok(outcome)
    }

    /// Tells whoever sent a message that it was refused, where something hangs on it.
    #[expect(clippy::too_many_arguments, reason = "what a step takes, and what it is about")]
    fn answer(
        &mut self,
        now: Tick,
        to: NodeId,
        receipt: Option<Receipt>,
        reason: String,
        keys: &Keys,
        effects: &mut Effects<M::Msg>,
        out: &mut impl Outbox<M::Msg>,
    ) {
        if let Some(answer) = receipt.and_then(|receipt| M::Msg::refused(receipt, reason)) {
            self.step(now, keys, effects, out, |_, cx| cx.send(to, answer));
        }
    }

    /// One step of the machine, and what follows from it.
    pub(super) fn step(
        &mut self,
        now: Tick,
        keys: &Keys,
        effects: &mut Effects<M::Msg>,
        out: &mut impl Outbox<M::Msg>,
        step: impl FnOnce(&mut M, &mut Cx<'_, M::Msg>),
    ) {
        let mut cx = Cx::new(self.seat.me, now, keys, &mut self.positions, effects);
        step(&mut self.machine, &mut cx);
        if let Some(tick) = effects.wake.take() {
            self.wake = Some(tick);
        }
        for (to, message) in effects.outbox.drain(..) {
            let ends = self.links.get_mut(to);
            ends.sent += 1;
            out.post(Outgoing { to, sequence: ends.sent, order: self.sent, message });
            self.sent += 1;
        }
    }

    /// Messages to a peer are numbered from here on: it has received more than this machine remembers.
    pub(super) fn number_from(&mut self, peer: NodeId, sent: u64) {
        self.links.get_mut(peer).sent = sent;
    }

    /// The machine's place.
    pub fn seat(&self) -> &Seat {
        &self.seat
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    pub(super) fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }

    /// When the machine wants to be woken.
    pub fn wake(&self) -> Option<Tick> {
        self.wake
    }

    /// The numbers of the link to a peer.
    pub fn ends(&self, peer: NodeId) -> Ends {
        self.links.get(peer)
    }

    /// The numbers of all links.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// The whole replicated state, to be restored or compared.
    pub fn save(&self) -> Vec<u8> {
        snapshot::save(&self.parts())
    }

    /// A machine as it was saved, at its seat.
    pub fn restore(seat: Seat, bytes: &[u8]) -> Result<Self, SnapshotError> {
        Ok(Host::from_parts(seat, snapshot::restore(bytes)?))
    }

    pub(super) fn parts(&self) -> impl Serialize {
        (&self.machine, self.positions, self.wake, &self.links, self.sent)
    }

    pub(super) fn from_parts(seat: Seat, (machine, positions, wake, links, sent): Parts<M>) -> Self {
        Host { seat, machine, positions, wake, links, sent }
    }
}

/// What is saved of a host.
pub(super) type Parts<M> = (M, Positions, Option<Tick>, Links, u64);
