//! pf-ucb in whole runs: the contract over many phases, blocks against single steps, and what the paper's
//! printed game gives.

use cahoots_algorithms::pf_ucb::bounds::Game;
use cahoots_algorithms::pf_ucb::{PfUcb, PfUcbEnhanced};
use cahoots_core::{ArmIndex, NodeId};
use cahoots_sim::driver::Options;
use cahoots_sim::run::{Report, Scenario, prepare};
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::{catalogue, suite};
use serde_json::{Value, json};

const ALPHAS: [f64; 5] = [0.0, 0.2, 0.5, 0.9, 1.0];

fn printed_game() -> Vec<Vec<f64>> {
    vec![
        vec![1.0, 0.0, 0.0, 0.0, 0.9, 0.4, 0.35, 0.35, 0.5],
        vec![0.0, 1.0, 0.0, 0.0, 0.3, 0.9, 0.35, 0.3, 0.5],
        vec![0.0, 0.0, 1.0, 0.0, 0.35, 0.35, 0.9, 0.3, 0.5],
        vec![0.0, 0.0, 0.0, 1.0, 0.4, 0.3, 0.35, 0.9, 0.5],
    ]
}

/// A game of four clients in eighths: sums of its means are exact in any order.
fn eighths() -> Vec<Vec<f64>> {
    vec![
        vec![1.0, 0.25, 0.5, 0.0],
        vec![0.0, 0.875, 0.5, 0.25],
        vec![0.375, 0.25, 0.625, 0.5],
        vec![0.125, 0.25, 0.5, 0.75],
    ]
}

fn world(horizon: u64, means: Vec<Vec<f64>>, reward_noise: f64, arrivals: &str) -> Scenario {
    let environment = json!({ "kind": "arms", "rewards": "gaussian", "reward_noise": reward_noise,
        "means": means, "arrivals": arrivals });
    serde_json::from_value(json!({ "horizon": horizon, "environment": environment })).unwrap()
}

fn cases() -> [Value; 6] {
    [
        json!({ "schedule": "2^p" }),
        json!({ "schedule": "2^p", "fidelity": "authors" }),
        json!({ "schedule": 5, "personalization": 0.0, "fidelity": "authors" }),
        json!({ "schedule": { "table": [3, 5, 8] }, "personalization": 1.0 }),
        json!({ "schedule": 4, "personalization": 1.0, "fidelity": "authors", "reward_noise": 0.2 }),
        json!({ "schedule": "2^p", "personalization": 0.75, "divide_by_clients": true, "radius": "log-mt" }),
    ]
}

fn run(name: &str, params: &Value, scenario: &Scenario, seed: u64, single_steps: bool) -> Report {
    let options = Options { single_steps, ..Options::default() };
    catalogue().simulate(name, params, scenario, seed, options, &mut |_| true).unwrap()
}

#[test]
fn the_contract_holds_over_many_phases() {
    let everyone = world(300, eighths(), 0.25, "all");
    let one_by_one = world(900, eighths(), 0.25, "uniform");
    for params in cases() {
        for scenario in [&everyone, &one_by_one] {
            suite::check_all::<PfUcb>(&Worlds::ours(), &params, scenario);
            suite::check_all::<PfUcbEnhanced>(&Worlds::ours(), &params, scenario);
        }
        let phases =
            |scenario: &Scenario| run("pf-ucb", &params, scenario, 1, false).ledger.metrics["phases"];
        assert!(phases(&everyone) >= 2.0 && phases(&one_by_one) >= 2.0, "{params}");
    }
}

