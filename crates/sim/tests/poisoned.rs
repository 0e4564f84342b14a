//! Federations in which a share of the clients lies: what that does to those who merge as ever, and to those who merge
//! robustly. Regret is that of the honest.

use cahoots_algorithms::registry::ours;
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::driver::Options;
use cahoots_sim::run::{Report, Scenario};
use serde_json::{Value, json};

const CLIENTS: u64 = 20;
const PER_CLIENT: u64 = 600;
const SEEDS: u64 = 4;
const KINDS: [&str; 4] = ["flip", "scale", "forge", "promote"];

fn scenario(share: f64, kind: &str) -> Scenario {
    let scenario = json!({
        "horizon": CLIENTS * PER_CLIENT,
        "environment": { "kind": "linear", "clients": CLIENTS, "dim": 5, "arms": 10 },
        "rewards": { "liars": share, "poison": kind },
    });
    serde_json::from_value(scenario).unwrap()
}

fn run(name: &str, params: &Value, scenario: &Scenario, seed: u64) -> Report {
    let catalogue = Catalogue::new(ours());
    catalogue.simulate(name, params, scenario, seed, Options::default(), &mut |_| true).unwrap()
}

/// Regret per honest decision, in all and in the last third, the mean over the seeds.
fn regret(name: &str, params: &Value, share: f64, kind: &str) -> (f64, f64) {
    let (mut all, mut end) = (0.0, 0.0);
    for seed in 0..SEEDS {
        let report = run(name, params, &scenario(share, kind), seed);
        let (ledger, each) = (&report.ledger, 1.0 / report.ledger.steps as f64 / SEEDS as f64);
        let curve = &ledger.curve;
        all += ledger.regret * each;
        end += 3.0 * (ledger.regret - curve[2 * curve.len() / 3].regret) * each;
    }
    (all, end)
}

fn trim(share: f64) -> Value {
    json!({ "robust": { "trim": share } })
}

fn median() -> Value {
    json!({ "robust": "geometric-median" })
}

#[test]
fn liars_spoil_plain_merging_and_not_robust_merging() {
    let alone = regret("linucb-alone", &json!({}), 0.0, "flip");
    let honest = regret("async-linucb", &json!({}), 0.0, "flip");
    assert!(honest.0 < alone.0 / 2.0, "{honest:?} {alone:?}");
    for kind in KINDS {
        for share in [0.1, 0.3, 0.45] {
            let plain = regret("async-linucb", &json!({}), share, kind);
            for params in [trim(share.max(0.3)), median()] {
                let (all, end) = regret("async-linucb", &params, share, kind);
                let said = format!("{kind} {share} {params}: {all} {end}, plain {plain:?}, alone {alone:?}");
                // Whoever is lied to ends up learning as fast as a federation does, far below what one learns alone.
                assert!(end < alone.1, "{said}");
                if share < 0.4 {
                    assert!(all < alone.0, "{said}");
                }
                assert!(end < plain.1, "{said}");
            }
            if share >= 0.3 {
                assert!(
                    plain.1 > 3.0 * honest.1 && plain.1 > alone.1,
                    "{kind} {share}: no harm done, {plain:?} {alone:?}"
                );
            }
        }
    }
}

/// What it costs where nobody lies, beside what the guide says that it costs.
#[test]
fn where_nobody_lies_robust_merging_costs_little() {
    let quiet = scenario(0.0, "flip");
    for (params, stated) in [(trim(0.3), 0.13), (trim(0.45), 1.0 / 3.0), (median(), 1.0 / 3.0)] {
        let price = |seed| {
            let [robust, plain] =
                [&params, &json!({})].map(|params| run("async-linucb", params, &quiet, seed));
            robust.ledger.regret / plain.ledger.regret - 1.0
        };
        let prices: Vec<f64> = (0..8).map(price).collect();
        let mean = prices.iter().sum::<f64>() / 8.0;
        let variance = prices.iter().map(|price| (price - mean) * (price - mean)).sum::<f64>() / 7.0;
        // Student's t with 7 degrees of freedom.
        let half = 2.365 * (variance / 8.0).sqrt();
        assert!(mean - half < stated && mean + half < 1.0, "{params}: {mean} +- {half}");
    }
}

