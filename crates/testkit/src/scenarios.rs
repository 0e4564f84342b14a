//! Small worlds, one of which fits every algorithm.

use cahoots_sim::environment::Environment;
use cahoots_sim::run::Scenario;
use cahoots_sim::worlds::Worlds;
use serde_json::{Value, json};

use crate::suite::Suite;

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
        read(json!({ "horizon": 140, "environment":
            { "kind": "arms", "clients": 5, "means": [[0.8, 0.5, 0.2]], "spread": 0.1, "objective": "population",
              "arrivals": { "admission": { "every": 30, "clients": 2 } } } })),
    ]
}

/// A K-armed world without noise. Its means are eighths and its clients four, so that sums and averages are
/// exact in any order; and it is long enough for curves to have fewer points than ticks, since blocks of
/// planned pulls end at a curve's points.
pub fn still() -> Scenario {
    let scenario = json!({ "horizon": 8000, "environment":
        { "kind": "arms", "rewards": "gaussian", "reward_noise": 0.0, "arrivals": "all",
          "means": [[0.875, 0.5, 0.125], [0.25, 0.75, 0.375], [0.25, 0.625, 0.5], [0.125, 0.875, 0.25]] } });
    serde_json::from_value(scenario).expect("a scenario that can be read")
}

/// A world in which the K-armed algorithms of dp-mab go through several rounds with these parameters.
pub fn several_rounds() -> (Scenario, [(&'static str, Value); 5]) {
    let scenario = json!({ "horizon": 110, "environment":
        { "kind": "arms", "clients": 5, "means": [[0.75, 0.5, 0.25]], "arrivals": "all" } });
    let quick = |more: Value| {
        let mut params = json!({ "rounds": 3, "gap": 0.8, "privacy": "local", "dp_epsilon": 20.0 });
        params.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        params
    };
    let path = json!({ "edges": [[0, 1], [1, 2], [3, 4]] });
    let cases = [
        ("cdp-mab", quick(json!({ "participation": 0.5 }))),
        ("ddp-mab", quick(json!({ "topology": "ring" }))),
        ("ddp-mab", quick(json!({ "topology": { "grid": 5 }, "privacy": "central" }))),
        ("hdp-mab", quick(json!({ "topology": path }))),
        ("hdp-mab", quick(json!({ "topology": "star", "components": [4, 1], "privacy": "published" }))),
    ];
    (serde_json::from_value(scenario).expect("a scenario that can be read"), cases)
}

/// Those in which an algorithm can run with as little as must be stated.
pub fn fitting(suite: &Suite, worlds: &Worlds) -> Vec<Scenario> {
    fitting_with(suite, worlds, &suite.least())
}

/// Those in which an algorithm can run with these parameters. Worlds that are not ours are tried with the keys
/// that they have without being told.
pub fn fitting_with(suite: &Suite, worlds: &Worlds, params: &Value) -> Vec<Scenario> {
    let ours = Worlds::ours();
    let strangers = worlds.names().filter(|name| ours.get(name).is_none());
    let strangers = strangers.map(|name| Scenario {
        horizon: 100,
        environment: Environment::new(name, Default::default()),
        network: Default::default(),
        rewards: Default::default(),
    });
    let everywhere = all().into_iter().chain(strangers);
    everywhere.filter(|scenario| suite.fits(worlds, params, scenario)).collect()
}
