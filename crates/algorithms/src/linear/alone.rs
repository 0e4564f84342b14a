//! A linear learner that never communicates.

use cahoots_core::policy::{LinearModel, LinearPolicy};
use cahoots_core::{
    ArmIndex, ArmSet, Buffered, Cx, Learner, Machine, Misbehaviour, NodeId, Silence, Stream, UserId,
};
use serde::{Deserialize, Serialize};

use super::{Chosen, LinearValid};

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
}

impl Machine for AloneClient {
    type Msg = Silence;

    fn on_message(
        &mut self,
        _: NodeId,
        message: Silence,
        _: &mut Cx<'_, Silence>,
    ) -> Result<(), Misbehaviour> {
        match message {}
    }
}

impl Learner for AloneClient {
    type Pending = Chosen;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> (ArmIndex, Chosen) {
        let known = &self.known;
        let model =
            LinearModel { factor: known.model(), count: known.model_count(), stats: || known.total() };
        let arm = self.policy.choose(model, arms.features(), rng);
        (arm, Chosen { context: arms.context(arm) })
    }

    fn observe(&mut self, pending: Chosen, reward: f64, _cx: &mut Cx<'_, Silence>) {
        self.known.observe(&pending.context, reward);
    }
}
