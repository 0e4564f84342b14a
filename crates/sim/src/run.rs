//! One run by name: an algorithm and its parameters in a scenario, for a seed.
//!
//! Parameters are taken as anything that serialises to a table: TOML, JSON, a
//! typed value. Inside they are TOML, which unlike JSON can say infinity.

use cahoots_algorithms::registry::{self, Visitor};
use cahoots_core::{Algorithm, NodeId, ParamError, Setting, Tick, Topology};
use cahoots_privacy::Statement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arrivals::Arrivals;
use crate::driver::{Options, Simulation};
use crate::environment::Environment;
use crate::ledger::Ledger;
use crate::network::Network;
use crate::rewards::Rewards;
use crate::world::World;

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

/// Checks an algorithm's parameters against a scenario, without running it.
pub fn check(name: &str, params: &impl Serialize, scenario: &Scenario) -> Result<(), RunError> {
    check_in(name, params, scenario.check()?.setting())
}

/// Checks an algorithm's parameters against a setting.
pub fn check_in(name: &str, params: &impl Serialize, setting: &Setting) -> Result<(), RunError> {
    struct Check<'a>(Params, &'a Setting);
    impl Visitor for Check<'_> {
        type Out = Result<(), RunError>;
        fn visit<A: Algorithm>(self) -> Self::Out {
            checked::<A>(self.0, self.1).map(|_| ())
        }
    }
    visit(name, Check(table(name, params)?, setting))
}

/// Who can talk to whom under an algorithm with these parameters, and who of them collects for others.
pub fn topology(
    name: &str,
    params: &impl Serialize,
    setting: &Setting,
) -> Result<Option<(Topology, Vec<NodeId>)>, RunError> {
    struct Graph<'a>(Params, &'a Setting);
    impl Visitor for Graph<'_> {
        type Out = Result<Option<(Topology, Vec<NodeId>)>, RunError>;
        fn visit<A: Algorithm>(self) -> Self::Out {
            Ok(A::topology(&checked::<A>(self.0, self.1)?))
        }
    }
    visit(name, Graph(table(name, params)?, setting))
}

/// Parameters with every default filled in.
pub fn complete(name: &str, params: &impl Serialize) -> Result<Params, RunError> {
    struct Complete(Params);
    impl Visitor for Complete {
        type Out = Result<Params, RunError>;
        fn visit<A: Algorithm>(self) -> Self::Out {
            table(A::NAME, &typed::<A>(self.0)?)
        }
    }
    visit(name, Complete(table(name, params)?))
}

impl Scenario {
    /// Refuses what cannot be; gives a world of this scenario.
    pub fn check(&self) -> Result<Box<dyn World>, RunError> {
        self.build(0).map(|(world, _)| world)
    }

    /// The world of this seed, and who acts in it when.
    pub fn build(&self, seed: u64) -> Result<(Box<dyn World>, Arrivals), RunError> {
        if self.horizon == 0 {
            return Err(RunError::Environment(ParamError::new("horizon", "must be at least 1")));
        }
        self.network.check().map_err(RunError::Environment)?;
        self.rewards.check().map_err(RunError::Environment)?;
        self.environment.build(self.horizon, seed).map_err(RunError::Environment)
    }
}

/// A federation by type, ready to run.
pub fn prepare<A: Algorithm>(
    params: &impl Serialize,
    scenario: &Scenario,
    seed: u64,
    options: Options,
) -> Result<Simulation<A>, RunError> {
    let (world, arrivals) = scenario.build(seed)?;
    let valid = checked::<A>(table(A::NAME, params)?, world.setting())?;
    let (network, rewards) = (scenario.network.clone(), scenario.rewards.clone());
    Ok(Simulation::new(valid, world, arrivals, network, rewards, seed, options))
}

/// Runs an algorithm by name. `progress` sees the tick now and then; its `false` stops the run.
pub fn simulate(
    name: &str,
    params: &impl Serialize,
    scenario: &Scenario,
    seed: u64,
    options: Options,
    progress: &mut dyn FnMut(Tick) -> bool,
) -> Result<Report, RunError> {
    struct Run<'a> {
        params: Params,
        scenario: &'a Scenario,
        seed: u64,
        options: Options,
        progress: &'a mut dyn FnMut(Tick) -> bool,
    }
    impl Visitor for Run<'_> {
        type Out = Result<Report, RunError>;
        fn visit<A: Algorithm>(self) -> Self::Out {
            let mut simulation = prepare::<A>(&self.params, self.scenario, self.seed, self.options)?;
            let ledger = simulation.run(self.progress).ok_or(RunError::Stopped)?.clone();
            Ok(Report { ledger, cost: simulation.cost(), privacy: simulation.privacy() })
        }
    }
    visit(name, Run { params: table(name, params)?, scenario, seed, options, progress })
}

fn visit<T>(name: &str, visitor: impl Visitor<Out = Result<T, RunError>>) -> Result<T, RunError> {
    registry::visit(name, visitor).ok_or_else(|| RunError::UnknownAlgorithm(name.into()))?
}

fn table(name: &str, params: &impl Serialize) -> Result<Params, RunError> {
    Params::try_from(params).map_err(|e| RunError::Algorithm(ParamError::new(name, e.to_string())))
}

fn typed<A: Algorithm>(params: Params) -> Result<A::Params, RunError> {
    let params = params.try_into().map_err(|e: toml::de::Error| {
        RunError::Algorithm(ParamError::new(A::NAME, e.message().to_string()))
    })?;
    A::read_files(params, &read_file).map_err(RunError::Algorithm)
}

fn read_file(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

fn checked<A: Algorithm>(params: Params, setting: &Setting) -> Result<A::Valid, RunError> {
    A::check(typed::<A>(params)?, setting).map_err(RunError::Algorithm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinity_survives() {
        let params: Params = toml::from_str("upload_ratio = inf").unwrap();
        let full = complete("async-linucb", &params).unwrap();
        assert_eq!(full["upload_ratio"].as_float(), Some(f64::INFINITY));
        assert_eq!(full["ridge"].as_float(), Some(0.1));
        assert_eq!(complete("async-linucb", &full).unwrap(), full);
    }

    #[test]
    fn json_is_taken_too() {
        let full =
            complete("async-linucb", &serde_json::json!({ "ratio": 3, "radius": { "fixed": 0.5 } })).unwrap();
        assert_eq!(full["ratio"].as_float(), Some(3.0));
        assert!(complete("async-linucb", &serde_json::json!({ "ridge": "x" })).is_err());
        assert!(matches!(complete("nobody", &serde_json::json!({})), Err(RunError::UnknownAlgorithm(_))));
    }
}
