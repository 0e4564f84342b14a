//! The same machines over gRPC, as processes of their own, end in the
//! simulator's bytes: for every algorithm, and under kills.

use std::path::Path;
use std::time::Duration;

use cahoots_sim::run::Scenario;
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::lockstep::ours;
use cahoots_testkit::soak::LockstepRound;
use cahoots_testkit::{scenarios, suites};
use toml::Table;

const EXE: &str = env!("CARGO_BIN_EXE_cahoots-node");

fn run(algorithm: &str, params: &str, scenario: &Scenario, seed: u64, kills: u64) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let params: Table = toml::from_str(params).unwrap();
    let pause = Duration::from_millis(40);
    let round = LockstepRound {
        known: &ours(),
        algorithm,
        params: &params,
        scenario,
        seed,
        kills,
        pause,
        patience: Duration::from_secs(60),
    };
    let outcome = round.run(Path::new(EXE), folder.path());
    outcome.unwrap_or_else(|e| panic!("{algorithm} {params}, seed {seed}, {kills} kills: {e}"))
}

#[test]
fn every_algorithm_ends_in_the_simulators_bytes() {
    for (seed, suite) in suites().iter().enumerate() {
        let (name, fitting) = (suite.name, scenarios::fitting(suite, &Worlds::ours()));
        assert!(!fitting.is_empty(), "no scenario fits {name}");
        for scenario in &fitting {
            run(name, &toml::to_string(&suite.least()).unwrap(), scenario, seed as u64, 0);
        }
    }
}

#[test]
fn much_communication_and_wakes_too() {
    let scenario = &scenarios::all()[0];
    run("async-linucb", "ratio = 1.1\nnew_client = \"at-once\"", scenario, 3, 0);
    run("sync-linucb", "sync_threshold = 0.5\ndeadline = 3\npolicy = \"lints\"", scenario, 4, 0);
    run("private-linucb", "dp_delta = 1e-5\ntrust = \"group\"", scenario, 5, 0);
    run("fed-igw", "longest_epoch = 4\ndeadline = 3\nquorum = 0.5", scenario, 6, 0);
}

/// Whom a server believes goes with its snapshots and its log.
#[test]
fn servers_that_doubt_their_clients_do_so_too() {
    let scenario = &scenarios::all()[1];
    let mut kills = run("async-linucb", "ratio = 1.3\nrobust = { trim = 0.3 }", scenario, 14, 6);
    kills += run("sync-linucb", "sync_threshold = 0.5\nrobust = \"geometric-median\"", scenario, 15, 6);
    run("fed-linucb", "upload_ratio = 1.3\nrobust = { trim = 0.45 }", scenario, 16, 0);
    assert!(kills >= 4, "only {kills} kills happened");
}

#[test]
fn clusters_that_are_estimated_and_served_in_turn_do_so_too() {
    let scenario = &scenarios::all()[1];
    for (seed, name) in ["hetofed", "hetofed-pq", "hetofed-dr", "hetofed-e"].into_iter().enumerate() {
        run(name, "exploration = 6\nsync_threshold = 1.0", scenario, seed as u64, 0);
    }
    run("hetofed-e", "sync_threshold = 1.0\nclusters_per_step = 3\ndeadline = 2", scenario, 5, 2);
}

#[test]
fn many_phases_of_synchronous_rounds_too() {
    let scenario = &scenarios::all()[2];
    for fidelity in ["paper", "authors"] {
        let params = format!("schedule = 2\nfidelity = \"{fidelity}\"");
        run("pf-ucb", &params, scenario, 5, 0);
        run("pf-ucb-enhanced", &params, scenario, 6, 0);
    }
    run("fed-elim", "reward_noise = 0.1", scenario, 8, 0);
    run("fed2-ucb", "client_spread = 0.1\nreward_noise = 0.1\nschedule = 2\nadmit = 1", scenario, 10, 0);
    run("fed2-ucb", "model = \"exact\"\nreward_noise = 0.1\nschedule = 3\ndeadline = 4", scenario, 11, 0);
    run("fed-elim", "communicate = 3\nreward_noise = 0.1\ndeadline = 3", scenario, 9, 0);
    let sums = "rounds = 3\ngap = 0.8\nprivacy = \"central\"\ndp_epsilon = 20.0\ngroup_least = 3";
    run("cdp-mab", sums, scenario, 7, 0);
}

/// Messages between clients go through the coordinator, in the order and at the ticks of the simulator.
#[test]
fn messages_between_clients_too() {
    let (scenario, cases) = scenarios::several_rounds();
    for (seed, (name, params)) in (20..).zip(cases) {
        run(name, &toml::to_string(&params).unwrap(), &scenario, seed, 0);
    }
}

#[test]
fn messages_between_clients_survive_kills() {
    let (scenario, cases) = scenarios::several_rounds();
    let mut kills = 0;
    let between_clients = |(name, _): &(&str, _)| *name != "cdp-mab";
    for (seed, (name, params)) in (31..).zip(cases.into_iter().filter(between_clients)) {
        kills += run(name, &toml::to_string(&params).unwrap(), &scenario, seed, 6);
    }
    assert!(kills >= 12, "only {kills} kills happened");
}

#[test]
fn killed_at_random_both_sides_it_still_does() {
    let scenario = &scenarios::all()[0];
    let mut kills = run("async-linucb", "ratio = 1.2", scenario, 11, 8);
    kills += run("sync-linucb", "sync_threshold = 0.5", scenario, 12, 8);
    kills += run("ucb-alone", "", &scenarios::all()[2], 13, 8);
    kills += run("fed-igw", "longest_epoch = 4", scenario, 14, 8);
    assert!(kills >= 10, "only {kills} kills happened");
}
