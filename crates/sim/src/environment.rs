//! Environments as an experiment file names them: a kind, and its keys. What they
//! make is for the list of worlds to say ([`crate::worlds::Worlds`]).

use cahoots_core::ParamError;
use serde::{Deserialize, Serialize};

use crate::world::WorldKind;

/// A world to learn in, by name: plain data that is written as it is read, `kind` beside its keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    kind: String,
    #[serde(flatten)]
    keys: toml::Table,
}

impl Environment {
    /// Any kind, with these keys.
    pub fn new(kind: &str, keys: toml::Table) -> Environment {
        Environment { kind: kind.into(), keys }
    }

    /// The environment that these keys stand for, all of them written out.
    pub fn of<W: WorldKind>(keys: &W) -> Result<Environment, ParamError> {
        let keys = toml::Table::try_from(keys).map_err(|error| ParamError::unreadable(error.to_string()))?;
        Ok(Environment::new(W::NAME, keys))
    }

    /// The kind of this one.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Its keys by type; `None` where it is of another kind.
    pub fn keys<W: WorldKind>(&self) -> Option<Result<W, ParamError>> {
        (self.kind == W::NAME).then(|| self.read())
    }

    /// Its keys, taken for those of this kind.
    pub(crate) fn read<W: WorldKind>(&self) -> Result<W, ParamError> {
        let read = self.keys.clone().try_into();
        read.map_err(|error: toml::de::Error| ParamError::unreadable(error.message().trim()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::world::arms::ArmsParams;
    use crate::world::clustered::ClusteredParams;
    use crate::world::linear::LinearParams;
    use crate::worlds::Worlds;

    fn environment(value: Value) -> Environment {
        serde_json::from_value(value).unwrap()
    }

    fn complaint(value: Value) -> String {
        let environment = environment(value);
        let checked = Worlds::ours().check(&environment);
        let built = Worlds::ours().build(&environment, 10, 1).map(|_| ());
        if checked.is_err() {
            assert_eq!(checked, built);
        }
        built.unwrap_err().to_string()
    }

    #[test]
    fn every_kind_has_a_name_a_schema_and_defaults_that_build() {
        let worlds = Worlds::ours();
        for kind in worlds.iter() {
            let environment = environment(json!({ "kind": kind.name }));
            assert_eq!(environment.kind(), kind.name);
            let (world, arrivals) = worlds.build(&environment, 10, 1).unwrap();
            assert_eq!(world.setting().horizon, 10);
            assert_eq!(arrivals.per_tick(), 1, "one decision per tick, unless an experiment says otherwise");
            let schema = kind.schema();
            let keys = schema.get("properties").and_then(Value::as_object).unwrap();
            for (key, schema) in keys {
                assert!(schema.get("description").is_some(), "{}: {key} has no purpose", kind.name);
            }
            // What is written can be read again, with every default filled in.
            let full = worlds.complete(&environment).unwrap();
            assert!(full != environment);
            let text = serde_json::to_string(&full).unwrap();
            assert_eq!(serde_json::from_str::<Environment>(&text).unwrap(), full);
            let text = toml::to_string(&full).unwrap();
            assert_eq!(toml::from_str::<Environment>(&text).unwrap(), full);
            assert_eq!(worlds.complete(&full).unwrap(), full);
        }
    }

    #[test]
    fn keys_are_read_as_experiment_files_write_them() {
        let environment = environment(json!({
            "kind": "clustered", "clients": 8, "sizes": [5, 3], "assignment": "even",
            "pool": "authors", "pool_size": 40, "separation": 0.5, "arrivals": { "zipf": 1.2 },
        }));
        assert_eq!(environment.keys::<ArmsParams>(), None);
        let params = environment.keys::<ClusteredParams>().unwrap().unwrap();
        assert_eq!(params.sizes, Some(vec![5, 3]));
        assert_eq!(params.arrivals, crate::arrivals::ArrivalLaw::Zipf(1.2));
        Worlds::ours().build(&environment, 10, 1).unwrap();
        let split = json!({ "kind": "split", "clients": 2, "dim_local": { "per_client": [3, 4] } });
        Worlds::ours().build(&serde_json::from_value(split).unwrap(), 10, 1).unwrap();
    }

    #[test]
    fn unknown_keys_and_wrong_types_are_refused() {
        assert_eq!(
            complaint(json!({ "kind": "arms", "dim": 3 })),
            "unknown field `dim`, expected one of `clients`, `arms`, `rewards`, `reward_noise`, `means`, \
             `min_gap`, `heterogeneous`, `spread`, `objective`, `arrivals`"
        );
        assert_eq!(
            complaint(json!({ "kind": "arms", "means": 3 })),
            "means must be \"uniform\", a matrix such as [[0.9, 0.5]], or { file = \"means.csv\" }"
        );
        assert_eq!(
            complaint(json!({ "kind": "split", "dim_local": "x" })),
            "dim_local must be a number, { per_client = [...] } or { total = number }"
        );
    }

    #[test]
    fn a_kind_that_is_not_on_the_list_is_refused_with_the_list() {
        assert_eq!(
            complaint(json!({ "kind": "armz" })),
            "kind: there is no world \"armz\"; there are: linear, clustered, split, users, arms"
        );
        assert!(serde_json::from_value::<Environment>(json!({ "clients": 3 })).is_err());
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
            (
                json!({ "kind": "arms", "spread": 0.1, "means": [[0.5], [0.4]] }),
                "spread: is for means in one row: these are each client's own",
            ),
            (
                json!({ "kind": "arms", "spread": 0.1, "heterogeneous": true }),
                "spread: heterogeneous = true is a spread of its own: leave one out",
            ),
            (json!({ "kind": "arms", "spread": -1 }), "spread: must be 0 or more, not -1"),
            (
                json!({ "kind": "arms", "objective": "population" }),
                "objective: population is what clients are drawn from: give a spread",
            ),
            (
                json!({ "kind": "linear", "arrivals": { "admission": { "every": 0, "clients": 5 } } }),
                "arrivals: admission.every must be at least 1, not 0",
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
        let linear = Environment::of(&LinearParams::default()).unwrap();
        let error = Worlds::ours().build(&linear, 0, 1).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "horizon: must be at least 1, not 0");
    }
}
