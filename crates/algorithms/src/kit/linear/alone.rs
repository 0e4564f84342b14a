//! A linear learner that never communicates.

use cahoots_core::policy::{Distribution, LinearPolicy};
use cahoots_core::{ArmSet, Buffered, Choice, Cx, Learner, Silence, Stream, UserId, hears_nothing};
use serde::{Deserialize, Serialize};

use super::{Chosen, LinearValid, choose_by, odds_by};

/// One ridge model, updated after every reward.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AloneClient {
    known: Buffered,
    policy: LinearPolicy,
}

impl AloneClient {
    /// Knows nothing yet.
    pub fn new(valid: &LinearValid) -> Self {
        AloneClient { known: Buffered::new(valid.ridge, valid.nothing.clone()), policy: valid.policy }
    }

    /// What it knows.
    pub fn known(&self) -> &Buffered {
        &self.known
    }
}

hears_nothing!(AloneClient);

impl Learner for AloneClient {
    type Pending = Chosen;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Chosen> {
        let picked = choose_by(&self.known, &self.policy, arms, rng);
        picked.keeping(Chosen { context: arms.context(picked.arm) })
    }

    fn odds(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        odds_by(&self.known, &self.policy, arms, rng)
    }

    fn observe(&mut self, pending: Chosen, reward: f64, _cx: &mut Cx<'_, Silence>) {
        self.known.observe(&pending.context, reward);
    }
}
