//! Clients drawn from a population, and admitted over time: what an algorithm whose server learns the
//! population's means from ever more clients has to live in.

use cahoots_algorithms::ucb_alone::UcbAlone;
use cahoots_core::Registry;
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::driver::Options;
use cahoots_sim::run::{Report, Scenario};
use serde_json::json;

fn run(more: serde_json::Value, horizon: u64) -> Report {
    let mut environment = json!({ "kind": "arms", "rewards": "gaussian", "reward_noise": 0.0, "clients": 7, "arrivals": "all",
        "means": [[0.75, 0.5, 0.0]], "spread": 0.5 });
    environment.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let scenario = json!({ "horizon": horizon, "environment": environment });
    let scenario: Scenario = serde_json::from_value(scenario).unwrap();
    Catalogue::new(Registry::default())
        .algorithm::<UcbAlone>()
        .simulate("ucb-alone", &json!({}), &scenario, 3, Options::default(), &mut |_| true)
        .unwrap()
}

#[test]
fn who_is_not_admitted_yet_costs_nothing() {
    let admission = json!({ "arrivals": { "admission": { "every": 10, "clients": 1, "growth": 2.0 } } });
    // One client for ten ticks, three for ten, then all seven.
    assert_eq!(run(admission.clone(), 10).ledger.steps, 10);
    assert_eq!(run(admission.clone(), 20).ledger.steps, 10 + 30);
    assert_eq!(run(admission.clone(), 50).ledger.steps, 10 + 30 + 7 * 30);
    // A newcomer meets what it would have met from the start: its noise and its means are its own.
    let alone = run(json!({ "arrivals": { "admission": { "every": 1000, "clients": 1 } } }), 10);
    assert_eq!(run(admission, 10).ledger.regret.to_bits(), alone.ledger.regret.to_bits());
}

#[test]
fn the_populations_best_arm_is_not_what_clients_on_their_own_find() {
    let own = run(json!({}), 3_000).ledger;
    let population = run(json!({ "objective": "population" }), 3_000).ledger;
    assert_eq!(own.reward.to_bits(), population.reward.to_bits(), "an objective changes no reward");
    // Each client learns its own best arm: its regret grows like the logarithm of time, by a twelfth when time
    // doubles (a half is left for what is not yet told apart).
    let later = run(json!({}), 6_000).ledger;
    assert!(later.regret < 1.5 * own.regret, "{} after {}", later.regret, own.regret);
    // With a spread twice the gap, that arm is the wrong one for some of them, at a quarter per pull at least
    // and for good.
    assert!(population.regret > 0.25 * 2_900.0, "{}", population.regret);
    let later = run(json!({ "objective": "population" }), 6_000).ledger;
    assert!(
        later.regret - population.regret > 0.25 * 3_000.0,
        "{} after {}",
        later.regret,
        population.regret
    );
}
