//! Environments as an experiment file names them: a kind, its keys, and the
//! world and arrivals they build.

use cahoots_core::ParamError;
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use crate::arrivals::Arrivals;
use crate::world::World;
use crate::world::arms::ArmsParams;
use crate::world::check;
use crate::world::clustered::ClusteredParams;
use crate::world::linear::LinearParams;
use crate::world::split::SplitParams;
use crate::world::users::UsersParams;

/// A world to learn in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Environment {
    /// One linear model for all clients.
    Linear(LinearParams),
    /// One linear model per cluster of clients.
    Clustered(ClusteredParams),
    /// A shared linear model, and one more for each client.
    Split(SplitParams),
    /// Users in clusters on local servers, items they like or not.
    Users(UsersParams),
    /// Arms without features.
    Arms(ArmsParams),
}

/// What there is to say about one kind of environment.
#[derive(Clone, Debug)]
pub struct EnvironmentKind {
    /// As it is written in an experiment file.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Its keys: purpose, default, range.
    pub schema: Schema,
}

impl Environment {
    /// All kinds.
    pub fn kinds() -> Vec<EnvironmentKind> {
        let kind = |name, summary, schema| EnvironmentKind { name, summary, schema };
        vec![
            kind("linear", "one linear model for all clients", schema_for!(LinearParams)),
            kind("clustered", "one linear model per cluster of clients", schema_for!(ClusteredParams)),
            kind("split", "a shared linear model, and one more for each client", schema_for!(SplitParams)),
            kind("users", "users in clusters on local servers, rewards 0 or 1", schema_for!(UsersParams)),
            kind("arms", "arms without features, with Bernoulli or Gaussian rewards", schema_for!(ArmsParams)),
        ]
    }

    /// The kind of this one.
    pub fn kind(&self) -> &'static str {
        match self {
            Environment::Linear(_) => "linear",
            Environment::Clustered(_) => "clustered",
            Environment::Split(_) => "split",
            Environment::Users(_) => "users",
            Environment::Arms(_) => "arms",
        }
    }

    /// Refuses what cannot be built, without drawing anything.
    pub fn check(&self) -> Result<(), ParamError> {
        match self {
            Environment::Linear(params) => params.check(),
            Environment::Clustered(params) => params.check(),
            Environment::Split(params) => params.check(),
            Environment::Users(params) => params.check(),
            Environment::Arms(params) => params.check(),
        }
    }

    /// The world of this seed, and who acts in it when.
    pub fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        self.check()?;
        check::horizon(horizon)?;
        match self {
            Environment::Linear(params) => params.build(horizon, seed),
            Environment::Clustered(params) => params.build(horizon, seed),
            Environment::Split(params) => params.build(horizon, seed),
            Environment::Users(params) => params.build(horizon, seed),
            Environment::Arms(params) => params.build(horizon, seed),
        }
    }
}
