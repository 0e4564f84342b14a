//! The app beside a client: it decides, gives rewards early, late, twice or not at all, tries again when it is not
//! answered, and keeps its own account of what it was promised.

use std::collections::BTreeMap;

use cahoots_core::DecisionId;
use tokio::sync::oneshot;

use super::computer::Micros;

/// What an app does about a decision that it has a name for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Gives a part of the reward, which is all of it.
    Part,
    /// Says that a deferred decision counts.
    Activate,
    /// Gives the reward, or what is left of it.
    Reward,
}

/// A decision under the app's own name, and what is to be done about it, each step once the one before is on disk.
#[derive(Debug)]
pub(super) struct Way {
    /// The name.
    pub(super) event: String,
    pub(super) steps: &'static [Step],
    /// The step that it is at.
    pub(super) next: usize,
    /// When it was taken.
    pub(super) decided: Micros,
    /// The step before was acknowledged: in which life of the store, and when.
    pub(super) before: Option<(usize, Micros)>,
}

impl Way {
    /// Ways to go about a decision.
    pub(super) const ALL: [&'static [Step]; 5] = [
        &[Step::Reward],
        &[Step::Part, Step::Reward],
        &[Step::Activate, Step::Reward],
        &[Step::Reward, Step::Activate],
        &[Step::Part, Step::Activate, Step::Reward],
    ];

    /// Whether it counts only once it is activated.
    pub(super) fn is_deferred(&self) -> bool {
        self.steps.contains(&Step::Activate)
    }

    /// The step that it is at.
    pub(super) fn step(&self) -> Step {
        self.steps[self.next]
    }

    /// A step is on disk; `true` if there is another.
    pub(super) fn goes_on(&mut self, life: usize, now: Micros) -> bool {
        if self.next + 1 == self.steps.len() {
            return false;
        }
        (self.next, self.before) = (self.next + 1, Some((life, now)));
        true
    }
}

/// A reward that the app has to give, and what it knows of it.
#[derive(Debug)]
pub(super) struct Reward {
    /// The decision.
    pub(super) id: DecisionId,
    /// Its user.
    pub(super) user: u32,
    /// Its value: a power of two of its own, so that a sum says which rewards are in it.
    pub(super) value: f64,
    /// How the app goes about it, where it has a name for the decision.
    pub(super) way: Option<Way>,
    /// It was handed over at least once.
    pub(super) sent: bool,
    /// It was acknowledged: in which life of the store, and when.
    pub(super) acknowledged: Option<(usize, Micros)>,
    /// It will not be given any more.
    pub(super) over: bool,
    /// Given once more after it was acknowledged, to see that it is counted once.
    pub(super) again: bool,
    /// Who waits for the answer.
    pub(super) waiting: Option<oneshot::Receiver<Result<(), String>>>,
}

/// The app of one client.
#[derive(Debug, Default)]
pub(super) struct App {
    /// Decisions still to be made.
    pub(super) left: u64,
    /// All rewards, in the order of their decisions.
    pub(super) rewards: Vec<Reward>,
    /// Decisions of each user so far.
    pub(super) made: BTreeMap<u32, u32>,
}

impl App {
    /// The value of a user's next reward.
    pub(super) fn next_value(&mut self, user: u32) -> f64 {
        let made = self.made.entry(user).or_default();
        *made += 1;
        0.5f64.powi(*made as i32)
    }

    /// Nothing more will come from it.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0 && self.rewards.iter().all(|reward| reward.over)
    }
}
