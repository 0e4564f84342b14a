//! Decisions that wait for their rewards: late, lost and repeated ones.
//!
//! An id is (boot epoch, number). The epoch lives in the driver and grows with
//! every start, so that a number issued again after a crash can never claim an
//! old reward.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::Tick;

/// Names one decision of one client, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DecisionId {
    /// Which start of the client's process issued it.
    pub epoch: u64,
    /// Counts the client's decisions.
    pub number: u64,
}

impl std::fmt::Display for DecisionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.epoch, self.number)
    }
}

impl std::str::FromStr for DecisionId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |part: &str| part.parse::<u64>().ok();
        text.split_once('-')
            .and_then(|(epoch, number)| Some(DecisionId { epoch: parse(epoch)?, number: parse(number)? }))
            .ok_or_else(|| {
                format!("{text:?} is no decision id: expected EPOCH-NUMBER, as decide returned it")
            })
    }
}

/// Why a reward was not taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RewardError {
    /// Never issued, lost in a crash, or long forgotten.
    #[error("decision {0} is unknown: it was never made here, has expired, or was lost in a crash")]
    Unknown(DecisionId),
    /// Rewarded before, with another value.
    #[error("decision {id} already has reward {before}; {now} is refused")]
    Contradiction {
        /// Which decision.
        id: DecisionId,
        /// The value that was taken.
        before: f64,
        /// The value that came now.
        now: f64,
    },
    /// NaN or infinite.
    #[error("a reward must be a finite number, not {0}")]
    NotFinite(f64),
}

/// What to do with a reward.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken<P> {
    /// The first time: learn from it.
    Fresh(P),
    /// The same reward again: acknowledge, do nothing.
    Repeated,
}

/// Open decisions, and the rewards of the last closed ones (so that a lost
/// acknowledgement can be retried).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outstanding<P> {
    open: BTreeMap<DecisionId, (Tick, P)>,
    closed: BTreeMap<DecisionId, f64>,
    remember: usize,
}

impl<P: Clone> Outstanding<P> {
    /// Remembers the rewards of the last `remember` closed decisions.
    pub fn new(remember: usize) -> Self {
        Outstanding { open: BTreeMap::new(), closed: BTreeMap::new(), remember }
    }

    /// A decision was taken.
    pub fn open(&mut self, id: DecisionId, now: Tick, pending: P) {
        self.open.insert(id, (now, pending));
    }

    /// Would this reward be taken? Changes nothing.
    pub fn check(&self, id: DecisionId, reward: f64) -> Result<Taken<()>, RewardError> {
        if !reward.is_finite() {
            return Err(RewardError::NotFinite(reward));
        }
        if self.open.contains_key(&id) {
            return Ok(Taken::Fresh(()));
        }
        match self.closed.get(&id) {
            Some(&before) if before == reward => Ok(Taken::Repeated),
            Some(&before) => Err(RewardError::Contradiction { id, before, now: reward }),
            None => Err(RewardError::Unknown(id)),
        }
    }

    /// Takes a reward.
    pub fn reward(&mut self, id: DecisionId, reward: f64) -> Result<Taken<P>, RewardError> {
        if let Taken::Repeated = self.check(id, reward)? {
            return Ok(Taken::Repeated);
        }
        let (_, pending) = self.open.remove(&id).expect("checked to be open");
        self.closed.insert(id, reward);
        while self.closed.len() > self.remember {
            self.closed.pop_first();
        }
        Ok(Taken::Fresh(pending))
    }

    /// Gives up one decision.
    pub fn abandon(&mut self, id: DecisionId) -> Option<P> {
        self.open.remove(&id).map(|(_, pending)| pending)
    }

    /// Whether this decision still waits.
    pub fn is_open(&self, id: DecisionId) -> bool {
        self.open.contains_key(&id)
    }

    /// Decisions taken before `tick`, oldest first.
    pub fn older_than(&self, tick: Tick) -> Vec<DecisionId> {
        self.open.iter().filter(|(_, (taken, _))| *taken < tick).map(|(id, _)| *id).collect()
    }

    /// Number of open decisions.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// No decision waits.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: DecisionId = DecisionId { epoch: 2, number: 5 };

    #[test]
    fn a_repeated_reward_is_acknowledged_another_value_refused() {
        let mut open = Outstanding::new(10);
        open.open(ID, 0, "x");
        assert_eq!(open.reward(ID, 1.0), Ok(Taken::Fresh("x")));
        assert_eq!(open.reward(ID, 1.0), Ok(Taken::Repeated));
        assert!(matches!(open.reward(ID, 0.0), Err(RewardError::Contradiction { .. })));
    }

    #[test]
    fn unknown_old_and_abandoned_ids_are_refused() {
        let mut open = Outstanding::new(1);
        assert_eq!(open.reward(ID, 1.0), Err(RewardError::Unknown(ID)));
        open.open(ID, 3, ());
        assert_eq!(open.older_than(3), vec![]);
        assert_eq!(open.older_than(4), vec![ID]);
        open.abandon(ID);
        assert_eq!(open.reward(ID, 1.0), Err(RewardError::Unknown(ID)));
    }

    #[test]
    fn a_reward_that_is_no_number_leaves_the_decision_open() {
        let mut open = Outstanding::new(1);
        open.open(ID, 0, ());
        assert!(matches!(open.reward(ID, f64::NAN), Err(RewardError::NotFinite(_))));
        assert_eq!(open.len(), 1);
    }

    #[test]
    fn ids_are_written_and_read() {
        assert_eq!("2-5".parse(), Ok(ID));
        assert_eq!(ID.to_string(), "2-5");
        assert!("25".parse::<DecisionId>().is_err());
    }
}
