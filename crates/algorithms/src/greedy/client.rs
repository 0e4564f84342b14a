//! A learner for arms of either kind: the linear kit's where they have features, the K-armed one's where they have none.

use cahoots_core::policy::{ByMeans, Distribution};
use cahoots_core::{ArmIndex, ArmSet, Choice, Cx, Learner, Silence, Stream, UserId, hears_nothing};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use crate::kit::arms::AloneArms;
use crate::kit::linear::{AloneClient, Chosen};

/// Estimates, and how an arm is drawn by them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "a federation's clients are all of one kind")]
pub enum Client {
    /// A ridge model.
    Linear(AloneClient),
    /// Mean rewards.
    Arms(AloneArms<ByMeans>),
}

/// What a decision keeps until its reward comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "a federation's decisions are all of one kind")]
pub enum Kept {
    /// Features of the arm.
    Linear(Chosen),
    /// The arm.
    Arms(ArmIndex),
}

impl Client {
    pub(super) fn new(valid: &Valid) -> Client {
        match valid {
            Valid::Linear(valid) => Client::Linear(AloneClient::new(valid)),
            Valid::Arms(arms, policy) => Client::Arms(AloneArms::new(*arms, *policy)),
        }
    }
}

hears_nothing!(Client);

impl Learner for Client {
    type Pending = Kept;

    fn choose(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Kept> {
        match self {
            Client::Linear(client) => {
                let Choice { picked, pending } = client.choose(user, arms, rng);
                picked.keeping(Kept::Linear(pending))
            }
            Client::Arms(client) => {
                let Choice { picked, pending } = client.choose(user, arms, rng);
                picked.keeping(Kept::Arms(pending))
            }
        }
    }

    fn odds(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        match self {
            Client::Linear(client) => client.odds(user, arms, rng),
            Client::Arms(client) => client.odds(user, arms, rng),
        }
    }

    fn observe(&mut self, kept: Kept, reward: f64, cx: &mut Cx<'_, Silence>) {
        match (self, kept) {
            (Client::Linear(client), Kept::Linear(chosen)) => client.observe(chosen, reward, cx),
            (Client::Arms(client), Kept::Arms(arm)) => client.observe(arm, reward, cx),
            // A snapshot of one kind with a decision of the other: nothing to be learned.
            _ => {}
        }
    }
}