#[test]
fn rounds_and_lone_synchronisations_are_protected_too() {
    for (name, own) in [("sync-linucb", json!({})), ("fed-linucb", json!({}))] {
        let alone = regret("linucb-alone", &json!({}), 0.0, "flip");
        for kind in ["flip", "forge"] {
            let plain = regret(name, &own, 0.3, kind);
            for params in [trim(0.3), median()] {
                let robust = regret(name, &params, 0.3, kind);
                let said = format!("{name} {kind} {params}: {robust:?}, plain {plain:?}, alone {alone:?}");
                assert!(robust.1 < alone.1 && robust.1 < plain.1 / 3.0, "{said}");
            }
        }
    }
}

/// Past the stated share all is lost, and nothing else is promised.
#[test]
fn the_breakdown_point_is_where_it_is_stated() {
    let held = regret("async-linucb", &trim(0.1), 0.1, "forge");
    let broken = regret("async-linucb", &trim(0.1), 0.45, "forge");
    assert!(broken.0 > 10.0 * held.0, "{held:?} {broken:?}");
}

#[test]
fn honest_runs_are_what_they_were_and_liars_are_not_counted() {
    let quiet = scenario(0.0, "flip");
    let bare: Scenario = {
        let mut value = serde_json::to_value(&quiet).unwrap();
        value.as_object_mut().unwrap().remove("rewards");
        serde_json::from_value(value).unwrap()
    };
    let [with, without] = [&quiet, &bare].map(|scenario| run("async-linucb", &json!({}), scenario, 3).ledger);
    assert_eq!(with.totals, without.totals);
    assert_eq!(
        serde_json::to_value(&quiet.rewards).unwrap(),
        json!({ "delay": 0, "loss": 0.0 }),
        "keys of runs stay"
    );
    // Six of twenty lie; each acts as often as anyone, but for chance.
    let ledger = run("linucb-alone", &json!({}), &scenario(0.3, "flip"), 3).ledger;
    let expected = 0.7 * (CLIENTS * PER_CLIENT) as f64;
    let spread = (0.21 * (CLIENTS * PER_CLIENT) as f64).sqrt();
    assert!((ledger.steps as f64 - expected).abs() < 4.0 * spread, "{}", ledger.steps);
    assert_eq!(ledger.metrics["liars"], 6.0);
    // Alone, nobody is hurt by others' lies.
    let honest = run("linucb-alone", &json!({}), &bare, 3).ledger;
    let each = [&ledger, &honest].map(|ledger| ledger.regret / ledger.steps as f64);
    assert!((each[0] / each[1] - 1.0).abs() < 0.25, "{each:?}");
}

/// Also of arms without features, by pulls planned ahead, with late and lost rewards, through bytes and restored machines.
#[test]
fn every_kind_of_liar_goes_through_every_kind_of_learner() {
    let arms =
        json!({ "kind": "arms", "clients": 5, "arms": 3, "arrivals": "all", "means": [[0.9, 0.5, 0.1]] });
    let linear = json!({ "kind": "linear", "clients": 6, "dim": 3, "arms": 4 });
    for kind in KINDS {
        for (environment, names) in [
            (&arms, ["ucb-alone", "pf-ucb", "fed-elim"]),
            (&linear, ["linucb-shared", "hetofed", "fed-linucb"]),
        ] {
            for name in names {
                let scenario: Scenario = serde_json::from_value(json!({
                    "horizon": 200, "environment": environment,
                    "rewards": { "liars": 0.4, "poison": kind, "delay": 3, "loss": 0.1 },
                }))
                .unwrap();
                let params = json!({});
                let catalogue = Catalogue::new(ours());
                let run = |options| {
                    catalogue.simulate(name, &params, &scenario, 5, options, &mut |_| true).unwrap().ledger
                };
                let plain = run(Options::default());
                let careful = run(Options { encode: true, restore: true, ..Options::default() });
                assert_eq!(plain.totals, careful.totals, "{name} {kind}");
                assert!(plain.refused == 0 && plain.metrics["liars"] == 2.0, "{name} {kind}");
            }
        }
    }
}