#[test]
fn without_noise_blocks_and_single_steps_are_the_same_run() {
    let still = world(20_000, eighths(), 0.0, "all");
    for params in cases() {
        let in_blocks =
            suite::blocks_without_noise_equal_single_steps::<PfUcb>(&Worlds::ours(), &params, &still);
        assert!(in_blocks.is_some_and(|ticks| ticks > 10_000), "{params}: {in_blocks:?}");
        // Lengths that follow gaps are no eighths, but pulls are whole.
        let in_blocks =
            suite::blocks_without_noise_equal_single_steps::<PfUcbEnhanced>(&Worlds::ours(), &params, &still);
        assert!(in_blocks.is_some_and(|ticks| ticks > 1000), "{params}: {in_blocks:?}");
    }
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

#[test]
fn with_noise_blocks_and_single_steps_agree_in_distribution() {
    let (seeds, noisy) = (60, world(20_000, eighths(), 1.0, "all"));
    for (name, params) in [
        ("pf-ucb", json!({ "schedule": "2^p" })),
        ("pf-ucb", json!({ "schedule": "2^p", "fidelity": "authors" })),
        ("pf-ucb-enhanced", json!({ "schedule": "2^p log T", "personalization": 0.25 })),
    ] {
        let sample = |single: bool, first: u64| {
            let runs = (first..first + seeds).map(|seed| run(name, &params, &noisy, seed, single));
            runs.map(|report| (report.ledger.regret, report.ledger.metrics["phases"])).unzip()
        };
        let (blocks, block_phases): (Vec<f64>, Vec<f64>) = sample(false, 0);
        let (singles, single_phases): (Vec<f64>, Vec<f64>) = sample(true, 1000);
        for (one, other) in [(blocks, singles), (block_phases, single_phases)] {
            let ((mean, variance), (other_mean, other_variance)) =
                (mean_and_variance(&one), mean_and_variance(&other));
            let error = ((variance + other_variance) / seeds as f64).sqrt();
            assert!((mean - other_mean).abs() <= 4.0 * error, "{name} {params}: {mean} {other_mean}");
        }
    }
}

/// Against means of 200 runs of the authors' code, and of the same with the paper's constant: regret with the
/// loss for communication, and communication times (2 M per phase; of the former alone).
#[test]
fn appendix_e_regret_and_communication_of_the_printed_game() {
    let scenario = world(1_000_000, printed_game(), 1.0, "all");
    let seeds = 40;
    for (fidelity, expected) in [
        ("authors", [22.7e3, 14.7e3, 32.5e3, 16.6e3, 7.5e3]),
        ("paper", [49.1e3, 54.6e3, 122e3, 61.5e3, 25.3e3]),
    ] {
        let times = [99.0, 65.0, 64.0, 63.0, 54.0];
        for ((alpha, regret), times) in ALPHAS.into_iter().zip(expected).zip(times) {
            let params = json!({ "personalization": alpha, "fidelity": fidelity });
            let runs: Vec<Report> =
                (0..seeds).map(|seed| run("pf-ucb", &params, &scenario, seed, false)).collect();
            let regrets: Vec<f64> = runs.iter().map(|report| report.ledger.regret).collect();
            let (mean, variance) = mean_and_variance(&regrets);
            // Both are means over seeds: of this many, and of 200.
            let error = (variance / seeds as f64 + variance / 200.0).sqrt();
            assert!((mean - regret).abs() < 4.0 * error, "{fidelity} {alpha}: {mean} +- {error}");
            let costs: Vec<f64> = runs.iter().map(|report| report.cost).collect();
            let phases = mean_and_variance(&costs).0 / 8.0;
            assert!(fidelity == "paper" || (phases - times / 8.0).abs() < 1.0, "{alpha}: {phases} phases");
        }
    }
}

#[test]
fn theorem_2_every_client_ends_on_its_mixed_optimal_arm() {
    // At alpha = 0 the horizon does not allow it.
    let scenario = world(1_000_000, printed_game(), 1.0, "all");
    for alpha in &ALPHAS[1..] {
        let best = Game::new(&printed_game(), *alpha).unwrap().best_arms().to_vec();
        for seed in 0..10 {
            let params = json!({ "personalization": alpha });
            let mut simulation =
                prepare::<PfUcb>(&Worlds::ours(), &params, &scenario, seed, Options::default()).unwrap();
            simulation.run(&mut |_| true).unwrap();
            for (client, arm) in best.iter().enumerate() {
                let fixed = simulation.client(NodeId(client as u32)).fixed();
                assert_eq!(fixed, Some(ArmIndex(*arm as u32)), "alpha = {alpha}, client {client}");
            }
        }
    }
}

#[test]
fn eq_6_the_loss_for_communication_is_inside_the_regret_and_apart() {
    let scenario = world(1_000_000, printed_game(), 1.0, "all");
    let params = json!({ "personalization": 0.25, "communication_loss": 3 });
    let Report { ledger, cost, .. } = run("pf-ucb", &params, &scenario, 1, false);
    let metrics = &ledger.metrics;
    assert_eq!(cost, 3.0 * 4.0 * 2.0 * metrics["phases"]);
    assert_eq!((ledger.communication_loss, metrics["communication_loss"]), (cost, cost));
    assert!((ledger.regret - metrics["regret_mixed"] - cost).abs() < 1e-6 * ledger.regret);
    let mixed = 0.25 * metrics["reward_local"] + 0.75 * metrics["reward_global"];
    assert!((metrics["reward_mixed"] - mixed).abs() < 1e-9 * mixed);
    assert_eq!(ledger.traffic.rounds as f64, 2.0 * metrics["phases"]);
    assert_eq!(ledger.traffic.uploads, 4 * ledger.traffic.rounds, "means and sets of four clients");
}

#[test]
fn an_incomplete_last_phase_costs_no_communication() {
    // Phase 1 is 630 pulls.
    for (horizon, phases) in [(629, 0), (630, 1)] {
        let scenario = world(horizon, printed_game(), 1.0, "all");
        let params = json!({ "schedule": { "table": [27.63] } });
        let Report { ledger, cost, .. } = run("pf-ucb", &params, &scenario, 1, false);
        assert_eq!((cost, ledger.traffic.rounds), (8.0 * phases as f64, 2 * phases), "horizon {horizon}");
    }
}

#[test]
fn an_experiment_may_state_another_objective() {
    let mut scenario = serde_json::to_value(world(20_000, eighths(), 1.0, "all")).unwrap();
    let regret = |scenario: &Value| {
        let scenario = serde_json::from_value(scenario.clone()).unwrap();
        let ledger = run("pf-ucb", &json!({ "personalization": 0.0 }), &scenario, 1, false).ledger;
        (ledger.regret - ledger.communication_loss, ledger.metrics)
    };
    let about = |one: f64, other: f64| assert!((one - other).abs() < 1e-6 * other, "{one} {other}");
    let (own, metrics) = regret(&scenario);
    about(own, metrics["regret_global"]);
    scenario["environment"]["objective"] = json!("local");
    let (stated, metrics) = regret(&scenario);
    about(stated, metrics["regret_local"]);
    assert!(stated > 2.0 * own);
}
