//! One run: an algorithm and its parameters in a scenario, for a seed.
//!
//! Parameters are taken as anything that serialises to a table: TOML, JSON, a
//! typed value. Inside they are TOML, which unlike JSON can say infinity.

use cahoots_core::{Algorithm, ParamError, ReadFile, Seats, Setting};
use cahoots_privacy::Statement;
use serde::{Deserialize, Serialize};

use crate::arrivals::Arrivals;
use crate::driver::{Options, Simulation};
use crate::environment::Environment;
use crate::ledger::Ledger;
use crate::network::Network;
use crate::rewards::Rewards;
use crate::world::World;
use crate::worlds::Worlds;

/// Everything about a run but the algorithm and the seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scenario {
    /// Ticks.
    pub horizon: u64,
    /// The world.
    pub environment: Environment,
    /// Faults between machines.
    #[serde(default)]
    pub network: Network,
    /// Late and lost rewards.
    #[serde(default)]
    pub rewards: Rewards,
}

/// What a run gave.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// All that was counted.
    pub ledger: Ledger,
    /// Communication in the unit of the algorithm's paper.
    pub cost: f64,
    /// What is promised about a user's data, as accounted for.
    pub privacy: Option<Statement>,
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// No algorithm of this name.
    #[error("there is no algorithm {0:?}")]
    UnknownAlgorithm(String),
    /// The environment's parameters.
    #[error("environment: {0}")]
    Environment(ParamError),
    /// The algorithm's parameters.
    #[error("algorithm: {0}")]
    Algorithm(ParamError),
    /// Stopped by its caller.
    #[error("stopped")]
    Stopped,
}

/// Parameters as a table.
pub type Params = toml::Table;

impl Scenario {
    /// Refuses what cannot be; gives a world of this scenario.
    pub fn check(&self, worlds: &Worlds) -> Result<Box<dyn World>, RunError> {
        self.build(worlds, 0).map(|(world, _)| world)
    }

    /// The world of this seed, and who acts in it when.
    pub fn build(&self, worlds: &Worlds, seed: u64) -> Result<(Box<dyn World>, Arrivals), RunError> {
        if self.horizon == 0 {
            return Err(RunError::Environment(ParamError::new("horizon", "must be at least 1")));
        }
        self.network.check().map_err(RunError::Environment)?;
        self.rewards.check().map_err(RunError::Environment)?;
        worlds.build(&self.environment, self.horizon, seed).map_err(RunError::Environment)
    }

    /// The scenario with every default of its world filled in.
    pub fn complete(self, worlds: &Worlds) -> Result<Scenario, RunError> {
        let environment = worlds.complete(&self.environment).map_err(RunError::Environment)?;
        Ok(Scenario { environment, ..self })
    }
}

/// A federation by type, ready to run in one of these worlds.
pub fn prepare<A: Algorithm>(
    worlds: &Worlds,
    params: &impl Serialize,
    scenario: &Scenario,
    seed: u64,
    options: Options,
) -> Result<Simulation<A>, RunError> {
    let (world, arrivals) = scenario.build(worlds, seed)?;
    let valid = checked::<A>(table(params)?, world.setting())?;
    simulation::<A>(valid, scenario, world, arrivals, seed, options)
}

/// The same with a world that is built and parameters that are checked.
pub(crate) fn simulation<A: Algorithm>(
    valid: A::Valid,
    scenario: &Scenario,
    world: Box<dyn World>,
    arrivals: Arrivals,
    seed: u64,
    options: Options,
) -> Result<Simulation<A>, RunError> {
    let clients = Seats::of::<A>(&valid, world.setting()).clients();
    scenario.network.check_clients(clients, world.setting().users).map_err(RunError::Environment)?;
    let (network, rewards) = (scenario.network.clone(), scenario.rewards.clone());
    Ok(Simulation::new(valid, world, arrivals, network, rewards, seed, options))
}

/// Parameters as a table, whatever they were written in.
pub(crate) fn table(params: &impl Serialize) -> Result<Params, RunError> {
    Params::try_from(params).map_err(|e| RunError::Algorithm(ParamError::unreadable(e.to_string())))
}

/// Parameters by type, with what is in the files that they name.
pub(crate) fn typed<A: Algorithm>(params: Params, read: ReadFile<'_>) -> Result<A::Params, RunError> {
    let unreadable = |e: toml::de::Error| ParamError::unreadable(e.message().trim());
    let params = params.try_into().map_err(|e| RunError::Algorithm(unreadable(e)))?;
    A::read_files(params, read).map_err(RunError::Algorithm)
}

/// A file of the current folder, for those who have no account to keep.
pub(crate) fn read_file(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

/// Parameters that fit a setting.
pub(crate) fn checked<A: Algorithm>(params: Params, setting: &Setting) -> Result<A::Valid, RunError> {
    A::check(typed::<A>(params, &read_file)?, setting).map_err(RunError::Algorithm)
}
