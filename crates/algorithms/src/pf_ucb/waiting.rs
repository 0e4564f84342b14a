//! The arm to play while waiting, where it follows the newest means: the authors' code. Only the arm
//! that is played changes, so the others need not be looked at for every reward.

use cahoots_core::ArmIndex;
use cahoots_core::policy::pick;
use serde::{Deserialize, Serialize};

/// Values of all arms, and who leads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Waiting {
    values: Vec<f64>,
    best: ArmIndex,
    /// The largest value but the leader's.
    runner_up: f64,
}

impl Waiting {
    pub(super) fn new(values: Vec<f64>) -> Self {
        let mut waiting = Waiting { values, best: ArmIndex(0), runner_up: 0.0 };
        waiting.rank();
        waiting
    }

    fn rank(&mut self) {
        self.best = pick(self.values.iter().copied());
        let others = self.values.iter().enumerate().filter(|(arm, _)| *arm != self.best.index());
        self.runner_up = super::rules::max(others.map(|(_, value)| *value));
    }

    /// The arm in the lead.
    pub(super) fn best(&self) -> ArmIndex {
        self.best
    }

    /// An arm has a new value.
    pub(super) fn update(&mut self, arm: ArmIndex, value: f64) {
        self.values[arm.index()] = value;
        if arm != self.best || value < self.runner_up {
            self.rank();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_leader_is_the_best_after_any_updates(
            values in prop::collection::vec(0.0..1.0f64, 1..6),
            updates in prop::collection::vec((0usize..6, 0.0..1.0f64), 0..30),
        ) {
            let mut waiting = Waiting::new(values.clone());
            let mut plain = values;
            for (arm, value) in updates {
                let arm = arm % plain.len();
                plain[arm] = value;
                waiting.update(ArmIndex(arm as u32), value);
                prop_assert_eq!(waiting.best(), pick(plain.iter().copied()));
            }
        }
    }
}
