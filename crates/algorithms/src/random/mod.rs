#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

use cahoots_core::policy::Distribution;
use cahoots_core::{
    ArmSet, Choice, Cx, Learner, ParamError, Picked, Setting, Silence, Stream, UserId, hears_nothing,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::{Alone, Solitary};

/// Any arm, always.
pub type Random = Alone<AnyArm>;

/// What is its own.
pub struct AnyArm;

/// What a user writes: nothing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {}

/// Learns nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client;

hears_nothing!(Client);

impl Learner for Client {
    type Pending = ();

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<()> {
        Picked::any(arms.draw(rng), arms.open()).keeping(())
    }

    fn odds(&mut self, _user: UserId, arms: ArmSet<'_>, _rng: &mut Stream) -> Option<Distribution> {
        Some(Distribution::uniform(arms))
    }

    fn observe(&mut self, (): (), _reward: f64, _cx: &mut Cx<'_, Silence>) {}
}

impl Solitary for AnyArm {
    const NAME: &'static str = "random";
    const SUMMARY: &'static str = "any arm, each as likely: what everything else must beat";
    type Params = Params;
    type Valid = ();
    type Client = Client;

    fn check(_params: Params, _setting: &Setting) -> Result<(), ParamError> {
        Ok(())
    }

    fn client((): &()) -> Client {
        Client
    }
}
