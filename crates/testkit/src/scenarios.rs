//! Small worlds, one of which fits every algorithm.

use cahoots_sim::run::{Scenario, check};
use serde_json::{Value, json};

/// Worlds to try algorithms in.
pub fn all() -> Vec<Scenario> {
    let read = |value: Value| serde_json::from_value(value).expect("a scenario that can be read");
    vec![
        read(
            json!({ "horizon": 150, "environment": { "kind": "linear", "clients": 6, "dim": 4, "arms": 5 } }),
        ),
        read(json!({ "horizon": 60, "environment":
            { "kind": "clustered", "clients": 5, "clusters": 2, "dim": 3, "arms": 4, "pool": "gaussian",
              "pool_size": 50, "separation": 0.5, "arrivals": "all" } })),
        read(json!({ "horizon": 250, "environment":
            { "kind": "arms", "clients": 3, "arms": 3, "arrivals": "all", "rewards": "bernoulli",
              "means": [[0.9, 0.5, 0.1], [0.2, 0.8, 0.4], [0.3, 0.6, 0.7]] } })),
        read(json!({ "horizon": 120, "environment":
            { "kind": "split", "clients": 4, "dim_global": 3, "dim_local": 2, "arms": 5 } })),
        read(json!({ "horizon": 40, "environment":
            { "kind": "split", "clients": 3, "dim_global": 2, "dim_local": { "per_client": [1, 4, 2] },
              "arms": 4, "pool": "gaussian", "pool_size": 60, "arrivals": "all" } })),
        read(json!({ "horizon": 100, "environment":
            { "kind": "split", "clients": 4, "dim_global": 3, "shared_features": true, "arms": 4 } })),
        read(json!({ "horizon": 100, "environment":
            { "kind": "users", "users": 6, "servers": 2, "clusters": 2, "dim": 3, "arms": 4 } })),
    ]
}

/// Those in which an algorithm can run with its default parameters.
pub fn for_algorithm(name: &str) -> Vec<Scenario> {
    all().into_iter().filter(|scenario| check(name, &json!({}), scenario).is_ok()).collect()
}
