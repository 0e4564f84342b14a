//! What a user writes for the private family.

use cahoots_core::Unit;
use cahoots_privacy::calibration::Stated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::GroupParams;
use crate::kit::linear::{LinearParams, Robust, some_noise};

/// Whom a user's exact observations are shown to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// To their own client, which releases sums.
    #[default]
    Silo,
    /// To their own client; all others who keep to the protocol, the coordinator included, see nothing but sums over a
    /// group of clients.
    Group,
    /// To nobody: every observation gets noise of its own before anything is done with it.
    Nobody,
}

/// What decisions are made with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decide {
    /// What others have released, and the client's own exact data. What is chosen later then depends on that data; the
    /// promise is for an observation in whose place another leaves the later ones as they are.
    #[default]
    Own,
    /// What has been released, and nothing else: the promise holds whatever is chosen later.
    Released,
}

/// Keys that all of the family take.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = some_noise)]
pub struct PrivateParams {
    /// Common keys of linear algorithms.
    #[serde(flatten)]
    pub linear: LinearParams,
    /// What is promised.
    #[serde(flatten)]
    pub stated: Stated,
    /// What is protected: one observation, or one user with all of them, of which `per_user` are used.
    #[serde(default)]
    pub unit: Unit,
    /// Observations of one user that are used at most, with `unit = "user"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub per_user: Option<u64>,
    /// Whom a user's exact observations are shown to.
    #[serde(default)]
    pub trust: Trust,
    /// Groups, with `trust = "group"`.
    #[serde(flatten)]
    pub group: GroupParams,
    /// The largest group; more clients are split into several, each with noise of its own (100 when absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 5, max = 255))]
    pub group_most: Option<u32>,
    /// What decisions are made with.
    #[serde(default)]
    pub decide: Decide,
    /// How often a client releases what it has, at most: at ticks that double. More often costs more noise.
    #[serde(default = "twelve")]
    #[schemars(range(min = 1, max = 64))]
    pub releases: u32,
    /// The tick of the first release; the last one is half-way to the horizon when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub first_release: Option<u64>,
    /// The smallest and the largest reward; what lies outside is clipped. The setting's when absent, or [-1, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward_range: Option<(f64, f64)>,
    /// Learn rewards less the middle of their range, which needs less noise: for contexts that have a feature that is
    /// always the same.
    #[serde(default)]
    pub centred: bool,
    /// Bound on the norm of what is to be learned.
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub preference_norm: f64,
    /// Refused, with the reason: who lies is told from what each client contributes, which noise hides here, and sums over
    /// groups do not have. `async-linucb`, `sync-linucb` and `fed-linucb` take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robust: Option<Robust>,
}

/// Keys of `private-linucb`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PrivateLinucbParams {
    /// Common keys.
    #[serde(flatten)]
    pub private: PrivateParams,
}

/// Keys of `private-fclub`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PrivateFclubParams {
    /// Common keys.
    #[serde(flatten)]
    pub private: PrivateParams,
    /// Two are told apart when their squared distance is this many times what uncertainty explains.
    #[serde(default = "three_halves")]
    #[schemars(range(min = 0.0))]
    pub separation: f64,
    /// Two are put together only where their expected squared errors add up to at most this part of the squared
    /// `preference_norm`: who is not known well enough stays alone, with data of its own.
    #[serde(default = "half")]
    #[schemars(range(min = 0.0))]
    pub certainty: f64,
}

fn half() -> f64 {
    0.5
}

fn one() -> f64 {
    1.0
}

fn three_halves() -> f64 {
    1.5
}

fn twelve() -> u32 {
    12
}
