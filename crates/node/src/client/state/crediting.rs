//! What became of decisions: rewards, whole or in parts, soon, late or never.

use cahoots_core::decision::{RewardError, Taken};
use cahoots_core::{DecisionId, Tick};

use super::State;
use crate::client::Ack;
use crate::client::ask::{Reward, Which};
use crate::client::registry;
use crate::client::tickets::{MOST_PARTS, Ticket, TicketError};
use crate::error::NodeError;

impl State {
    /// A reward, or a part of one.
    pub(in crate::client) fn credit(&mut self, reward: &Reward<'_>) -> Result<Ack, NodeError> {
        let id = self.tickets.find(reward.of)?;
        if self.tickets.get(id).is_some_and(|ticket| ticket.closed.is_some()) {
            self.not_given_up(id)?;
        }
        match (reward.part, self.tickets.get(id)) {
            (Some(part), ticket) => {
                let ticket = ticket.cloned().unwrap_or_default();
                self.part(id, registry::named("the name of a part", part)?, reward.value, ticket)
            }
            (None, None) => self.learn(id, reward.value),
            (None, Some(ticket)) => {
                let ticket = ticket.clone();
                self.complete(id, reward.value, ticket)
            }
        }
    }

    /// Whether a decision is open; refuses those that are unknown or were given up.
    fn not_given_up(&self, id: DecisionId) -> Result<bool, NodeError> {
        let member = self.member.as_ref().ok_or(NodeError::NotJoined)?;
        match member.machine.would_abandon(id) {
            Ok(Taken::Fresh(())) => Ok(true),
            Err(RewardError::Rewarded(_)) => Ok(false),
            Ok(Taken::Repeated) => Err(RewardError::Unknown(id).into()),
            Err(error) => Err(error.into()),
        }
    }

    fn learn(&mut self, id: DecisionId, value: f64) -> Result<Ack, NodeError> {
        Ok(match self.reward(id, value, None)? {
            Taken::Fresh(()) => Ack::Learned,
            // The first one may still be on its way to the disk: wait for it too.
            Taken::Repeated => Ack::Repeated,
        })
    }

    fn part(&mut self, id: DecisionId, part: &str, value: f64, mut ticket: Ticket) -> Result<Ack, NodeError> {
        if let Some(&before) = ticket.parts.get(part) {
            if before == value {
                return Ok(Ack::Repeated);
            }
            return Err(TicketError::OtherPart { id, part: part.into(), before, now: value }.into());
        }
        if !self.not_given_up(id)? || ticket.last.is_some() {
            return Err(TicketError::TooLate { id, part: part.into() }.into());
        }
        if ticket.parts.len() >= MOST_PARTS {
            return Err(TicketError::TooManyParts(id).into());
        }
        // By itself it must be a number that can be learned from, and with the others within what the terms allow.
        if !value.is_finite() {
            return Err(RewardError::Unusable(value).into());
        }
        ticket.parts.insert(part.into(), value);
        self.would_take(id, ticket.sum())?;
        self.tickets.put(id, ticket, &mut self.journal);
        Ok(Ack::Kept)
    }

    /// The reward without a name, of a decision that has a ticket.
    fn complete(&mut self, id: DecisionId, value: f64, mut ticket: Ticket) -> Result<Ack, NodeError> {
        if let Some(before) = ticket.last {
            if before == value {
                return Ok(Ack::Repeated);
            }
            return Err(RewardError::Contradiction { id, before, now: value }.into());
        }
        if ticket.closed.is_some() {
            // It expired, and what there was by then was learned.
            return self.learn(id, value);
        }
        let total = ticket.sum() + value;
        self.would_take(id, total)?;
        ticket.last = Some(value);
        let deferred = ticket.deferred;
        self.tickets.put(id, ticket, &mut self.journal);
        if deferred {
            return Ok(Ack::Kept);
        }
        self.learn(id, total)
    }

    /// A decision counts from now on; what came before is learned.
    pub(in crate::client) fn activate(&mut self, which: Which<'_>) -> Result<Taken<()>, NodeError> {
        let id = self.tickets.find(which)?;
        let open = self.not_given_up(id)?;
        let Some(ticket) = self.tickets.get(id).filter(|ticket| open && ticket.deferred) else {
            return Ok(Taken::Repeated);
        };
        let ticket = Ticket { deferred: false, ..ticket.clone() };
        let complete = ticket.last.map(|last| ticket.sum() + last);
        self.tickets.put(id, ticket, &mut self.journal);
        if let Some(total) = complete {
            self.learn(id, total)?;
        }
        Ok(Taken::Fresh(()))
    }

    /// A decision is given up, by whichever name.
    pub(in crate::client) fn give_up(&mut self, which: Which<'_>) -> Result<Taken<()>, NodeError> {
        let id = self.tickets.find(which)?;
        self.abandon(id, None)
    }

    /// No reward will come any more: what counts is what there is of it, or the default, or nothing.
    pub(super) fn expire(&mut self, id: DecisionId, now: Tick) {
        self.expired += 1;
        let due = match self.tickets.get(id) {
            Some(ticket) if ticket.deferred => None,
            Some(ticket) if !ticket.parts.is_empty() => Some(ticket.sum()),
            _ => self.default_reward,
        };
        if self.tickets.get(id).is_none_or(|ticket| ticket.parts.is_empty()) {
            self.recorded_by_default(id);
        }
        let learned = due.is_some_and(|value| self.reward(id, value, Some(now)).is_ok());
        if !learned {
            let _ = self.abandon(id, Some(now));
        }
    }
}
