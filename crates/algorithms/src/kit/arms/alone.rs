//! A learner over plain arms that never communicates.

use cahoots_core::policy::ArmPolicy;
use cahoots_core::{
    ArmIndex, ArmSet, ArmStats, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, ParamError, Setting,
    Silence, Stream, UserId,
};
use serde::{Deserialize, Serialize};

/// Counts and sums, and a policy over them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct AloneArms<P: ArmPolicy> {
    stats: ArmStats,
    policy: P,
}

impl<P: ArmPolicy> AloneArms<P> {
    /// Knows nothing yet of so many arms.
    pub fn new(arms: usize, policy: P) -> Self {
        AloneArms { stats: ArmStats::empty(arms), policy }
    }
}

impl<P: ArmPolicy> Machine for AloneArms<P> {
    type Msg = Silence;

    fn on_message(
        &mut self,
        _from: NodeId,
        message: Silence,
        _cx: &mut Cx<'_, Silence>,
    ) -> Result<(), Misbehaviour> {
        match message {}
    }
}

impl<P: ArmPolicy> Learner for AloneArms<P> {
    type Pending = ArmIndex;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<ArmIndex> {
        let picked = self.policy.choose(&self.stats, arms, rng);
        picked.keeping(picked.arm)
    }

    fn observe(&mut self, arm: ArmIndex, reward: f64, cx: &mut Cx<'_, Silence>) {
        let learned = cx.draw(|rng| self.policy.learned(reward, rng));
        self.stats.observe(arm, learned);
    }
}

/// The number of arms, where they are plain; otherwise what to use instead.
pub fn plain_arms(setting: &Setting) -> Result<usize, ParamError> {
    if setting.dim == 0 {
        return Ok(setting.arms);
    }
    Err(ParamError::new("kind", "needs plain arms (environment kind = \"arms\"); try linucb-alone"))
}
