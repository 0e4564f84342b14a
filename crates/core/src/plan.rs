//! Planned pulls, taken round-robin: how a block of them splits over the arms.

use serde::{Deserialize, Serialize};

use crate::ids::ArmIndex;

/// Pulls that are still to be made, the next one first: one from each arm in
/// turn until none is left.
///
/// ```
/// use cahoots_core::{ArmIndex, plan::Schedule};
///
/// let mut pulls = Schedule::new([(ArmIndex(0), 2), (ArmIndex(1), 1)]);
/// assert_eq!(pulls.next(), Some(ArmIndex(0)));
/// pulls.take(2);
/// assert_eq!(pulls.plan(), [(ArmIndex(0), 1)]);
/// pulls.give_back(ArmIndex(1));
/// assert_eq!(pulls.plan(), [(ArmIndex(0), 1), (ArmIndex(1), 1)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    left: Vec<(ArmIndex, u64)>,
}

impl Schedule {
    /// So many pulls of each arm (`u64::MAX`: until told otherwise).
    pub fn new(pulls: impl IntoIterator<Item = (ArmIndex, u64)>) -> Self {
        Schedule { left: pulls.into_iter().filter(|(_, n)| *n > 0).collect() }
    }

    /// What is left, in the form of [`crate::Learner::plan`].
    pub fn plan(&self) -> &[(ArmIndex, u64)] {
        &self.left
    }

    /// The next pull.
    pub fn next(&self) -> Option<ArmIndex> {
        self.left.first().map(|(arm, _)| *arm)
    }

    /// Nothing is left.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// The next `pulls` pulls have been made.
    pub fn take(&mut self, mut pulls: u64) {
        while pulls > 0 && !self.left.is_empty() {
            let arms = self.left.len() as u64;
            let smallest = self.left.iter().map(|(_, n)| *n).min().unwrap_or(0);
            let rounds = smallest.min(pulls / arms);
            let (touched, each) = if rounds > 0 { (arms, rounds) } else { (pulls, 1) };
            for (_, n) in &mut self.left[..touched as usize] {
                if *n != u64::MAX {
                    *n -= each;
                }
            }
            self.left.rotate_left((touched % arms) as usize);
            self.left.retain(|(_, n)| *n > 0);
            pulls -= touched * each;
        }
    }

    /// A pull that was never rewarded comes back, at the end.
    pub fn give_back(&mut self, arm: ArmIndex) {
        match self.left.iter_mut().find(|(a, _)| *a == arm) {
            Some((_, n)) => *n = n.saturating_add(1),
            None => self.left.push((arm, 1)),
        }
    }
}

/// The next `pulls` pulls of a plan: one from each arm that has some left, in
/// the order of the list, again and again. `u64::MAX` stands for "until told".
pub fn split(plan: &[(ArmIndex, u64)], pulls: u64) -> Vec<(ArmIndex, u64)> {
    let mut taken: Vec<(ArmIndex, u64)> = plan.iter().map(|(arm, _)| (*arm, 0)).collect();
    let mut left = pulls;
    while left > 0 {
        let open: Vec<usize> = (0..plan.len()).filter(|&i| plan[i].1 > taken[i].1).collect();
        let Some(rounds) = open.iter().map(|&i| plan[i].1 - taken[i].1).min() else { break };
        let rounds = rounds.min(left / open.len() as u64);
        for &i in &open {
            taken[i].1 += rounds;
        }
        left -= rounds * open.len() as u64;
        if rounds == 0 {
            // Less than a whole pass is left.
            for &i in open.iter().take(left as usize) {
                taken[i].1 += 1;
            }
            left = 0;
        }
    }
    taken.retain(|(_, n)| *n > 0);
    taken
}

/// Pulls in a plan.
pub fn total(plan: &[(ArmIndex, u64)]) -> u64 {
    plan.iter().fold(0, |sum, (_, n)| sum.saturating_add(*n))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One pull at a time.
    fn slowly(plan: &[(ArmIndex, u64)], pulls: u64) -> Vec<(ArmIndex, u64)> {
        let mut taken = vec![0; plan.len()];
        let mut left = pulls;
        while left > 0 && (0..plan.len()).any(|i| taken[i] < plan[i].1) {
            for i in 0..plan.len() {
                if left > 0 && taken[i] < plan[i].1 {
                    taken[i] += 1;
                    left -= 1;
                }
            }
        }
        plan.iter().zip(taken).map(|((arm, _), n)| (*arm, n)).filter(|(_, n)| *n > 0).collect()
    }

    proptest! {
        #[test]
        fn a_block_is_the_same_pulls_as_single_steps(counts in prop::collection::vec(0u64..20, 0..6), pulls in 0u64..90) {
            let plan: Vec<_> = counts.iter().enumerate().map(|(i, n)| (ArmIndex(i as u32), *n)).collect();
            prop_assert_eq!(split(&plan, pulls), slowly(&plan, pulls));
        }
    }

    proptest! {
        #[test]
        fn taking_a_block_is_taking_its_pulls_one_by_one(counts in prop::collection::vec(0u64..9, 1..6), pulls in 0u64..50) {
            let mut block = Schedule::new(counts.iter().enumerate().map(|(i, n)| (ArmIndex(i as u32), *n)));
            let mut single = block.clone();
            let planned = split(block.plan(), pulls);
            let mut pulled = std::collections::BTreeMap::new();
            for _ in 0..pulls {
                if let Some(arm) = single.next() {
                    *pulled.entry(arm).or_insert(0) += 1;
                    single.take(1);
                }
            }
            block.take(pulls);
            prop_assert_eq!(&block, &single);
            prop_assert_eq!(planned.into_iter().collect::<std::collections::BTreeMap<_, _>>(), pulled);
        }
    }

    #[test]
    fn an_abandoned_pull_returns_to_its_schedule() {
        let mut schedule = Schedule::new([(ArmIndex(0), 1), (ArmIndex(1), 1)]);
        schedule.take(1);
        schedule.give_back(ArmIndex(0));
        assert_eq!(schedule.plan(), [(ArmIndex(1), 1), (ArmIndex(0), 1)]);
    }

    #[test]
    fn pulls_without_end_are_shared_evenly() {
        let plan = [(ArmIndex(0), u64::MAX), (ArmIndex(1), 2)];
        assert_eq!(split(&plan, 9), [(ArmIndex(0), 7), (ArmIndex(1), 2)]);
        assert_eq!(total(&plan), u64::MAX);
    }
}
