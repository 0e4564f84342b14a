#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

use cahoots_core::policy::Ucb1;
use cahoots_core::{
    Algorithm, ArmIndex, ArmSet, ArmStats, Choice, Cx, Learner, ParamError, Seat, Setting, Silence, Silent,
    Stream, UserId, hears_nothing,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// UCB1 per client.
pub struct UcbAlone;

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Exploration: mean + scale * sqrt(ln t / n). sqrt(2) is UCB1 for rewards in [0, 1].
    #[serde(default = "sqrt_two")]
    #[schemars(range(min = 0.0))]
    pub scale: f64,
}

fn sqrt_two() -> f64 {
    std::f64::consts::SQRT_2
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    policy: Ucb1,
    arms: usize,
}

/// Counts and sums, and the policy over them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    stats: ArmStats,
    policy: Ucb1,
}

hears_nothing!(Client);

impl Learner for Client {
    type Pending = ArmIndex;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, _rng: &mut Stream) -> Choice<ArmIndex> {
        let picked = self.policy.choose(&self.stats, arms);
        picked.keeping(picked.arm)
    }

    fn observe(&mut self, arm: ArmIndex, reward: f64, _cx: &mut Cx<'_, Silence>) {
        self.stats.observe(arm, reward);
    }
}

impl Algorithm for UcbAlone {
    const NAME: &'static str = "ucb-alone";
    const SUMMARY: &'static str = "one UCB1 per client over plain arms, no communication";
    const MEMBERSHIP: &'static str = crate::kit::ALONE;
    type Params = Params;
    type Valid = Valid;
    type Msg = Silence;
    type Client = Client;
    type Server = Silent<Silence>;

    fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
        if setting.dim != 0 {
            return Err(ParamError::new(
                "kind",
                "needs plain arms (environment kind = \"arms\"); try linucb-alone",
            ));
        }
        let scale = ParamError::not_negative("scale", params.scale)?;
        Ok(Valid { policy: Ucb1 { scale }, arms: setting.arms })
    }

    fn takes_masks(_valid: &Valid) -> bool {
        true
    }

    fn client(valid: &Valid, _seat: &Seat) -> Client {
        Client { stats: ArmStats::empty(valid.arms), policy: valid.policy }
    }

    fn server(_valid: &Valid, _seat: &Seat) -> Silent<Silence> {
        Silent::default()
    }
}
