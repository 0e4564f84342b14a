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
            kind(
                "arms",
                "arms without features, with Bernoulli or Gaussian rewards",
                schema_for!(ArmsParams),
            ),
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn environment(value: Value) -> Environment {
        serde_json::from_value(value).unwrap()
    }

    fn complaint(value: Value) -> String {
        let environment = environment(value);
        let checked = environment.check();
        let built = environment.build(10, 1).map(|_| ());
        if checked.is_err() {
            assert_eq!(checked, built);
        }
        built.unwrap_err().to_string()
    }

    #[test]
    fn every_kind_has_a_name_a_schema_and_defaults_that_build() {
        for kind in Environment::kinds() {
            let environment = environment(json!({ "kind": kind.name }));
            assert_eq!(environment.kind(), kind.name);
            let (world, arrivals) = environment.build(10, 1).unwrap();
            assert_eq!(world.setting().horizon, 10);
            assert!(arrivals.per_tick() == 1 || arrivals.per_tick() == world.setting().users);
            let keys = kind.schema.get("properties").and_then(Value::as_object).unwrap();
            for (key, schema) in keys {
                assert!(schema.get("description").is_some(), "{}: {key} has no purpose", kind.name);
            }
            // What is written can be read again.
            let text = serde_json::to_string(&environment).unwrap();
            assert_eq!(serde_json::from_str::<Environment>(&text).unwrap(), environment);
        }
    }

    #[test]
    fn keys_are_read_as_experiment_files_write_them() {
        let environment = environment(json!({
            "kind": "clustered", "clients": 8, "sizes": [5, 3], "assignment": "even",
            "pool": "authors", "pool_size": 40, "separation": 0.5, "arrivals": { "zipf": 1.2 },
        }));
        let Environment::Clustered(params) = &environment else { unreachable!() };
        assert_eq!(params.sizes, Some(vec![5, 3]));
        assert_eq!(params.arrivals, crate::arrivals::ArrivalLaw::Zipf(1.2));
        environment.build(10, 1).unwrap();
        let split = json!({ "kind": "split", "clients": 2, "dim_local": { "per_client": [3, 4] } });
        serde_json::from_value::<Environment>(split).unwrap().build(10, 1).unwrap();
    }

    #[test]
    fn unknown_keys_and_wrong_types_are_refused() {
        let refusal = |value| serde_json::from_value::<Environment>(value).unwrap_err().to_string();
        assert_eq!(
            refusal(json!({ "kind": "arms", "dim": 3 })),
            "unknown field `dim`, expected one of `clients`, `arms`, `rewards`, `reward_noise`, `means`, \
             `min_gap`, `heterogeneous`, `objective`, `arrivals`"
        );
        assert_eq!(
            refusal(json!({ "kind": "arms", "means": 3 })),
            "means must be \"uniform\", a matrix such as [[0.9, 0.5]], or { file = \"means.csv\" }"
        );
        assert_eq!(
            refusal(json!({ "kind": "split", "dim_local": "x" })),
            "dim_local must be a number, { per_client = [...] } or { total = number }"
        );
    }

    #[test]
    fn complaints_name_the_key_and_what_would_be_right() {
        for (value, text) in [
            (json!({ "kind": "linear", "clients": 0 }), "clients: must be at least 1, not 0"),
            (
                json!({ "kind": "linear", "clients": 4294967295u64 }),
                "clients: must be at most 4294967294, not 4294967295",
            ),
            (json!({ "kind": "linear", "dim": 0 }), "dim: must be at least 1, not 0"),
            (json!({ "kind": "linear", "arms": 0 }), "arms: must be at least 1, not 0"),
            (json!({ "kind": "linear", "pool_size": 0 }), "pool_size: must be at least 1, not 0"),
            (json!({ "kind": "linear", "reward_noise": -0.5 }), "reward_noise: must be 0 or more, not -0.5"),
            (
                json!({ "kind": "linear", "arrivals": { "zipf": -1 } }),
                "arrivals: zipf must be 0 or more, not -1",
            ),
            (
                json!({ "kind": "users", "arrivals": { "dirichlet": 0 } }),
                "arrivals: dirichlet must be a number above 0, not 0",
            ),
            (
                json!({ "kind": "linear", "pool": "gaussian", "pool_size": 20 }),
                "arms: a pool of 20 cannot offer 25: lower arms, or raise pool_size",
            ),
            (json!({ "kind": "clustered", "sizes": [26, 2] }), "sizes: must sum to clients (30), not 28"),
            (json!({ "kind": "clustered", "sizes": [30, 0] }), "sizes: each must be at least 1, not 0"),
            (
                json!({ "kind": "clustered", "clusters": 3, "sizes": [15, 15] }),
                "clusters: 3 clusters but 2 sizes: make them agree",
            ),
            (json!({ "kind": "clustered", "sizes": [] }), "clusters: must be at least 1, not 0"),
            (
                json!({ "kind": "clustered", "changes": [5, 5] }),
                "changes: must be ticks from 1 on, each after the one before",
            ),
            (
                json!({ "kind": "clustered", "clusters": 31 }),
                "clusters: must be at most clients (30), not 31",
            ),
            (
                json!({ "kind": "clustered", "separation": 2.5 }),
                "separation: unit vectors are at most 2 apart, so it must lie between 0 and 2, not 2.5",
            ),
            (
                json!({ "kind": "clustered", "dim": 1, "separation": 1.0 }),
                "separation: found only 2 of 4 unit vectors of dimension 1 that are 1 apart: \
                 lower separation or clusters, or raise dim",
            ),
            (json!({ "kind": "split", "dim_global": 0 }), "dim_global: must be at least 1, not 0"),
            (json!({ "kind": "split", "dim_local": 0 }), "dim_local: must be at least 1, not 0"),
            (
                json!({ "kind": "split", "dim_local": { "total": 12 } }),
                "dim_local: must be at least 1, not 0",
            ),
            (
                json!({ "kind": "split", "clients": 3, "dim_local": { "per_client": [1, 2] } }),
                "dim_local: per_client needs 3 numbers, not 2",
            ),
            (
                json!({ "kind": "split", "shared_features": true, "dim_local": 3 }),
                "dim_local: must be dim_global (12) when shared_features = true",
            ),
            (json!({ "kind": "users", "servers": 41 }), "servers: must be at most users (40), not 41"),
            (json!({ "kind": "users", "clusters": 0 }), "clusters: must be at least 1, not 0"),
            (
                json!({ "kind": "users", "dim": 1 }),
                "dim: must be at least 2, not 1: the last feature is a constant",
            ),
            (json!({ "kind": "arms", "min_gap": 1.5 }), "min_gap: must lie between 0 and 1, not 1.5"),
            (
                json!({ "kind": "arms", "objective": { "mixed": -1 } }),
                "objective: must lie between 0 and 1, not -1",
            ),
            (
                json!({ "kind": "arms", "min_gap": 0.1, "means": [[0.5, 0.4]] }),
                "min_gap: is for means = \"uniform\": these are given",
            ),
            (json!({ "kind": "arms", "means": [] }), "means: must have at least one row and one column"),
            (
                json!({ "kind": "arms", "means": [[0.5, 0.4], [0.5]] }),
                "means: row 2 has 1 columns, the first has 2",
            ),
            (
                json!({ "kind": "arms", "arms": 3, "means": [[0.5, 0.4]] }),
                "means: must have 3 columns, as many as arms, not 2",
            ),
            (
                json!({ "kind": "arms", "clients": 3, "means": [[0.5], [0.4]] }),
                "means: must have one row, or 3, as many as clients, not 2",
            ),
            (
                json!({ "kind": "arms", "means": [[0.5, 1.5]] }),
                "means: row 1, column 2 must lie between 0 and 1 with rewards = \"bernoulli\", not 1.5",
            ),
            (
                json!({ "kind": "arms", "rewards": "gaussian", "heterogeneous": true, "means": [[-2.0]] }),
                "means: row 1, column 1 must lie between 0 and 1 with heterogeneous = true, not -2",
            ),
            (
                json!({ "kind": "arms", "heterogeneous": true, "means": [[0.5], [0.4]] }),
                "heterogeneous: is for means in one row: these are each client's own",
            ),
        ] {
            assert_eq!(complaint(value), text);
        }
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        // JSON has no NaN; TOML has.
        for bad in [f64::NAN, f64::INFINITY] {
            let linear = LinearParams { reward_noise: bad, ..Default::default() };
            assert_eq!(linear.check().unwrap_err().key, "reward_noise");
            let clustered = ClusteredParams { separation: bad, ..Default::default() };
            assert_eq!(clustered.check().unwrap_err().key, "separation");
            let arms = ArmsParams { min_gap: bad, ..Default::default() };
            assert_eq!(arms.check().unwrap_err().key, "min_gap");
            let means = crate::world::means::Means::Rows(vec![vec![0.5, bad]]);
            let arms = ArmsParams { means, ..Default::default() };
            let problem = format!("means: row 1, column 2 must be a number, not {bad}");
            assert_eq!(arms.check().unwrap_err().to_string(), problem);
        }
        let missing = json!({ "kind": "arms", "means": { "file": "no-such-file.csv" } });
        assert!(complaint(missing).starts_with("means: cannot read no-such-file.csv: "));
        let error = Environment::Linear(LinearParams::default()).build(0, 1).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "horizon: must be at least 1, not 0");
    }
}
