//! What the app's side keeps of decisions, where the machine's own record is not enough: the app's name for one and what it was
//! told, whether it counts yet, parts of its reward. A ticket is a named value in the commit of the log entry that it belongs
//! to, so that both are on disk or neither is. Bare decisions have none.

mod error;
mod ticket;

use std::collections::BTreeMap;
use std::sync::Arc;

use cahoots_core::DecisionId;

pub(super) use self::error::MOST_PARTS;
pub use self::error::TicketError;
pub(super) use self::ticket::{Answer, Ticket};
use super::ask::{Reply, Which};
use super::state::Journal;
use crate::error::NodeError;

/// What names of values begin with.
pub(super) const PREFIX: &str = "ticket/";

/// Closed decisions that are remembered. The machine remembers the rewards of fewer.
const REMEMBERED: usize = 10_000;

/// All tickets, of decisions that are open and of those that closed last.
#[derive(Debug, Default)]
pub(super) struct Tickets {
    all: BTreeMap<DecisionId, Ticket>,
    events: BTreeMap<Arc<str>, DecisionId>,
    /// Those that are closed, by when they were.
    closed: BTreeMap<u64, DecisionId>,
    /// Bytes of those that are open, about.
    bytes: usize,
    /// They are not written: a planted fault.
    pub(super) forgets: bool,
}

impl Tickets {
    /// As they were stored. Those of decisions that are neither open nor said to be closed belong to a machine that is no
    /// more: they are left out.
    pub(super) fn restore(
        stored: Vec<(String, Vec<u8>)>,
        is_open: impl Fn(DecisionId) -> bool,
    ) -> Result<Tickets, String> {
        let mut tickets = Tickets::default();
        for (name, value) in stored {
            let id = name.strip_prefix(PREFIX).and_then(|id| id.parse().ok());
            let id: DecisionId = id.ok_or_else(|| format!("{name:?} names no decision"))?;
            let ticket =
                Ticket::restore(&value).ok_or_else(|| format!("the ticket of {id} cannot be read"))?;
            if ticket.closed.is_some() || is_open(id) {
                tickets.insert(id, ticket);
            }
        }
        Ok(tickets)
    }

    fn insert(&mut self, id: DecisionId, ticket: Ticket) {
        if let Some(event) = &ticket.event {
            self.events.insert(event.clone(), id);
        }
        match ticket.closed {
            Some(order) => drop(self.closed.insert(order, id)),
            None => self.bytes += ticket.bytes(),
        }
        self.all.insert(id, ticket);
    }

    fn take(&mut self, id: DecisionId) -> Option<Ticket> {
        let ticket = self.all.remove(&id)?;
        if let Some(event) = &ticket.event {
            self.events.remove(event);
        }
        match ticket.closed {
            Some(order) => drop(self.closed.remove(&order)),
            None => self.bytes -= ticket.bytes(),
        }
        Some(ticket)
    }

    /// The ticket of a decision, where it has one.
    pub(super) fn get(&self, id: DecisionId) -> Option<&Ticket> {
        self.all.get(&id)
    }

    /// What a decision was said to be, if it was asked for under this name.
    pub(super) fn told(&self, event: &str) -> Option<Reply> {
        let id = *self.events.get(event)?;
        self.all.get(&id)?.reply(id)
    }

    /// Which decision is meant.
    pub(super) fn find(&self, which: Which<'_>) -> Result<DecisionId, NodeError> {
        match which {
            Which::Id(id) => Ok(id),
            Which::Event(event) => {
                self.events.get(event).copied().ok_or_else(|| TicketError::unknown(event).into())
            }
        }
    }

    /// All of them, by the names of their values.
    pub(super) fn stored(&self) -> BTreeMap<String, Vec<u8>> {
        self.all.iter().map(|(id, ticket)| (name(*id), ticket.save())).collect()
    }

    /// Bytes of those that are open, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn write(&self, id: DecisionId, value: Vec<u8>, journal: &mut Journal) {
        if !self.forgets {
            journal.set(name(id), value);
        }
    }

    /// A ticket, new or as it is now: in the next commit. One that says nothing is none.
    pub(super) fn put(&mut self, id: DecisionId, ticket: Ticket, journal: &mut Journal) {
        self.take(id);
        if ticket == Ticket::default() {
            self.write(id, Vec::new(), journal);
            return;
        }
        self.write(id, ticket.save(), journal);
        self.insert(id, ticket);
    }

    /// The decision is open no more. What may be asked again is remembered for a while.
    pub(super) fn close(&mut self, id: DecisionId, journal: &mut Journal) {
        let Some(mut ticket) = self.take(id) else { return };
        if ticket.event.is_none() && ticket.parts.is_empty() {
            self.write(id, Vec::new(), journal);
            return;
        }
        let order = self.closed.last_key_value().map_or(0, |(last, _)| last + 1);
        ticket.close(order);
        self.put(id, ticket, journal);
        while self.closed.len() > REMEMBERED {
            let (_, oldest) = self.closed.pop_first().expect("one too many");
            self.take(oldest);
            self.write(oldest, Vec::new(), journal);
        }
    }
}

fn name(id: DecisionId) -> String {
    format!("{PREFIX}{id}")
}
