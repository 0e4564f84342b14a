//! Everything that a program was started with: algorithms, as its driver needs them, and worlds. Whatever is
//! named in a file is looked up here and nowhere else.

use cahoots_core::{Algorithm, Erase, ReadFile, Registry, Setting, Tick};
use serde::Serialize;

use crate::driver::Options;
use crate::run::{Params, Report, RunError, Scenario, read_file, table};
use crate::simulated::{Graph, Outline, Request, Simulated};
use crate::world::WorldKind;
use crate::worlds::Worlds;

/// Algorithms and worlds by name.
///
/// ```
/// use cahoots_algorithms::registry::ours;
/// use cahoots_sim::catalogue::Catalogue;
/// use cahoots_sim::driver::Options;
/// use cahoots_sim::run::Scenario;
/// use serde_json::json;
///
/// let catalogue = Catalogue::new(ours());
/// let environment = json!({ "kind": "arms", "clients": 2, "arms": 3, "arrivals": "all" });
/// let scenario: Scenario =
///     serde_json::from_value(json!({ "horizon": 100, "environment": environment })).unwrap();
/// let params = json!({ "scale": 1.0 });
/// let run = |seed| catalogue.simulate("ucb-alone", &params, &scenario, seed, Options::default(), &mut |_| true);
/// let report = run(1).unwrap();
/// assert_eq!(report.ledger.steps, 200);
/// assert_eq!(report.ledger.regret.to_bits(), run(1).unwrap().ledger.regret.to_bits());
/// ```
#[derive(Clone, Debug)]
pub struct Catalogue<E = Simulated> {
    /// The algorithms.
    pub algorithms: Registry<E>,
    /// The worlds.
    pub worlds: Worlds,
}

impl<E> Catalogue<E> {
    /// These algorithms, and our worlds.
    pub fn new(algorithms: Registry<E>) -> Self {
        Catalogue { algorithms, worlds: Worlds::ours() }
    }

    /// One more world.
    ///
    /// # Panics
    /// If its name is taken.
    #[track_caller]
    pub fn world<W: WorldKind>(mut self) -> Self {
        self.worlds.add::<W>();
        self
    }

    /// The algorithm of this name.
    pub fn find(&self, name: &str) -> Result<&E, RunError> {
        self.algorithms.get(name).ok_or_else(|| RunError::UnknownAlgorithm(name.into()))
    }
}

impl<E: Erase> Catalogue<E> {
    /// One more algorithm.
    ///
    /// # Panics
    /// If its name is taken.
    #[track_caller]
    pub fn algorithm<A: Algorithm>(mut self) -> Self {
        self.algorithms.add::<A>();
        self
    }
}

impl Catalogue {
    /// Checks an algorithm's parameters against a scenario, without running it.
    pub fn check(&self, name: &str, params: &impl Serialize, scenario: &Scenario) -> Result<(), RunError> {
        self.check_in(name, params, scenario.check(&self.worlds)?.setting())
    }

    /// Checks an algorithm's parameters against a setting.
    pub fn check_in(&self, name: &str, params: &impl Serialize, setting: &Setting) -> Result<(), RunError> {
        self.find(name)?.check(table(params)?, setting)
    }

    /// Who can talk to whom under an algorithm with these parameters; none where all talk to the server.
    pub fn topology(
        &self,
        name: &str,
        params: &impl Serialize,
        setting: &Setting,
    ) -> Result<Option<Graph>, RunError> {
        self.find(name)?.topology(table(params)?, setting)
    }

    /// Checks an algorithm's parameters against a setting, and says what is known of it with them.
    pub fn outline(
        &self,
        name: &str,
        params: &impl Serialize,
        setting: &Setting,
    ) -> Result<Outline, RunError> {
        self.find(name)?.outline(table(params)?, setting)
    }

    /// Parameters with every default filled in, and with what is in the files that they name.
    pub fn complete(&self, name: &str, params: &impl Serialize) -> Result<Params, RunError> {
        self.complete_with(name, params, &read_file)
    }

    /// The same; `read` is the caller's.
    pub fn complete_with(
        &self,
        name: &str,
        params: &impl Serialize,
        read: ReadFile<'_>,
    ) -> Result<Params, RunError> {
        self.find(name)?.complete(table(params)?, read)
    }

    /// Runs an algorithm by name. `progress` sees the tick now and then; its `false` stops the run.
    pub fn simulate(
        &self,
        name: &str,
        params: &impl Serialize,
        scenario: &Scenario,
        seed: u64,
        options: Options,
        progress: &mut dyn FnMut(Tick) -> bool,
    ) -> Result<Report, RunError> {
        let params = table(params)?;
        self.find(name)?.simulate(Request { params, scenario, worlds: &self.worlds, seed, options, progress })
    }
}

#[cfg(test)]
mod tests {
    use cahoots_algorithms::async_linucb::AsyncLinucb;

    use super::*;

    fn complete(name: &str, params: &impl Serialize) -> Result<Params, RunError> {
        Catalogue::new(Registry::default()).algorithm::<AsyncLinucb>().complete(name, params)
    }

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
