//! Probabilities in whole runs: what learners state of their decisions while they learn, message by message and reward by
//! reward, masks included, is what they draw with.

use std::sync::{Arc, Mutex};

use cahoots_algorithms::registry::ours;
use cahoots_core::{Algorithm, ArmBuffer, ArmIndex, Erase, Keys, NodeId, Setting, Tick, UserId};
use cahoots_sim::driver::{Decided, Options, Simulation};
use cahoots_sim::network::Network;
use cahoots_sim::rewards::Rewards;
use cahoots_sim::run::Scenario;
use cahoots_sim::world::{Pull, World};
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::{scenarios, suites};
use serde_json::{Value, json};

/// What came of the decisions of some runs.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    decisions: f64,
    /// Those of which nothing was stated.
    unknown: f64,
    /// Those that were certain.
    certain: f64,
    /// Of 1 / p, less the number of arms that could be chosen.
    sum: f64,
    squares: f64,
}

/// A world that masks some arms.
struct Masking(Box<dyn World>);

impl World for Masking {
    fn setting(&self) -> &Setting {
        self.0.setting()
    }

    fn offer(&mut self, tick: Tick, user: UserId, arms: &mut ArmBuffer) {
        self.0.offer(tick, user, arms);
        let mut rng = Keys::from_seed(tick).policy(NodeId(user.0), 0);
        let open = rng.below(self.0.setting().arms as u64) as usize;
        arms.masked = (0..self.0.setting().arms).map(|arm| arm != open && rng.below(4) == 0).collect();
    }

    fn pull(&mut self, tick: Tick, user: UserId, arms: &ArmBuffer, arm: ArmIndex) -> Pull {
        self.0.pull(tick, user, arms, arm)
    }
}

impl Tally {
    fn add(&mut self, decided: &Decided<'_>) {
        self.decisions += 1.0;
        let Some(p) = decided.picked.probability else {
            self.unknown += 1.0;
            return;
        };
        assert!(p > 0.0 && p <= 1.0 + 1e-15, "{p}");
        self.certain += f64::from(u8::from(p == 1.0));
        let masked = decided.arms.masked.iter().filter(|masked| **masked).count();
        let arms = decided.arms.features.len().max(decided.arms.plain);
        let excess = 1.0 / p - (arms - masked) as f64;
        self.sum += excess;
        self.squares += excess * excess;
    }
}

/// Runs an algorithm and looks at its decisions.
struct Watch(fn(&Value, &Scenario, bool) -> Tally);

impl Erase for Watch {
    fn of<A: Algorithm>() -> Watch {
        Watch(watched::<A>)
    }
}

fn watched<A: Algorithm>(params: &Value, scenario: &Scenario, masks: bool) -> Tally {
    let tally = Arc::new(Mutex::new(Tally::default()));
    for seed in 0..3 {
        let (world, arrivals) = scenario.build(&Worlds::ours(), seed).expect("a scenario that fits");
        let valid = A::check(serde_json::from_value(params.clone()).expect("readable"), world.setting())
            .unwrap_or_else(|e| panic!("{} {params}: {e}", A::NAME));
        let world = if masks { Box::new(Masking(world)) } else { world };
        let rewards = Rewards { delay: 4, loss: 0.1, patience: Some(9), ..Rewards::default() };
        let mut simulation = Simulation::<A>::new(
            valid,
            world,
            arrivals,
            Network::default(),
            rewards,
            seed,
            Options { single_steps: true, ..Options::default() },
        );
        let counted = tally.clone();
        simulation.on_decision(Box::new(move |decided| counted.lock().expect("one thread").add(decided)));
        simulation.run(&mut |_| true).expect("nobody stops it");
    }
    let tally = tally.lock().expect("one thread");
    *tally
}

fn watch(name: &str, params: &Value, masks: bool) -> Tally {
    let suites = suites();
    let suite = suites.get(name).expect("one of ours");
    let scenarios = scenarios::fitting_with(suite, &Worlds::ours(), params);
    let mut all = Tally::default();
    let watches = ours::<Watch>();
    for scenario in scenarios.iter().take(2) {
        let Watch(watched) = watches.get(name).expect("one of ours");
        let one = watched(params, scenario, masks);
        all = Tally {
            decisions: all.decisions + one.decisions,
            unknown: all.unknown + one.unknown,
            certain: all.certain + one.certain,
            sum: all.sum + one.sum,
            squares: all.squares + one.squares,
        };
    }
    assert!(all.decisions > 300.0, "{name}: {all:?}");
    all
}

