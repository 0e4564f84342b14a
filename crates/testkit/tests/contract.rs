//! Every algorithm in the registry keeps every promise of the contract.

use cahoots_algorithms::registry::{NAMES, Visitor, visit};
use cahoots_core::Algorithm;
use cahoots_sim::run::{Scenario, check};
use cahoots_testkit::probe::ExploreThenCommit;
use cahoots_testkit::witness::Watched;
use cahoots_testkit::{scenarios, suite};
use serde_json::{Value, json};

struct Suite {
    params: Value,
    scenario: Scenario,
}

impl Visitor for Suite {
    type Out = ();
    fn visit<A: Algorithm>(self) {
        suite::check_all::<A>(&self.params, &self.scenario);
    }
}

#[test]
fn every_algorithm_passes_the_suite_in_every_world_that_fits() {
    for name in NAMES {
        let fitting = scenarios::for_algorithm(name);
        assert!(!fitting.is_empty(), "no scenario fits {name}");
        for scenario in fitting {
            visit(name, Suite { params: json!({}), scenario });
        }
    }
}

/// Communication at its extremes: always, rarely; every policy; the authors' readings.
#[test]
fn linear_algorithms_pass_with_other_parameters_too() {
    let scenario = &scenarios::all()[0];
    let cases = [
        ("async-linucb", json!({ "ratio": 1.0 })),
        ("async-linucb", json!({ "upload_ratio": 1.5, "download_ratio": 20.0, "fidelity": "authors" })),
        ("async-linucb", json!({ "ratio": 2.0, "new_client": "at-once", "policy": "lints" })),
        ("async-linucb", json!({ "ratio": 2.0, "policy": "linphe" })),
        ("sync-linucb", json!({ "sync_threshold": 0.5 })),
        ("sync-linucb", json!({ "sync_threshold": 1.0, "serve": "all", "fidelity": "authors" })),
        ("sync-linucb", json!({ "sync_threshold": 1.0, "deadline": 3, "policy": "lints" })),
        ("sync-linucb", json!({ "sync_threshold": 1.0, "policy": "linphe" })),
        ("linucb-alone", json!({ "policy": "uniform" })),
    ];
    for (name, params) in cases {
        visit(name, Suite { params, scenario: scenario.clone() });
    }
}

/// Global and local components: every split world, with and without a warm-up.
#[test]
fn split_worlds_keep_the_contract_with_other_parameters_too() {
    let worlds = scenarios::all().into_iter().filter(|s| s.environment.kind() == "split");
    for scenario in worlds {
        for params in [
            json!({ "ratio": 1.0 }),
            json!({ "ratio": 1.5, "new_client": "at-once", "partial_noise": 0.0 }),
            json!({ "upload_ratio": 1.5, "download_ratio": 20.0, "fidelity": "authors" }),
            json!({ "ratio": 2.0, "warm_up": false, "radius": "count", "iterations": 3 }),
        ] {
            visit("async-linucb-am", Suite { params, scenario: scenario.clone() });
        }
    }
}

#[test]
fn planned_pulls_wakes_and_abandoned_pulls_keep_the_contract() {
    let params = json!({ "pulls": 7 });
    suite::check_all::<ExploreThenCommit>(&params, &scenarios::all()[2]);
    let in_blocks =
        suite::blocks_without_noise_equal_single_steps::<ExploreThenCommit>(&params, &scenarios::still());
    assert!(in_blocks.is_some_and(|ticks| ticks > 1000), "{in_blocks:?}");
}

/// The exact comparison is made, and about blocks: every K-armed algorithm but the one that decides anew
/// at each pull has ticks inside them.
#[test]
fn blocks_without_noise_equal_single_steps_for_every_k_armed_algorithm() {
    struct Blocks(Scenario);
    impl Visitor for Blocks {
        type Out = Option<u64>;
        fn visit<A: Algorithm>(self) -> Option<u64> {
            suite::blocks_without_noise_equal_single_steps::<Watched<A>>(&json!({}), &self.0)
        }
    }
    let still = scenarios::still();
    let k_armed: Vec<&str> =
        NAMES.iter().copied().filter(|name| check(name, &json!({}), &still).is_ok()).collect();
    assert!(k_armed.len() >= 7, "{k_armed:?}");
    for name in k_armed {
        let in_blocks = visit(name, Blocks(still.clone())).unwrap();
        let in_blocks = in_blocks.unwrap_or_else(|| panic!("{name}: nothing was compared"));
        assert_eq!(in_blocks > 1000, name != "ucb-alone", "{name}: {in_blocks} ticks in blocks");
    }
}
