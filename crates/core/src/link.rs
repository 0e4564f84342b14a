//! At least once on the wire, exactly once in the sum: every link numbers its
//! messages, a seen number is dropped, a gap is refused, and what is not yet
//! confirmed can be sent again.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::error::Misbehaviour;

/// One node's end of a link to one peer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    sent: u64,
    received: u64,
    unconfirmed: VecDeque<Waiting>,
}

/// A message that its receiver has not confirmed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    /// Its number on this link.
    pub sequence: u64,
    /// Its place among all messages of its sender, so that all links together
    /// can be sent again in the original order.
    pub order: u64,
    /// The encoded payload.
    pub payload: Vec<u8>,
}

/// Is this message new?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The next one: take it.
    Next,
    /// Seen before: drop it, confirm it again.
    Seen,
}

impl Link {
    /// Gives an outgoing payload its number, and keeps it until it is confirmed.
    pub fn send(&mut self, order: u64, payload: Vec<u8>) -> u64 {
        self.sent += 1;
        self.unconfirmed.push_back(Waiting { sequence: self.sent, order, payload });
        self.sent
    }

    /// Looks at an incoming number without taking it.
    pub fn check(&self, sequence: u64) -> Result<Arrival, Misbehaviour> {
        let expected = self.received + 1;
        match sequence.cmp(&expected) {
            std::cmp::Ordering::Less => Ok(Arrival::Seen),
            std::cmp::Ordering::Equal => Ok(Arrival::Next),
            std::cmp::Ordering::Greater => Err(Misbehaviour::Gap { expected, got: sequence }),
        }
    }

    /// Takes the next incoming number.
    pub fn take(&mut self, sequence: u64) -> Result<Arrival, Misbehaviour> {
        let arrival = self.check(sequence)?;
        if arrival == Arrival::Next {
            self.received = sequence;
        }
        Ok(arrival)
    }

    /// The peer has everything up to `sequence` on disk.
    pub fn confirmed(&mut self, sequence: u64) {
        while self.unconfirmed.front().is_some_and(|message| message.sequence <= sequence) {
            self.unconfirmed.pop_front();
        }
    }

    /// Last number received in order.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Last number given out.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// What must be sent again after a reconnect to a peer that has all up to `received`.
    pub fn unconfirmed_after(&self, received: u64) -> impl Iterator<Item = &Waiting> {
        // Numbers have no gaps, so the place follows from the number.
        let known = received.saturating_sub(self.confirmed_up_to()).min(self.unconfirmed.len() as u64);
        self.unconfirmed.range(known as usize..)
    }

    /// Last number that is known to be on the peer's disk.
    pub fn confirmed_up_to(&self) -> u64 {
        self.sent - self.unconfirmed.len() as u64
    }

    /// Messages that wait for their confirmation.
    pub fn unconfirmed(&self) -> usize {
        self.unconfirmed.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_dropped_and_gaps_refused() {
        let mut link = Link::default();
        assert_eq!(link.take(1), Ok(Arrival::Next));
        assert_eq!(link.take(1), Ok(Arrival::Seen));
        assert_eq!(link.take(3), Err(Misbehaviour::Gap { expected: 2, got: 3 }));
        assert_eq!(link.take(2), Ok(Arrival::Next));
    }

    #[test]
    fn what_is_not_confirmed_is_sent_again() {
        let mut link = Link::default();
        for byte in 1..=3 {
            link.send(u64::from(byte), vec![byte]);
        }
        link.confirmed(1);
        let again: Vec<u64> = link.unconfirmed_after(2).map(|m| m.sequence).collect();
        assert_eq!((link.unconfirmed(), again), (2, vec![3]));
    }
}
