//! A plan's promise, kept when its answer is run.

use std::sync::atomic::AtomicBool;

use cahoots_lab::catalogue;
use cahoots_papers::plan::{Budget, Plan, Request, Search, plan};
use cahoots_sim::driver::Options;
use cahoots_sim::run::Scenario;
use serde_json::json;

const CLIENTS: usize = 40;
const HORIZON: u64 = 4_000;

fn request(budget: Budget) -> Request {
    Request {
        clients: CLIENTS,
        dim: 6,
        horizon: HORIZON,
        arms: 10,
        reward_noise: 0.1,
        ridge: 0.1,
        budget,
        split: false,
        uneven: toml::Value::Table([("zipf".to_string(), 1.2.into())].into_iter().collect()),
    }
}

fn planned(request: &Request) -> Plan {
    let stop = AtomicBool::new(false);
    let search = Search { seeds: 3, jobs: 2, stop: &stop, progress: &|| {} };
    plan(&catalogue(), request, Some(&search)).unwrap()
}

/// Transfers, bytes and regret of an answer in worlds that the plan has not seen.
fn run(row: &cahoots_papers::plan::Row, seed: u64) -> (f64, f64, f64) {
    let law = if row.arrivals == "uniform" { json!("uniform") } else { json!({ "zipf": 1.2 }) };
    let scenario: Scenario = serde_json::from_value(json!({
        "horizon": HORIZON,
        "environment": {
            "kind": "linear", "clients": CLIENTS, "dim": 6, "arms": 10, "reward_noise": 0.1, "arrivals": law,
        },
    }))
    .unwrap();
    let report = catalogue()
        .simulate(row.algorithm, &row.params, &scenario, seed, Options::default(), &mut |_| true)
        .unwrap();
    let traffic = &report.ledger.traffic;
    ((traffic.uploads + traffic.downloads) as f64, traffic.bytes as f64, report.ledger.regret)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_bounds_keep_their_promise_in_every_world() {
    for split in [false, true] {
        for budget in [300.0, 3_000.0, 30_000.0] {
            let request = Request { split, ..request(Budget::Transfers(budget)) };
            for row in plan(&catalogue(), &request, None)
                .unwrap()
                .rows
                .iter()
                .filter(|row| row.algorithm == "async-linucb")
            {
                for seed in 100..104 {
                    assert!(run(row, seed).0 <= budget, "{row:?}");
                }
            }
        }
    }
}

#[test]
fn what_simulation_finds_keeps_a_budget_in_fresh_worlds_and_is_worth_it() {
    let budget = 2_000.0;
    let plan = planned(&request(Budget::Transfers(budget)));
    for found in plan.rows.iter().filter(|row| row.by == "simulation") {
        assert_eq!(found.kept, Some(true));
        assert!(mean((100..110).map(|seed| run(found, seed).0)) <= budget, "{found:?}");
        let safe = plan
            .rows
            .iter()
            .find(|row| {
                (row.algorithm, &row.arrivals, row.by) == (found.algorithm, &found.arrivals, "bounds")
            })
            .unwrap();
        let regret = |row| mean((100..110).map(|seed| run(row, seed).2));
        assert!(regret(found) < regret(safe), "{found:?} {safe:?}");
    }
}

#[test]
fn budgets_in_bytes_and_regret_are_kept_too() {
    let plan = planned(&request(Budget::Bytes(400_000.0)));
    for found in plan.rows.iter().filter(|row| row.by == "simulation") {
        assert!(mean((100..110).map(|seed| run(found, seed).1)) <= 400_000.0, "{found:?}");
    }
    let plan = planned(&request(Budget::RegretFactor(2.0)));
    for found in plan.rows.iter().filter(|row| row.by == "simulation" && row.kept == Some(true)) {
        let (_, always) = plan.always.iter().find(|(law, _)| *law == found.arrivals).unwrap();
        assert!(mean((100..110).map(|seed| run(found, seed).2)) <= 2.0 * always, "{found:?}");
    }
    assert!(plan.rows.iter().any(|row| row.by == "simulation" && row.kept == Some(true)));
}
