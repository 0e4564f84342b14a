//! Every algorithm in the registry keeps every promise of the contract.

use cahoots_sim::run::Scenario;
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::probe::ExploreThenCommit;
use cahoots_testkit::suite::{self, Suite};
use cahoots_testkit::{scenarios, suites};
use serde_json::{Value, json};

fn check(name: &str, params: &Value, scenario: &Scenario) {
    suites().get(name).expect("one of ours").check_all(&Worlds::ours(), params, scenario);
}

#[test]
fn every_algorithm_passes_the_suite_in_every_world_that_fits() {
    for suite in suites().iter() {
        let fitting = scenarios::fitting(suite, &Worlds::ours());
        assert!(!fitting.is_empty(), "no scenario fits {}", suite.name);
        for scenario in fitting {
            suite.check_all(&Worlds::ours(), &suite.least(), &scenario);
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
        ("async-linucb", json!({ "ratio": 2.0 })),
        ("fed-linucb", json!({ "upload_ratio": 1.0 })),
        ("fed-linucb", json!({ "upload_ratio": 1.5, "fidelity": "authors" })),
        ("fed-linucb", json!({ "upload_ratio": 1.5, "own_data": true, "policy": "lints" })),
        ("fed-linucb", json!({ "upload_ratio": 1.5 })),
        ("sync-linucb", json!({ "sync_threshold": 0.5 })),
        ("sync-linucb", json!({ "sync_threshold": 1.0, "serve": "all", "fidelity": "authors" })),
        ("sync-linucb", json!({ "sync_threshold": 1.0, "deadline": 3, "policy": "lints" })),
        ("sync-linucb", json!({ "sync_threshold": 1.0 })),
        ("linucb-alone", json!({ "policy": "uniform" })),
        ("fed-igw", json!({ "first_epoch": 1, "longest_epoch": 2, "data": "all" })),
        ("fed-igw", json!({ "fidelity": "authors" })),
        ("fed-igw", json!({ "deadline": 3, "quorum": 0.5, "epsilon": 0.1 })),
    ];
    for (name, params) in cases {
        check(name, &params, scenario);
    }
}

/// Servers that do not believe everyone keep all promises too, in what they keep beside their views as well.
#[test]
fn robust_merging_passes_too() {
    let cases = [
        ("async-linucb", json!({ "ratio": 1.0, "robust": { "trim": 0.3 } })),
        ("async-linucb", json!({ "ratio": 1.5, "robust": "geometric-median", "new_client": "at-once" })),
        ("async-linucb", json!({ "ratio": 1.5, "robust": { "trim": 0.45 } })),
        ("fed-linucb", json!({ "upload_ratio": 1.0, "robust": { "trim": 0.2 } })),
        ("fed-linucb", json!({ "upload_ratio": 1.5, "robust": "geometric-median", "own_data": true })),
        ("sync-linucb", json!({ "sync_threshold": 0.5, "robust": "geometric-median", "policy": "lints" })),
        ("sync-linucb", json!({ "sync_threshold": 1.0, "robust": { "trim": 0.45 }, "deadline": 3 })),
    ];
    // In the second world clients differ, so that some are left out and taken back.
    for scenario in &scenarios::all()[..2] {
        for (name, params) in &cases {
            check(name, params, scenario);
        }
    }
}

/// Policies that draw, in all that take a policy.
#[test]
fn linear_algorithms_pass_with_policies_that_draw() {
    let draws = [
        json!({ "policy": "softmax" }),
        json!({ "policy": "igw", "epsilon": 0.1 }),
        json!({ "policy": "greedy", "epsilon": 0.2 }),
        json!({ "policy": "lints", "samples": 5 }),
        json!({ "epsilon": 0.1 }),
    ];
    let algorithms = [
        ("async-linucb", json!({ "ratio": 1.5 })),
        ("sync-linucb", json!({ "sync_threshold": 0.5 })),
        ("hetofed", json!({ "exploration": 4, "sync_threshold": 1.0 })),
        ("hetofed-e", json!({ "sync_threshold": 1.0 })),
        ("dyclu", json!({})),
        ("club", json!({})),
        ("private-linucb", json!({ "dp_delta": 1e-5 })),
        ("private-fed-linucb", json!({ "dp_delta": 1e-5 })),
        ("fed-linucb", json!({ "upload_ratio": 1.5 })),
    ];
    for (turn, (name, own)) in algorithms.iter().enumerate() {
        let suites = suites();
        let suite = suites.get(name).expect("one of ours");
        // Two policies each: every policy is with several algorithms.
        for draw in [&draws[turn % 5], &draws[(turn + 3) % 5]] {
            let mut params = own.clone();
            params.as_object_mut().unwrap().extend(draw.as_object().unwrap().clone());
            let fitting = scenarios::fitting_with(suite, &Worlds::ours(), &params);
            assert!(!fitting.is_empty(), "{name} {params}");
            suite.check_all(&Worlds::ours(), &params, &fitting[0]);
        }
    }
}

/// Whoever says how likely its pick was says it of all arms; and every algorithm of ours that takes masks was asked under some.
#[test]
fn whoever_states_a_probability_states_the_odds_of_all_arms() {
    let draws = [json!({}), json!({ "policy": "softmax" }), json!({ "policy": "lints", "samples": 5 })];
    let (mut drawing, mut masking, mut silent) = (0, 0, 0);
    for suite in suites().iter() {
        for draw in &draws {
            let mut params = suite.least();
            params.as_object_mut().unwrap().extend(draw.as_object().unwrap().clone());
            let Some(scenario) = scenarios::fitting_with(suite, &Worlds::ours(), &params).into_iter().next()
            else {
                assert_ne!(draw, &draws[0], "no scenario fits {}", suite.name);
                continue;
            };
            let looks = suite.looks(&Worlds::ours(), &params, &scenario);
            assert_eq!(looks.odds, looks.stated, "{} {params}", suite.name);
            assert!(looks.odds == 0 || looks.odds == looks.decisions, "{} {params}: {looks:?}", suite.name);
            drawing += u32::from(looks.odds > 0);
            silent += u32::from(looks.odds == 0);
            masking += u32::from(looks.masked > 0);
        }
    }
    assert!(drawing >= 20 && masking >= 20 && silent >= 2, "{drawing} {masking} {silent}");
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
            check("async-linucb-am", &params, &scenario);
        }
    }
}

