//! One ticket, and how it is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use cahoots_core::DecisionId;
use serde::{Deserialize, Serialize};

use crate::client::ask::{Decider, Ranked, Reply};

/// What is kept of one decision.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::client) struct Ticket {
    /// The app's own name for it.
    pub(in crate::client) event: Option<Arc<str>>,
    /// What the app was told, for when it asks again.
    pub(in crate::client) answer: Option<Answer>,
    /// It does not count before it is activated.
    pub(in crate::client) deferred: bool,
    /// Parts of its reward, by name.
    pub(in crate::client) parts: BTreeMap<String, f64>,
    /// The reward without a name: what closed it, or what waits for it to be activated.
    pub(in crate::client) last: Option<f64>,
    /// It is closed; the how-manyth of those that are.
    pub(in crate::client) closed: Option<u64>,
}

/// What the app was told, but for names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::client) struct Answer {
    pub(in crate::client) taken: Ranked,
    pub(in crate::client) model: u64,
    pub(in crate::client) decided: Decider,
    pub(in crate::client) ranking: Option<Vec<Ranked>>,
}

/// As it is stored: a later version adds a variant, and reads these.
#[derive(Serialize, Deserialize)]
enum Stored {
    First {
        event: Option<String>,
        answer: Option<Answer>,
        deferred: bool,
        parts: BTreeMap<String, f64>,
        last: Option<f64>,
        closed: Option<u64>,
    },
}

impl Ticket {
    pub(super) fn save(&self) -> Vec<u8> {
        let Ticket { event, answer, deferred, parts, last, closed } = self.clone();
        let event = event.map(|event| event.to_string());
        let stored = Stored::First { event, answer, deferred, parts, last, closed };
        postcard::to_stdvec(&stored).expect("a ticket can always be written")
    }

    pub(super) fn restore(bytes: &[u8]) -> Option<Ticket> {
        let Stored::First { event, answer, deferred, parts, last, closed } =
            postcard::from_bytes(bytes).ok()?;
        Some(Ticket { event: event.map(Into::into), answer, deferred, parts, last, closed })
    }

    /// What the app was told.
    pub(super) fn reply(&self, id: DecisionId) -> Option<Reply> {
        let Answer { taken, model, decided, ranking } = self.answer.clone()?;
        Some(Reply { id, event: self.event.clone(), taken, model, decided, ranking })
    }

    /// All parts together, whatever order they came in.
    pub(in crate::client) fn sum(&self) -> f64 {
        self.parts.values().sum()
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        let ranking = self.answer.as_ref().and_then(|answer| answer.ranking.as_ref()).map_or(0, Vec::len);
        let names = self.event.as_ref().map_or(0, |event| event.len());
        let parts: usize = self.parts.keys().map(|part| part.len() + 64).sum();
        256 + 64 * ranking + names + parts
    }

    /// What was ranked is forgotten when a decision closes.
    pub(super) fn close(&mut self, order: u64) {
        self.closed = Some(order);
        if let Some(answer) = &mut self.answer {
            answer.ranking = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ask::ArmRef;

    #[test]
    fn tickets_are_stored_and_read_back_bit_for_bit() {
        let ranked =
            |arm| Ranked { arm, score: Some(0.1 + 0.2), interval: Some((-1e-300, 0.5)), probability: None };
        let answer = Answer {
            taken: ranked(ArmRef::Id("red".into())),
            model: 77,
            decided: Decider::Federated,
            ranking: Some(vec![ranked(ArmRef::Position(3)), ranked(ArmRef::Id("".into()))]),
        };
        let ticket = Ticket {
            event: Some("visit 1".into()),
            answer: Some(answer),
            deferred: true,
            parts: [("a".into(), 0.25), ("b".into(), -1.0)].into(),
            last: Some(0.5),
            closed: Some(4),
        };
        for ticket in [ticket, Ticket::default()] {
            assert_eq!(Ticket::restore(&ticket.save()), Some(ticket));
        }
        assert_eq!(Ticket::restore(&[9, 9]), None);
    }

    #[test]
    fn parts_add_up_to_the_same_in_any_order() {
        let values = [("a", 0.1), ("b", 0.2), ("c", 0.3), ("d", -0.7)];
        let of = |order: [usize; 4]| {
            let mut ticket = Ticket::default();
            ticket.parts.extend(order.map(|i| (values[i].0.to_string(), values[i].1)));
            ticket.sum().to_bits()
        };
        assert_eq!(of([0, 1, 2, 3]), of([3, 1, 0, 2]));
    }
}
