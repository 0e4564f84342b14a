//! What a server was told of each arm, for whoever watches it.

use std::collections::BTreeMap;

use cahoots_core::{ArmIndex, ArmMean, Learnt, Sure};

/// The newest mean of each arm. Nothing that a machine does follows from it, and so it is no part of its state: after a
/// restart, means are known again as rounds close.
#[derive(Clone, Debug, Default)]
pub struct Told(BTreeMap<ArmIndex, ArmMean>);

impl Told {
    /// What is known of an arm from now on.
    pub fn tell(&mut self, arm: ArmIndex, mean: ArmMean) {
        self.0.insert(arm, mean);
    }

    /// All arms, of which some are in the running, with what was told of them.
    pub fn learnt(&self, all: Vec<ArmIndex>, active: &[ArmIndex], sure: Sure) -> Learnt {
        let mut learnt = Learnt::running(all.into_iter(), active);
        learnt.arms.iter_mut().for_each(|known| known.mean = self.0.get(&known.arm).copied());
        let has_radius = |mean: &ArmMean| mean.radius.is_some();
        Learnt { sure: self.0.values().any(has_radius).then_some(sure), ..learnt }
    }
}
