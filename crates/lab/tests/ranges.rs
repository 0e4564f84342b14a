//! The ranges that are shown are the ranges that are checked: what the help says is taken, and nothing else.

use std::collections::BTreeSet;

use cahoots_lab::catalogue;
use cahoots_lab::experiment::{Field, Record, Shape};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::environment::Environment;
use cahoots_sim::network::Network;
use cahoots_sim::rewards::Rewards;
use cahoots_sim::run::Scenario;
use serde_json::json;
use toml::{Table, Value};

/// How refusals begin or end that are about a key together with others: what is shown is what the key itself allows.
const TOGETHER: [&str; 18] = [
    "is for privacy = ",
    "set `rounds` too",
    "is needed with `rounds`",
    "set `deadline` too",
    "must be at most clients",
    "must be at most users",
    "noise too coarse",
    "unless you insist",
    "is for trust = ",
    "is for unit = ",
    "is for policy = ",
    "needs `samples` too",
    "cannot offer",
    "per_client lists",
    "per_client needs",
    "algorithm: topology:",
    "dim_local: must be at least 1, not 0",
    "tell who lies",
];

const NUMBERS: [f64; 20] = [
    -1.0,
    -1e-9,
    0.0,
    1e-12,
    1e-9,
    0.001,
    0.25,
    0.5,
    0.999,
    1.0,
    1.000001,
    1.5,
    2.0,
    2.5,
    10.0,
    100.0,
    1e6,
    1e101,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

const WHOLE: [i64; 16] = [-1, 0, 1, 2, 3, 4, 5, 6, 10, 64, 65, 128, 129, 255, 256, 1000];

/// The values to try on a key, and whether its shape takes each.
fn probes(shape: &Shape) -> Vec<(Value, bool)> {
    let mut all = Vec::new();
    let mut taken = BTreeSet::new();
    for alternative in shape.alternatives() {
        match alternative {
            Shape::Number(range) => {
                let bounds = [range.min, range.max, range.above, range.below].into_iter().flatten();
                let near = bounds.flat_map(|bound| [bound, bound - 1e-9, bound + 1e-9]);
                for number in NUMBERS.into_iter().chain(near) {
                    if taken.insert(number.to_bits()) {
                        all.push((Value::Float(number), range.contains(number)));
                    }
                }
            }
            Shape::Integer(range) => {
                for number in WHOLE {
                    all.push((Value::Integer(number), range.contains(number as f64)));
                }
            }
            Shape::List(inner) if matches!(**inner, Shape::Number(_)) => {
                // One for each of four clients.
                let four = |value: Value| Value::Array(vec![value; 4]);
                all.extend(probes(inner).into_iter().map(|(value, fits)| (four(value), fits)));
            }
            Shape::Record(record) => {
                let [field] = record.fields.as_slice() else { continue };
                let within = |value: Value| Value::Table(Table::from_iter([(field.key.clone(), value)]));
                all.extend(probes(&field.shape).into_iter().map(|(value, fits)| (within(value), fits)));
            }
            _ => {}
        }
    }
    all
}

/// Where the shown range and what is checked differ, key by key.
fn differences(
    of: &str,
    fields: &[Field],
    accepts: &dyn Fn(&str, &Value) -> Result<(), String>,
) -> Vec<String> {
    let mut found = Vec::new();
    for field in fields {
        for (value, shown) in probes(&field.shape) {
            let checked = accepts(&field.key, &value);
            let together = |problem: &String| TOGETHER.iter().any(|words| problem.contains(words));
            if shown != checked.is_ok() && !checked.as_ref().is_err_and(together) {
                let shows = field.shape.describe();
                found.push(format!("{of}.{} = {value}: shown as {shows}, but {checked:?}", field.key));
            }
        }
    }
    found
}

/// A small world of each kind, to check algorithms in.
fn worlds(catalogue: &Catalogue) -> Vec<Scenario> {
    let small = [
        json!({ "kind": "linear", "clients": 4, "dim": 3, "arms": 3 }),
        json!({ "kind": "arms", "clients": 4, "arms": 3 }),
        json!({ "kind": "split", "clients": 4, "dim_global": 3, "dim_local": 2, "arms": 3 }),
        json!({ "kind": "users", "users": 8, "servers": 4, "clusters": 2, "dim": 3, "arms": 3 }),
    ];
    let read = |environment| {
        serde_json::from_value(json!({ "horizon": 100_000, "environment": environment })).unwrap()
    };
    let scenarios: Vec<Scenario> = small.into_iter().map(read).collect();
    assert!(scenarios.iter().all(|scenario| scenario.check(&catalogue.worlds).is_ok()));
    scenarios
}

#[test]
fn of_algorithms() {
    let catalogue = catalogue();
    let settings: Vec<_> =
        worlds(&catalogue).iter().map(|s| s.check(&catalogue.worlds).unwrap().setting().clone()).collect();
    let mut found = Vec::new();
    for about in catalogue.algorithms.iter() {
        // The least that has to be stated, in the first world that it can be run in.
        let least =
            ["", "dp_delta = 1e-5", "client_spread = 0.1"].map(|text| toml::from_str::<Table>(text).unwrap());
        let (base, setting) = least
            .iter()
            .flat_map(|base| settings.iter().map(move |setting| (base, setting)))
            .find(|(base, setting)| catalogue.check_in(about.name, base, setting).is_ok())
            .unwrap_or_else(|| panic!("{} runs nowhere", about.name));
        let accepts = |key: &str, value: &Value| {
            let mut params = base.clone();
            params.insert(key.into(), value.clone());
            catalogue.check_in(about.name, &params, setting).map_err(|error| error.to_string())
        };
        let record = Record::from_schema(about.schema().as_value());
        found.extend(differences(about.name, &record.fields, &accepts));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn of_worlds() {
    let catalogue = catalogue();
    let mut found = Vec::new();
    for kind in catalogue.worlds.iter() {
        let accepts = |key: &str, value: &Value| {
            let keys = Table::from_iter([(key.to_string(), value.clone())]);
            catalogue.worlds.check(&Environment::new(kind.name, keys)).map_err(|error| error.to_string())
        };
        found.extend(differences(kind.name, &Record::from_schema(kind.schema().as_value()).fields, &accepts));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn of_networks_and_rewards() {
    let with = |key: &str, value: &Value| Table::from_iter([(key.to_string(), value.clone())]);
    let network = |key: &str, value: &Value| {
        let network: Network =
            with(key, value).try_into().map_err(|error: toml::de::Error| error.to_string())?;
        network.check().map_err(|error| error.to_string())
    };
    let rewards = |key: &str, value: &Value| {
        let rewards: Rewards =
            with(key, value).try_into().map_err(|error: toml::de::Error| error.to_string())?;
        rewards.check().map_err(|error| error.to_string())
    };
    let fields = |schema: schemars::Schema| Record::from_schema(schema.as_value()).fields;
    let mut found = differences("network", &fields(schemars::schema_for!(Network)), &network);
    found.extend(differences("rewards", &fields(schemars::schema_for!(Rewards)), &rewards));
    assert!(found.is_empty(), "{}", found.join("\n"));
}
