//! fed-elim in whole runs: the contract over many rounds, blocks against single steps, how often it errs, and what
//! talking rarely costs.

use cahoots_algorithms::fed_elim::FedElim;
use cahoots_sim::driver::Options;
use cahoots_sim::ledger::Ledger;
use cahoots_sim::run::Scenario;
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::{catalogue, suite};
use serde_json::{Value, json};

/// Each client has its own best arm (0, 1, 2), and arm 3 is best on average: the synthetic instance of the authors'
/// code, with differences `wide` times as large.
fn game(wide: f64, reward_noise: f64, horizon: u64, arrivals: &str) -> Scenario {
    let rows = [[0.9, 0.1, 0.1, 0.5], [0.1, 0.9, 0.1, 0.5], [0.1, 0.1, 0.9, 0.5]];
    let means: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|mean| wide * mean).collect()).collect();
    let environment = json!({ "kind": "arms", "rewards": "gaussian", "reward_noise": reward_noise,
        "means": means, "arrivals": arrivals });
    serde_json::from_value(json!({ "horizon": horizon, "environment": environment })).unwrap()
}

fn run(params: &Value, scenario: &Scenario, seed: u64) -> (Ledger, f64) {
    let report =
        catalogue().simulate("fed-elim", params, scenario, seed, Options::default(), &mut |_| true).unwrap();
    (report.ledger, report.cost)
}

/// All four answers; none where something was not found.
fn answers(ledger: &Ledger) -> Option<[f64; 4]> {
    let metric = |name: &str| ledger.metrics.get(name).copied();
    if metric("settled") != Some(1.0) {
        return None;
    }
    Some([metric("local_best_0")?, metric("local_best_1")?, metric("local_best_2")?, metric("global_best")?])
}

const TRUTH: [f64; 4] = [0.0, 1.0, 2.0, 3.0];

#[test]
fn the_contract_holds_over_many_rounds() {
    for arrivals in ["all", "uniform"] {
        let scenario = game(8.0, 1.0, 600, arrivals);
        for params in [json!({}), json!({ "communicate": 3, "play": "global" }), json!({ "deadline": 6 })] {
            suite::check_all::<FedElim>(&Worlds::ours(), &params, &scenario);
        }
    }
    let (ledger, _) = run(&json!({}), &game(8.0, 1.0, 600, "all"), 1);
    assert!(ledger.traffic.rounds >= 5 && answers(&ledger).is_some(), "{:?}", ledger.metrics);
}

#[test]
fn without_noise_blocks_and_single_steps_are_the_same_run() {
    // Told of noise, so that there is something to find out.
    let params = json!({ "reward_noise": 1.0 });
    let still = game(8.0, 0.0, 3000, "all");
    let in_blocks =
        suite::blocks_without_noise_equal_single_steps::<FedElim>(&Worlds::ours(), &params, &still);
    assert!(in_blocks.is_some_and(|ticks| ticks > 1000), "{in_blocks:?}");
}

/// How many of the runs gave a wrong answer, or none.
fn wrong(params: &Value, scenario: &Scenario, runs: u64) -> usize {
    (0..runs).filter(|seed| answers(&run(params, scenario, *seed).0) != Some(TRUTH)).count()
}

#[test]
fn no_more_runs_err_than_was_promised() {
    let scenario = game(5.0, 1.0, 4000, "all");
    let promised = json!({ "failure_prob": 0.1 });
    assert!(wrong(&promised, &scenario, 200) <= 20);
    // Who understates the noise is promised nothing: errors do show here.
    assert!(wrong(&json!({ "failure_prob": 0.1, "reward_noise": 0.15 }), &scenario, 200) > 20);
}

/// The whole measurement: `FED_ELIM_RUNS=5000 cargo test -p cahoots-testkit --test fed_elim -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes"]
fn errors_of_many_runs() {
    let runs = std::env::var("FED_ELIM_RUNS").map_or(5000, |runs| runs.parse().unwrap());
    let scenario = game(5.0, 1.0, 4000, "all");
    for delta in [0.1, 0.5] {
        let errors = wrong(&json!({ "failure_prob": delta }), &scenario, runs);
        println!("failure_prob = {delta}: {errors} of {runs} runs gave a wrong answer or none");
        assert!(errors as f64 <= delta * runs as f64);
    }
}

/// "The total number of arm selections (resp. the total cost) is at most 2 (resp. 3) times the maximum total number of
/// arm selections under its variant that communicates in every time step", for small error probabilities.
#[test]
fn talking_rarely_costs_at_most_two_times_the_pulls_and_three_times_in_all() {
    let scenario = game(5.0, 1.0, 4000, "all");
    let each = |communicate: Value, cost: f64| -> Vec<(f64, f64)> {
        let params = json!({ "failure_prob": 1e-3, "communicate": communicate, "communication_cost": cost });
        let runs = (0..40).map(|seed| run(&params, &scenario, seed));
        runs.map(|(ledger, cost)| (ledger.metrics["exploration_pulls"], cost)).collect()
    };
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / 40.0;
    let (rare, always) = (each(json!("2^t"), 10.0), each(json!(1), 10.0));
    let most = always.iter().map(|(pulls, _)| *pulls).fold(0.0, f64::max);
    let pulls = mean(&mut rare.iter().map(|(pulls, _)| *pulls));
    let total = mean(&mut rare.iter().map(|(pulls, cost)| pulls + cost));
    let total_always = mean(&mut always.iter().map(|(pulls, cost)| pulls + cost));
    println!(
        "pulls {pulls:.0}, in all {total:.0}; at every step at most {most:.0} pulls, in all {total_always:.0}"
    );
    assert!(pulls <= 2.0 * most && total <= 3.0 * most);
    assert!(total < total_always, "communication at every step costs more than the pulls it saves");
}

#[test]
fn the_cost_is_c_for_each_number_on_an_uplink() {
    let scenario = game(5.0, 1.0, 4000, "all");
    let (free, none) = run(&json!({ "communication_cost": 0.0 }), &scenario, 3);
    let (dear, cost) = run(&json!({ "communication_cost": 10.0 }), &scenario, 3);
    assert_eq!((none, free.metrics["exploration_pulls"]), (0.0, dear.metrics["exploration_pulls"]));
    // Uploads have as many numbers as the downloads before them; the first one has all four.
    let first = 3.0 * 4.0;
    let last = 3.0;
    let downloads = (dear.traffic.scalars as f64 - (first - last)) / 2.0;
    assert_eq!(cost, 10.0 * (downloads + first - last));
}
