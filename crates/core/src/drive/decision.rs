//! Decisions that wait for their rewards: late, lost and repeated ones.
//!
//! An id is (epoch, number). The epoch is the driver's, a random number of every
//! start, so that a number issued again, after a crash or by an old copy of a
//! store, can never claim another's reward.

use std::collections::{BTreeMap, BTreeSet};

use cahoots_kernel::LARGEST;
use serde::{Deserialize, Serialize};

use crate::ids::Tick;

/// Names one decision of one client, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DecisionId {
    /// Which start of the client's process issued it.
    pub epoch: u64,
    /// Counts the client's decisions.
    pub number: u64,
}

/// In the order of deciding: epochs have none.
impl Ord for DecisionId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.number, self.epoch).cmp(&(other.number, other.epoch))
    }
}

impl PartialOrd for DecisionId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
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
    /// Given up, though its reward came.
    #[error("decision {0} has its reward and cannot be given up")]
    Rewarded(DecisionId),
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
    /// NaN, infinite, or too large to learn from.
    #[error(
        "a reward must be a number between -{LARGEST:e} and {LARGEST:e}, and best between -1 and 1, not {0}"
    )]
    Unusable(f64),
    /// Beyond what the terms allow.
    #[error(
        "a reward must be between {low} and {high} under this federation's terms (`reward_range`), not {value}: scale it as \
         the others do, or what is learned from it will not be merged"
    )]
    Outside {
        /// What came.
        value: f64,
        /// The smallest reward.
        low: f64,
        /// The largest reward.
        high: f64,
    },
}

/// What to do with a reward.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken<P> {
    /// The first time: learn from it.
    Fresh(P),
    /// The same again: acknowledge, do nothing.
    Repeated,
}

/// Open decisions, and what became of the others: a lost acknowledgement can be retried at any time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outstanding<P> {
    open: BTreeMap<DecisionId, (Tick, P)>,
    /// The rewards of the last closed ones. Older ones are known to have had one, not which.
    closed: BTreeMap<DecisionId, f64>,
    remember: usize,
    /// Numbers of those that were given up. All others that are not open have had their reward.
    given_up: BTreeSet<u64>,
    /// Every epoch and its first number: what was issued here, and lasted.
    epochs: Vec<(u64, u64)>,
    /// The last number that was issued.
    last: u64,
    /// Nothing is known of numbers up to this one.
    forgotten: u64,
}

/// How many of those that were given up are remembered.
const GIVEN_UP: usize = 1 << 16;
/// How many epochs are.
const EPOCHS: usize = 1 << 10;

impl<P: Clone> Outstanding<P> {
    /// Remembers the rewards of the last `remember` closed decisions.
    pub fn new(remember: usize) -> Self {
        Outstanding {
            open: BTreeMap::new(),
            closed: BTreeMap::new(),
            remember,
            given_up: BTreeSet::new(),
            epochs: Vec::new(),
            last: 0,
            forgotten: 0,
        }
    }

    /// A decision was taken.
    pub fn open(&mut self, id: DecisionId, now: Tick, pending: P) {
        if self.epochs.last().is_none_or(|(epoch, _)| *epoch != id.epoch) {
            self.epochs.push((id.epoch, id.number));
            if self.epochs.len() > EPOCHS {
                self.epochs.remove(0);
            }
        }
        self.last = id.number;
        self.open.insert(id, (now, pending));
    }

    /// Was this decision made here, and not lost or forgotten since?
    fn issued(&self, id: DecisionId) -> bool {
        let begun = self.epochs.partition_point(|(_, first)| *first <= id.number);
        let epoch = begun.checked_sub(1).map(|last| self.epochs[last].0);
        epoch == Some(id.epoch) && (self.forgotten + 1..=self.last).contains(&id.number)
    }

