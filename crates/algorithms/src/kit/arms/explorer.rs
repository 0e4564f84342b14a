//! What learners that explore by a schedule do alike: pull what is planned, wait for its rewards, and play one
//! arm while there is nothing to explore. What is planned and which arm that is, their papers say.

use std::collections::VecDeque;

use cahoots_core::plan::Schedule;
use cahoots_core::{ArmIndex, Choice, Picked};
use serde::{Deserialize, Serialize};

/// What a decision keeps until its reward comes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pull {
    /// The arm.
    pub arm: ArmIndex,
    /// Whether the schedule asked for it.
    pub exploring: bool,
}

/// Schedules, one after the other, the pulls whose rewards have not come, and the arm to play otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explorer {
    schedules: VecDeque<Schedule>,
    outstanding: u64,
    /// Empty where no arm is fixed to be played.
    exploitation: Schedule,
}

impl Explorer {
    /// All of these pulls are to be made; those in a schedule round-robin.
    pub fn new(schedules: impl IntoIterator<Item = Schedule>) -> Self {
        let schedules = schedules.into_iter().filter(|schedule| !schedule.is_empty()).collect();
        Explorer { schedules, ..Explorer::default() }
    }

    /// Other schedules from now on. Rewards that have not come are still to come.
    pub fn go_on_with(&mut self, next: Explorer) {
        let outstanding = self.outstanding + next.outstanding;
        *self = Explorer { outstanding, ..next };
    }

    /// The next planned pull; else the arm that is fixed, or what `otherwise` says.
    pub fn choose(&self, otherwise: impl FnOnce() -> ArmIndex) -> Choice<Pull> {
        let planned = self.schedules.front().and_then(Schedule::next);
        let arm = planned.or_else(|| self.exploitation.next()).unwrap_or_else(otherwise);
        Picked::certain(arm).keeping(Pull { arm, exploring: planned.is_some() })
    }

    /// A pull was made; its reward has not come.
    pub fn commit(&mut self, pull: &Pull) {
        if pull.exploring {
            self.take(1);
            self.outstanding += 1;
        }
    }

    /// The reward of a planned pull came.
    pub fn rewarded(&mut self) {
        self.outstanding -= 1;
    }

    /// A reward will not come: a planned pull returns to its schedule. Says whether it was one.
    pub fn abandon(&mut self, pull: &Pull) -> bool {
        if pull.exploring {
            self.outstanding -= 1;
            match self.schedules.front_mut() {
                Some(schedule) => schedule.give_back(pull.arm),
                None => self.schedules.push_back(Schedule::new([(pull.arm, 1)])),
            }
        }
        pull.exploring
    }

    /// The next pulls were made, rewards and all.
    pub fn take(&mut self, pulls: u64) {
        if let Some(schedule) = self.schedules.front_mut() {
            schedule.take(pulls);
            if schedule.is_empty() {
                self.schedules.pop_front();
            }
        }
    }

    /// Planned pulls of other arms are not to be made any more. Rewards that have not come are still to come.
    pub fn retain(&mut self, wanted: impl Fn(ArmIndex) -> bool) {
        for schedule in &mut self.schedules {
            *schedule = Schedule::new(schedule.plan().iter().copied().filter(|(arm, _)| wanted(*arm)));
        }
        self.schedules.retain(|schedule| !schedule.is_empty());
    }

    /// There are pulls to be made.
    pub fn is_exploring(&self) -> bool {
        !self.schedules.is_empty()
    }

    /// All pulls have been made and all rewards have come.
    pub fn is_done(&self) -> bool {
        self.schedules.is_empty() && self.outstanding == 0
    }

    /// Fixes the arm that is played when there is nothing to explore, until told otherwise; or that none is.
    pub fn exploit(&mut self, arm: Option<ArmIndex>) {
        self.exploitation = Schedule::new(arm.map(|arm| (arm, u64::MAX)));
    }

    /// An arm is fixed to be played when there is nothing to explore.
    pub fn exploits(&self) -> bool {
        !self.exploitation.is_empty()
    }

    /// The pulls that are fixed, in the form of [`cahoots_core::Learner::plan`].
    pub fn plan(&self) -> Option<&[(ArmIndex, u64)]> {
        self.schedules.front().or((self.exploits()).then_some(&self.exploitation)).map(Schedule::plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ArmIndex = ArmIndex(0);
    const B: ArmIndex = ArmIndex(1);
    const C: ArmIndex = ArmIndex(2);

    fn pull(explorer: &mut Explorer) -> Pull {
        let pull = explorer.choose(|| C).pending;
        explorer.commit(&pull);
        pull
    }

    #[test]
    fn schedules_come_one_after_the_other_and_then_the_fixed_arm_or_any_other() {
        let mut explorer =
            Explorer::new([Schedule::new([(A, 1), (B, 2)]), Schedule::new([]), Schedule::new([(A, 1)])]);
        let arms: Vec<ArmIndex> = (0..5).map(|_| pull(&mut explorer).arm).collect();
        assert_eq!(arms, [A, B, B, A, C]);
        explorer.exploit(Some(B));
        assert_eq!(
            (pull(&mut explorer), explorer.plan()),
            (Pull { arm: B, exploring: false }, Some(&[(B, u64::MAX)][..]))
        );
        explorer.exploit(None);
        assert_eq!(explorer.plan(), None);
    }

    #[test]
    fn it_is_done_when_every_planned_pull_was_rewarded_and_one_that_never_was_is_made_again() {
        let mut explorer = Explorer::new([Schedule::new([(A, 2)])]);
        let (first, second) = (pull(&mut explorer), pull(&mut explorer));
        assert!(!explorer.is_exploring() && !explorer.is_done());
        explorer.rewarded();
        assert!(explorer.abandon(&second));
        assert!(explorer.is_exploring(), "the pull is back");
        assert_eq!(pull(&mut explorer), first);
        explorer.rewarded();
        assert!(explorer.is_done());
        assert!(!explorer.abandon(&Pull { arm: C, exploring: false }) && explorer.is_done());
    }

    #[test]
    fn rewards_of_earlier_schedules_are_waited_for_in_later_ones() {
        let mut explorer = Explorer::new([Schedule::new([(A, 2)])]);
        let first = pull(&mut explorer);
        explorer.go_on_with(Explorer::new([Schedule::new([(B, 1)])]));
        assert_eq!(pull(&mut explorer).arm, B);
        explorer.rewarded();
        assert!(!explorer.is_done(), "one of them is missing");
        assert!(explorer.abandon(&first) && explorer.is_exploring(), "it is made again");
    }

    #[test]
    fn what_is_not_wanted_any_more_is_not_pulled_and_its_rewards_are_waited_for() {
        let mut explorer = Explorer::new([Schedule::new([(A, 2), (B, 1)]), Schedule::new([(B, 3)])]);
        assert_eq!(pull(&mut explorer).arm, A);
        explorer.retain(|arm| arm == B);
        let left: Vec<ArmIndex> = (0..4).map(|_| pull(&mut explorer).arm).collect();
        assert_eq!(left, [B; 4]);
        (0..4).for_each(|_| explorer.rewarded());
        assert!(!explorer.is_exploring() && !explorer.is_done(), "the first reward is missing");
        explorer.rewarded();
        assert!(explorer.is_done());
    }

    #[test]
    fn a_block_is_taken_with_its_rewards() {
        let mut explorer = Explorer::new([Schedule::new([(A, 3), (B, 3)])]);
        explorer.take(5);
        assert_eq!(explorer.plan(), Some(&[(B, 1)][..]));
        explorer.take(1);
        assert!(explorer.is_done());
    }
}
