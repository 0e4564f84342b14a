//! Small worlds, one of which fits every algorithm.

use cahoots_sim::run::{Scenario, check};
use serde_json::{Value, json};

/// Worlds to try algorithms in.
pub fn all() -> Vec<Scenario> {
    let read = |value: Value| serde_json::from_value(value).expect("a scenario that can be read");
    vec![
        read(json!({ "horizon": 150, "environment": { "kind": "linear", "clients": 6, "dim": 4, "arms": 5 } })),
        read(json!({ "horizon": 60, "environment":
            { "kind": "clustered", "clients": 5, "clusters": 2, "dim": 3, "arms": 4, "pool": "gaussian",
              "pool_size": 50, "separation": 0.5, "arrivals": "all" } })),
        read(json!({ "horizon": 60, "environment":
            { "kind": "arms", "clients": 4, "arms": 5, "arrivals": "all", "rewards": "bernoulli" } })),
    ]
}

/// Those in which an algorithm can run with its default parameters.
pub fn for_algorithm(name: &str) -> Vec<Scenario> {
    all().into_iter().filter(|scenario| check(name, &json!({}), scenario).is_ok()).collect()
}
