//! One run by name: an algorithm and its parameters in a scenario, for a seed.

use cahoots_algorithms::registry::{self, Visitor};
use cahoots_core::{Algorithm, ParamError, Tick};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::driver::{Options, Simulation};
use crate::environment::Environment;
use crate::ledger::Ledger;
use crate::network::Network;
use crate::rewards::Rewards;

/// Everything about a run but the algorithm and the seed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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

/// Checks an algorithm's parameters against a scenario, without running it.
pub fn check(name: &str, params: &serde_json::Value, scenario: &Scenario) -> Result<(), RunError> {
    struct Check<'a>(&'a serde_json::Value, &'a Scenario);
    impl Visitor for Check<'_> {
        type Out = Result<(), RunError>;
        fn visit<A: Algorithm>(self) -> Self::Out {
            scenario_checks(self.1)?;
            let (world, _) = self.1.environment.build(self.1.horizon, 0).map_err(RunError::Environment)?;
            checked::<A>(self.0, world.setting()).map(|_| ())
        }
    }
    registry::visit(name, Check(params, scenario)).ok_or_else(|| RunError::UnknownAlgorithm(name.into()))?
}

fn scenario_checks(scenario: &Scenario) -> Result<(), RunError> {
    if scenario.horizon == 0 {
        return Err(RunError::Environment(ParamError::new("horizon", "must be at least 1")));
    }
    scenario.network.check().map_err(RunError::Environment)?;
    scenario.rewards.check().map_err(RunError::Environment)
}

fn checked<A: Algorithm>(params: &serde_json::Value, setting: &cahoots_core::Setting) -> Result<A::Valid, RunError> {
    let params: A::Params = serde_json::from_value(params.clone())
        .map_err(|e| RunError::Algorithm(ParamError::new(A::NAME, e.to_string())))?;
    A::check(params, setting).map_err(RunError::Algorithm)
}

/// A federation by type, ready to run.
pub fn prepare<A: Algorithm>(
    params: &serde_json::Value,
    scenario: &Scenario,
    seed: u64,
    options: Options,
) -> Result<Simulation<A>, RunError> {
    scenario_checks(scenario)?;
    let (world, arrivals) = scenario.environment.build(scenario.horizon, seed).map_err(RunError::Environment)?;
    let valid = checked::<A>(params, world.setting())?;
    let (network, rewards) = (scenario.network.clone(), scenario.rewards.clone());
    Ok(Simulation::new(valid, world, arrivals, network, rewards, seed, options))
}

/// Runs an algorithm by name. `progress` sees the tick now and then; its `false` stops the run.
pub fn simulate(
    name: &str,
    params: &serde_json::Value,
    scenario: &Scenario,
    seed: u64,
    options: Options,
    progress: &mut dyn FnMut(Tick) -> bool,
) -> Result<Report, RunError> {
    struct Run<'a> {
        params: &'a serde_json::Value,
        scenario: &'a Scenario,
        seed: u64,
        options: Options,
        progress: &'a mut dyn FnMut(Tick) -> bool,
    }
    impl Visitor for Run<'_> {
        type Out = Result<Report, RunError>;
        fn visit<A: Algorithm>(self) -> Self::Out {
            let mut simulation = prepare::<A>(self.params, self.scenario, self.seed, self.options)?;
            let ledger = simulation.run(self.progress).ok_or(RunError::Stopped)?.clone();
            Ok(Report { ledger, cost: simulation.cost() })
        }
    }
    let run = Run { params, scenario, seed, options, progress };
    registry::visit(name, run).ok_or_else(|| RunError::UnknownAlgorithm(name.into()))?
}