#[test]
fn planned_pulls_wakes_and_abandoned_pulls_keep_the_contract() {
    let params = json!({ "pulls": 7 });
    suite::check_all::<ExploreThenCommit>(&Worlds::ours(), &params, &scenarios::all()[2]);
    let still = scenarios::still();
    let in_blocks =
        suite::blocks_without_noise_equal_single_steps::<ExploreThenCommit>(&Worlds::ours(), &params, &still);
    assert!(in_blocks.is_some_and(|ticks| ticks > 1000), "{in_blocks:?}");
}

/// Those for arms with features or without.
const ANYWHERE: [&str; 5] = ["random", "greedy", "epsilon-greedy", "softmax", "igw"];

/// The exact comparison is made, and about blocks: every K-armed algorithm but those that decide anew
/// at each pull has ticks inside them.
#[test]
fn blocks_without_noise_equal_single_steps_for_every_k_armed_algorithm() {
    let (still, worlds, suites) = (scenarios::still(), Worlds::ours(), suites());
    let k_armed: Vec<&Suite> =
        suites.iter().filter(|suite| suite.fits(&worlds, &suite.least(), &still)).collect();
    assert!(k_armed.len() >= 7, "{k_armed:?}");
    for suite in k_armed {
        let in_blocks = suite.blocks(&worlds, &suite.least(), &still);
        let in_blocks = in_blocks.unwrap_or_else(|| panic!("{}: nothing was compared", suite.name));
        let anew = suite.name.ends_with("-alone") || ANYWHERE.contains(&suite.name);
        assert_eq!(in_blocks > 1000, !anew, "{}: {in_blocks} ticks in blocks", suite.name);
    }
}
