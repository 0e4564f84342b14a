//! Comparisons in the order of their decisions, though rewards come in any other.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::evidence::{BETS, Seen, Stretch};

/// A comparison that waits for its reward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub seen: Seen,
    /// What the centre would be by either way of expecting: that by running means, and that by a model if there is one.
    pub expected: (f64, Option<f64>),
    /// What is settled between this decision and the next one that waits.
    behind: Option<Box<Stretch>>,
}

/// Who waits, and what is settled behind each: as many stretches as there are open decisions, however many were settled
/// while the first of them waits.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Order {
    waiting: BTreeMap<u64, Waiting>,
    changed: BTreeSet<u64>,
}

impl Order {
    /// As it was kept.
    pub(super) fn restore(waiting: BTreeMap<u64, Waiting>) -> Order {
        Order { waiting, changed: BTreeSet::new() }
    }

    /// A decision was taken, and its reward will tell something. Numbers grow.
    pub(super) fn open(&mut self, number: u64, seen: Seen, expected: (f64, Option<f64>)) {
        self.waiting.insert(number, Waiting { seen, expected, behind: None });
        self.changed.insert(number);
    }

    /// What is known of a decision that waits.
    pub(super) fn get(&self, number: u64) -> Option<&Waiting> {
        self.waiting.get(&number)
    }

    /// A reward, scaled to 0..1, came, or will not come; gives what is settled now with nobody waiting before it.
    pub(super) fn settle(&mut self, number: u64, reward: Option<f64>, bets: &[f64; BETS]) -> Option<Stretch> {
        let settled = self.waiting.remove(&number)?;
        self.changed.insert(number);
        let told = reward.map(|reward| Stretch::of(&settled.seen, reward, bets));
        let stretch = match (told, settled.behind) {
            (Some(mut told), Some(behind)) => {
                told.append(&behind);
                told
            }
            (Some(told), None) => told,
            (None, Some(behind)) => *behind,
            (None, None) => return None,
        };
        let Some((&before, earlier)) = self.waiting.range_mut(..number).next_back() else {
            return Some(stretch);
        };
        match &mut earlier.behind {
            Some(behind) => behind.append(&stretch),
            none => *none = Some(Box::new(stretch)),
        }
        self.changed.insert(before);
        None
    }

    /// Forgets everyone.
    pub(super) fn clear(&mut self) {
        self.changed.extend(std::mem::take(&mut self.waiting).into_keys());
    }

    /// Who waits.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.waiting.keys().copied().collect()
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Numbers whose record is another, or gone, since this was last asked.
    pub(super) fn take_changed(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.changed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence::bets;
    use super::*;

    fn seen(number: u64) -> Seen {
        Seen { own: number.is_multiple_of(3), share: 0.1, centre: 0.3, since: number }
    }

    fn reward(number: u64) -> f64 {
        f64::from((number % 7) as u32) / 6.0
    }

    /// A million settled behind one that waits are one stretch.
    #[test]
    fn memory_follows_those_who_wait() {
        let bets = bets(0.1);
        let mut order = Order::default();
        order.open(1, seen(1), (0.3, None));
        for number in 2..1_000 {
            order.open(number, seen(number), (0.3, None));
            assert_eq!(order.settle(number, Some(reward(number)), &bets), None);
            assert_eq!(order.len(), 1);
        }
        let all = order.settle(1, Some(reward(1)), &bets).expect("nobody waits any more");
        assert_eq!((all.differed, order.len()), (999, 0));
    }

    /// Whatever order they come in, what comes out is what would have come out in order, but for rounding.
    #[test]
    fn the_order_of_arrival_changes_nothing() {
        let bets = bets(0.1);
        let total = 60;
        let folded = |arrivals: &[u64]| {
            let mut order = Order::default();
            (1..=total).for_each(|number| order.open(number, seen(number), (0.3, None)));
            let mut all = Stretch::empty();
            for &number in arrivals {
                let reward = (number % 5 != 0).then(|| reward(number));
                if let Some(stretch) = order.settle(number, reward, &bets) {
                    all.append(&stretch);
                }
            }
            assert_eq!(order.len(), 0);
            all
        };
        let straight: Vec<u64> = (1..=total).collect();
        let whole = folded(&straight);
        let backwards: Vec<u64> = (1..=total).rev().collect();
        let shuffled: Vec<u64> = (0..total).map(|i| i * 23 % total + 1).collect();
        for arrivals in [backwards, shuffled] {
            let other = folded(&arrivals);
            assert_eq!(other.differed, whole.differed);
            for i in 0..BETS {
                assert!((other.rises[i] - whole.rises[i]).abs() < 1e-12);
                assert!((other.turns[i] - whole.turns[i]).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn whoever_is_unknown_says_nothing() {
        let mut order = Order::default();
        assert_eq!(order.settle(5, Some(1.0), &bets(0.1)), None);
        assert!(order.take_changed().is_empty());
    }
}
