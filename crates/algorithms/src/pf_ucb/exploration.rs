//! What is still to be explored in a phase, in the order of the paper or of its authors' code.

use std::collections::VecDeque;

use cahoots_core::ArmIndex;
use cahoots_core::plan::Schedule;
use serde::{Deserialize, Serialize};

/// Schedules, one after the other, and the pulls whose rewards have not come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Exploration {
    schedules: VecDeque<Schedule>,
    outstanding: u64,
}

impl Exploration {
    /// Global exploration, then local exploration, each of them round-robin or arm by arm.
    pub(super) fn new(
        global: impl IntoIterator<Item = (ArmIndex, u64)>,
        local: impl IntoIterator<Item = (ArmIndex, u64)>,
        arm_by_arm: bool,
    ) -> Self {
        let mut schedules = VecDeque::new();
        if arm_by_arm {
            schedules.extend(global.into_iter().chain(local).map(|pulls| Schedule::new([pulls])));
        } else {
            schedules.extend([Schedule::new(global), Schedule::new(local)]);
        }
        schedules.retain(|schedule| !schedule.is_empty());
        Exploration { schedules, outstanding: 0 }
    }

    /// The next pull.
    pub(super) fn next(&self) -> Option<ArmIndex> {
        self.schedules.front().and_then(Schedule::next)
    }

    /// Pulls that are fixed; none once all have been made.
    pub(super) fn plan(&self) -> Option<&[(ArmIndex, u64)]> {
        self.schedules.front().map(Schedule::plan)
    }

    /// The next pull was made; its reward has not come.
    pub(super) fn begin(&mut self) {
        self.take(1);
        self.outstanding += 1;
    }

    /// Its reward came.
    pub(super) fn end(&mut self) {
        self.outstanding -= 1;
    }

    /// Its reward will not come: the pull returns to its schedule.
    pub(super) fn give_back(&mut self, arm: ArmIndex) {
        self.outstanding -= 1;
        match self.schedules.front_mut() {
            Some(schedule) => schedule.give_back(arm),
            None => self.schedules.push_back(Schedule::new([(arm, 1)])),
        }
    }

    /// The next pulls were made, rewards and all.
    pub(super) fn take(&mut self, pulls: u64) {
        if let Some(schedule) = self.schedules.front_mut() {
            schedule.take(pulls);
            if schedule.is_empty() {
                self.schedules.pop_front();
            }
        }
    }

    /// All pulls have been made and all rewards have come.
    pub(super) fn is_done(&self) -> bool {
        self.schedules.is_empty() && self.outstanding == 0
    }
}