/// Where every arm can be drawn, 1 / p of the one that was is on average the number of arms, whatever was learned
/// before: sums of it are a martingale. It is all that inverse propensities rest on, and fails wherever p is not what
/// was drawn with.
#[test]
fn inverse_probabilities_come_to_the_number_of_arms_in_whole_runs() {
    let policies = [
        json!({ "policy": "softmax", "temperature": 0.5 }),
        json!({ "policy": "igw", "gap_weight": 3.0 }),
        json!({ "policy": "greedy", "epsilon": 0.4 }),
        json!({ "epsilon": 0.4 }),
        json!({ "policy": "lints", "samples": 6, "epsilon": 0.3 }),
        json!({ "policy": "uniform" }),
    ];
    let federated = [
        ("linucb-alone", json!({})),
        ("async-linucb", json!({ "ratio": 1.5 })),
        ("sync-linucb", json!({ "sync_threshold": 0.5 })),
        ("hetofed", json!({ "exploration": 6, "sync_threshold": 1.0 })),
        ("hetofed-e", json!({ "sync_threshold": 1.0 })),
        ("dyclu", json!({})),
        ("club", json!({})),
        ("private-linucb", json!({ "dp_delta": 1e-5 })),
        ("private-fed-linucb", json!({ "dp_delta": 1e-5 })),
        ("fed-linucb", json!({ "upload_ratio": 1.5 })),
    ];
    let mut cases: Vec<(&str, Value)> = vec![
        ("random", json!({})),
        ("epsilon-greedy", json!({ "epsilon": 0.4 })),
        ("softmax", json!({ "temperature": 0.5 })),
        ("igw", json!({ "gap_weight": 3.0 })),
        ("exp3-alone", json!({ "mixing": 0.3 })),
        ("fed-igw", json!({})),
        ("fed-igw", json!({ "gap_weight": 2.0, "data": "all", "epsilon": 0.1 })),
    ];
    for (name, own) in &federated {
        for policy in &policies {
            let mut params = own.clone();
            params.as_object_mut().unwrap().extend(policy.as_object().unwrap().clone());
            cases.push((name, params));
        }
    }
    for (name, params) in cases {
        for masks in [false, true] {
            // Means of plain arms are first tried one by one, and certain.
            let tally = watch(name, &params, masks);
            let what = format!("{name} {params}, masks: {masks}: {tally:?}");
            assert_eq!(tally.unknown, 0.0, "{what}");
            assert!(tally.certain < 0.2 * tally.decisions, "{what}");
            if ["random"].contains(&name) || params["policy"] == "uniform" {
                assert!(tally.squares < 1e-20 * tally.decisions, "{what}");
            } else {
                assert!(tally.sum * tally.sum < 16.0 * tally.squares, "{what}");
            }
        }
    }
}

/// Where nothing is drawn, that is said; and where it cannot be known, nothing is.
#[test]
fn what_is_certain_is_one_and_what_is_unknown_is_not_stated() {
    for (name, params) in [
        ("linucb-alone", json!({})),
        ("async-linucb", json!({})),
        ("greedy", json!({})),
        ("disjoint-linucb", json!({})),
        ("ucb-alone", json!({})),
        ("kl-ucb-alone", json!({})),
        ("moss-alone", json!({})),
    ] {
        let tally = watch(name, &params, true);
        assert_eq!(tally.certain, tally.decisions, "{name}");
    }
    for (name, params) in [
        ("lints-alone", json!({})),
        ("async-linucb", json!({ "policy": "lints" })),
        ("async-linucb", json!({ "policy": "linphe" })),
        ("ts-beta-alone", json!({})),
    ] {
        let tally = watch(name, &params, false);
        assert_eq!(tally.unknown, tally.decisions, "{name} {params}");
    }
    for (name, params) in
        [("lints-alone", json!({ "samples": 5 })), ("ts-beta-alone", json!({ "samples": 5 }))]
    {
        assert_eq!(watch(name, &params, true).unknown, 0.0, "{name}");
    }
}