    /// Would this reward be taken? Changes nothing.
    pub fn check(&self, id: DecisionId, reward: f64) -> Result<Taken<()>, RewardError> {
        if !usable(reward) {
            return Err(RewardError::Unusable(reward));
        }
        if self.open.contains_key(&id) {
            return Ok(Taken::Fresh(()));
        }
        match self.closed.get(&id) {
            Some(&before) if before == reward => Ok(Taken::Repeated),
            Some(&before) => Err(RewardError::Contradiction { id, before, now: reward }),
            None if self.issued(id) && !self.given_up.contains(&id.number) => Ok(Taken::Repeated),
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

    /// Would this decision be given up? Changes nothing.
    pub fn check_abandon(&self, id: DecisionId) -> Result<Taken<()>, RewardError> {
        if self.open.contains_key(&id) {
            Ok(Taken::Fresh(()))
        } else if !self.issued(id) {
            Err(RewardError::Unknown(id))
        } else if self.given_up.contains(&id.number) {
            Ok(Taken::Repeated)
        } else {
            Err(RewardError::Rewarded(id))
        }
    }

    /// Gives up one decision.
    pub fn abandon(&mut self, id: DecisionId) -> Result<Taken<P>, RewardError> {
        if let Taken::Repeated = self.check_abandon(id)? {
            return Ok(Taken::Repeated);
        }
        let (_, pending) = self.open.remove(&id).expect("checked to be open");
        self.given_up.insert(id.number);
        while self.given_up.len() > GIVEN_UP {
            // What came before it may have been given up too.
            self.forgotten = self.given_up.pop_first().expect("one too many");
        }
        Ok(Taken::Fresh(pending))
    }

    /// Decisions taken before `tick`, oldest first.
    pub fn older_than(&self, tick: Tick) -> Vec<DecisionId> {
        // Ticks never go back, so the oldest come first.
        self.open.iter().take_while(|(_, (taken, _))| *taken < tick).map(|(id, _)| *id).collect()
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

/// A reward that can be learned from.
pub(super) fn usable(reward: f64) -> bool {
    reward.abs() <= LARGEST
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: DecisionId = DecisionId { epoch: 2, number: 5 };

    fn id(epoch: u64, number: u64) -> DecisionId {
        DecisionId { epoch, number }
    }

    #[test]
    fn a_repeated_reward_is_acknowledged_another_value_refused() {
        let mut open = Outstanding::new(10);
        open.open(ID, 0, "x");
        assert_eq!(open.reward(ID, 1.0), Ok(Taken::Fresh("x")));
        assert_eq!(open.reward(ID, 1.0), Ok(Taken::Repeated));
        assert!(matches!(open.reward(ID, 0.0), Err(RewardError::Contradiction { .. })));
    }

    #[test]
    fn a_retry_is_recognised_however_late_it_comes() {
        let mut open = Outstanding::new(2);
        for number in 1..100 {
            open.open(id(77, number), 0, ());
            if number % 10 == 0 {
                open.abandon(id(77, number)).unwrap();
            } else {
                open.reward(id(77, number), 1.0).unwrap();
            }
        }
        for number in 1..100 {
            let again = open.reward(id(77, number), 1.0);
            let given_up = number % 10 == 0;
            assert_eq!(again.is_ok(), !given_up, "{number}");
            assert_eq!(open.abandon(id(77, number)).is_ok(), given_up, "{number}");
        }
        // Never made here, or made by another start and lost with it.
        for stranger in [id(77, 100), id(78, 50), id(77, 0)] {
            assert_eq!(open.reward(stranger, 1.0), Err(RewardError::Unknown(stranger)));
            assert_eq!(open.abandon(stranger), Err(RewardError::Unknown(stranger)));
        }
    }

    #[test]
    fn a_number_that_was_issued_again_belongs_to_the_later_start() {
        let mut open = Outstanding::new(0);
        open.open(id(9, 1), 0, ());
        open.reward(id(9, 1), 1.0).unwrap();
        // A crash: numbers 2 and 3 of the first start were lost, and are issued again.
        for number in 2..4 {
            open.open(id(4, number), 0, ());
            open.reward(id(4, number), 1.0).unwrap();
        }
        assert_eq!(open.reward(id(9, 1), 1.0), Ok(Taken::Repeated));
        assert_eq!(open.reward(id(4, 3), 1.0), Ok(Taken::Repeated));
        assert_eq!(open.reward(id(9, 3), 1.0), Err(RewardError::Unknown(id(9, 3))));
    }

    #[test]
    fn memory_is_bounded_and_what_is_forgotten_is_not_guessed() {
        let mut open = Outstanding::new(1);
        for number in 1..=(2 * GIVEN_UP as u64) {
            open.open(id(1, number), 0, ());
            open.abandon(id(1, number)).unwrap();
        }
        assert_eq!((open.given_up.len(), open.forgotten), (GIVEN_UP, GIVEN_UP as u64));
        assert_eq!(open.reward(id(1, 7), 1.0), Err(RewardError::Unknown(id(1, 7))));
    }

    #[test]
    fn unknown_old_and_abandoned_ids_are_refused() {
        let mut open = Outstanding::new(1);
        assert_eq!(open.reward(ID, 1.0), Err(RewardError::Unknown(ID)));
        open.open(ID, 3, ());
        assert_eq!(open.older_than(3), vec![]);
        assert_eq!(open.older_than(4), vec![ID]);
        open.abandon(ID).unwrap();
        assert_eq!(open.reward(ID, 1.0), Err(RewardError::Unknown(ID)));
    }

    #[test]
    fn a_reward_that_is_no_number_leaves_the_decision_open() {
        let mut open = Outstanding::new(1);
        open.open(ID, 0, ());
        for reward in [f64::NAN, f64::INFINITY, 1.7e308, -1e31] {
            assert!(matches!(open.reward(ID, reward), Err(RewardError::Unusable(_))));
        }
        assert_eq!(open.len(), 1);
    }

    #[test]
    fn ids_are_written_and_read() {
        assert_eq!("2-5".parse(), Ok(ID));
        assert_eq!(ID.to_string(), "2-5");
        assert!("25".parse::<DecisionId>().is_err());
    }
}
