//! The fclub family in the world of its paper.

use cahoots_algorithms::fclub::{CdpFclubDc, FclubDc, GlobalServer, LocalServer};
use cahoots_core::{Algorithm, NodeId};
use cahoots_sim::driver::{Options, Simulation};
use cahoots_sim::run::{Scenario, prepare};
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::suite;
use serde_json::{Value, json};

fn world(layout: &str, users: u32, horizon: u64) -> Scenario {
    serde_json::from_value(json!({ "horizon": horizon, "environment": {
        "kind": "users", "users": users, "servers": 3, "clusters": 3, "layout": layout, "dim": 5, "arms": 10 } }))
    .unwrap()
}

fn finished<A: Algorithm>(params: Value, scenario: &Scenario, seed: u64) -> Simulation<A> {
    let mut simulation = prepare::<A>(&Worlds::ours(), &params, scenario, seed, Options::default()).unwrap();
    simulation.run(&mut |_| true).unwrap();
    simulation
}

/// Global clusters as sets of users.
fn clusters<A: Algorithm<Client = LocalServer, Server = GlobalServer>>(s: &Simulation<A>) -> Vec<Vec<u32>> {
    let users = |(node, cluster): (NodeId, u32)| {
        let users = s.client(node).clusters().nth(cluster as usize).unwrap();
        users.into_iter().map(|user| user.0)
    };
    let mut clusters: Vec<Vec<u32>> = s
        .server()
        .groups()
        .iter()
        .map(|group| {
            let mut users: Vec<u32> = group.members().flat_map(users).collect();
            users.sort_unstable();
            users
        })
        .collect();
    clusters.sort_unstable();
    clusters
}

#[test]
fn clusters_are_recovered_in_both_layouts() {
    let truth: Vec<Vec<u32>> = vec![(0..4).collect(), (4..8).collect(), (8..12).collect()];
    for layout in ["random", "block"] {
        for seed in [1, 2, 3] {
            let simulation = finished::<FclubDc>(json!({}), &world(layout, 12, 16_000), seed);
            assert_eq!(clusters(&simulation), truth, "{layout}, seed {seed}");
        }
    }
}

#[test]
fn with_noise_forced_to_zero_a_private_run_is_the_one_without_privacy() {
    let scenario = world("random", 12, 4000);
    let plain = finished::<FclubDc>(json!({ "ratio": 1.2 }), &scenario, 5);
    for params in [
        json!({ "ratio": 1.2, "privacy": "none" }),
        json!({ "ratio": 1.2, "dp_epsilon": 1e6, "dp_delta": 1e-5 }),
    ] {
        let silent = params.get("privacy").is_some();
        let private = finished::<CdpFclubDc>(params, &scenario, 5);
        let same = plain.ledger().curve == private.ledger().curve;
        // An enormous epsilon still has some noise: only no noise at all gives the same decisions.
        assert_eq!(same, silent);
        if silent {
            assert_eq!(plain.ledger().traffic, private.ledger().traffic);
            assert_eq!(plain.ledger().regret.to_bits(), private.ledger().regret.to_bits());
            assert_eq!(clusters(&plain), clusters(&private));
        }
    }
}

#[test]
fn what_is_stated_is_what_was_spent() {
    let scenario = world("block", 12, 2000);
    let private = finished::<CdpFclubDc>(json!({ "dp_delta": 1e-5, "renewals": 0 }), &scenario, 6);
    let statement = private.privacy().unwrap();
    assert!((0.99..=1.0).contains(&statement.epsilon), "one tree costs what was asked for: {statement:?}");
    assert_eq!((statement.delta, statement.asked), (1e-5, 1.0));
    assert!(statement.in_words().contains("counts are exact, and uploads follow from them"));
    let silent = finished::<CdpFclubDc>(json!({ "privacy": "none" }), &scenario, 6);
    assert_eq!(silent.privacy().unwrap().epsilon, f64::INFINITY);
    assert_eq!(finished::<FclubDc>(json!({}), &scenario, 6).privacy(), None);
}

/// Deep trees, few uploads, splits, both shifts, the authors' readings: all keep the contract.
#[test]
fn the_contract_holds_with_other_parameters_too() {
    let scenario: Scenario = serde_json::from_value(json!({ "horizon": 90, "environment": {
        "kind": "users", "users": 6, "servers": 3, "clusters": 2, "dim": 3, "arms": 3 } }))
    .unwrap();
    let early = |value: Value| {
        let mut params = json!({ "deletion": 0.3, "merge": 0.4 });
        params.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        params
    };
    suite::check_all::<FclubDc>(
        &Worlds::ours(),
        &early(json!({ "ratio": 1.3, "fidelity": "authors" })),
        &scenario,
    );
    suite::check_all::<FclubDc>(
        &Worlds::ours(),
        &early(json!({ "ratio": 1.0, "tolerance": 0.01 })),
        &scenario,
    );
    suite::check_all::<CdpFclubDc>(
        &Worlds::ours(),
        &early(json!({ "dp_epsilon": 50.0, "dp_delta": 1e-5, "planned_uploads": 1 })),
        &scenario,
    );
    suite::check_all::<CdpFclubDc>(
        &Worlds::ours(),
        &early(json!({ "shift": "paper", "privacy": "text", "dp_delta": 1e-5 })),
        &scenario,
    );
    suite::check_all::<CdpFclubDc>(
        &Worlds::ours(),
        &early(json!({ "privacy": "alg5", "fidelity": "authors", "dp_delta": 1e-5 })),
        &scenario,
    );
}
