//! The algorithms of dp-mab in whole runs: the contract over several rounds, what faults may and may not
//! change, blocks against single steps; link-slots against theory in `links`.

mod links;

use cahoots_algorithms::dp_mab::{CdpMab, DdpMab, HdpMab, SingleMab};
use cahoots_core::{Algorithm, ArmIndex, Kind, Message, NodeId};
use cahoots_sim::driver::{Options, Simulation};
use cahoots_sim::run::{Report, Scenario, prepare};
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::{catalogue, suite};
use serde_json::{Value, json};

/// Means in eighths: sums of them are exact in any order.
fn world(horizon: u64, clients: usize, rewards: Value, arrivals: &str) -> Scenario {
    let mut environment = json!({ "kind": "arms", "clients": clients, "arrivals": arrivals,
        "means": [[0.75, 0.5, 0.25]] });
    environment.as_object_mut().unwrap().extend(rewards.as_object().unwrap().clone());
    serde_json::from_value(json!({ "horizon": horizon, "environment": environment })).unwrap()
}

fn bernoulli() -> Value {
    json!({ "rewards": "bernoulli" })
}

fn still() -> Value {
    json!({ "rewards": "gaussian", "reward_noise": 0.0 })
}

/// Few pulls per epoch, several rounds.
fn quick(more: Value) -> Value {
    let mut params = json!({ "rounds": 3, "gap": 0.8, "privacy": "none" });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

fn run<A: Algorithm>(params: &Value, scenario: &Scenario, seed: u64, single_steps: bool) -> Simulation<A> {
    let options = Options { single_steps, ..Options::default() };
    let mut simulation = prepare::<A>(&Worlds::ours(), params, scenario, seed, options).unwrap();
    simulation.run(&mut |_| true).unwrap();
    simulation
}

fn calibrations() -> [Value; 4] {
    ["published", "local", "central", "none"].map(|privacy| json!({ "privacy": privacy, "dp_epsilon": 4.0 }))
}

#[test]
fn the_contract_holds_over_several_rounds() {
    let everyone = world(170, 5, bernoulli(), "all");
    let one_by_one = world(700, 5, bernoulli(), "uniform");
    for scenario in [&everyone, &one_by_one] {
        for privacy in calibrations() {
            suite::check_all::<CdpMab>(&Worlds::ours(), &quick(privacy), scenario);
        }
        suite::check_all::<CdpMab>(
            &Worlds::ours(),
            &quick(json!({ "participation": 0.5, "privacy": "local" })),
            scenario,
        );
        suite::check_all::<DdpMab>(
            &Worlds::ours(),
            &quick(json!({ "topology": "ring", "privacy": "published" })),
            scenario,
        );
        suite::check_all::<DdpMab>(&Worlds::ours(), &quick(json!({ "topology": "star" })), scenario);
        let path = json!({ "edges": [[0, 1], [1, 2], [3, 4]] });
        suite::check_all::<HdpMab>(
            &Worlds::ours(),
            &quick(json!({ "topology": path, "privacy": "local" })),
            scenario,
        );
        suite::check_all::<HdpMab>(
            &Worlds::ours(),
            &quick(json!({ "components": [3, 2], "fidelity": "paper" })),
            scenario,
        );
        suite::check_all::<SingleMab>(&Worlds::ours(), &json!({}), scenario);
    }
    // Otherwise little was tested.
    let rounds = |params: Value, name: &str, scenario: &Scenario| {
        let report =
            catalogue().simulate(name, &params, scenario, 1, Options::default(), &mut |_| true).unwrap();
        report.ledger.traffic.rounds
    };
    for scenario in [&everyone, &one_by_one] {
        assert!(rounds(quick(json!({})), "cdp-mab", scenario) >= 2);
        assert!(rounds(quick(json!({ "participation": 0.5 })), "cdp-mab", scenario) >= 1);
        assert!(rounds(quick(json!({ "topology": "ring" })), "ddp-mab", scenario) >= 2);
        assert!(rounds(quick(json!({ "components": [3, 2] })), "hdp-mab", scenario) >= 2);
    }
}

/// Blocks are run, a thousand ticks of them at least, and change nothing.
fn assert_blocks<A: Algorithm>(params: &Value, scenario: &Scenario) {
    let in_blocks = suite::blocks_without_noise_equal_single_steps::<A>(&Worlds::ours(), params, scenario);
    assert!(in_blocks.is_some_and(|ticks| ticks > 1000), "{} {params}: {in_blocks:?}", A::NAME);
}

#[test]
fn without_noise_blocks_and_single_steps_are_the_same_run() {
    let still = world(4_000, 6, still(), "all");
    assert_blocks::<CdpMab>(&json!({ "privacy": "none" }), &still);
    for privacy in calibrations() {
        assert_blocks::<CdpMab>(&privacy, &still);
    }
    let ring = json!({ "topology": "ring", "privacy": "local", "dp_epsilon": 4.0 });
    assert_blocks::<DdpMab>(&ring, &still);
    let split = json!({ "components": [4, 2], "topology": "star", "privacy": "none" });
    assert_blocks::<HdpMab>(&split, &still);
    assert_blocks::<SingleMab>(&json!({}), &still);
    let blocks = run::<CdpMab>(&json!({ "privacy": "none" }), &still, 11, false);
    assert!(blocks.ledger().metrics["finished"] == 1.0, "all of it was seen");
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

#[test]
fn with_noise_blocks_and_single_steps_agree_in_distribution() {
    let seeds = 60;
    let scenario: Scenario = serde_json::from_value(json!({ "horizon": 3000, "environment":
        { "kind": "arms", "clients": 6, "arms": 5, "arrivals": "all" } }))
    .unwrap();
    for (name, params) in [
        ("cdp-mab", json!({ "dp_epsilon": 0.5, "privacy": "published" })),
        ("ddp-mab", json!({ "topology": "ring", "privacy": "none" })),
        ("single-mab", json!({})),
    ] {
        let sample = |single_steps: bool, first: u64| -> Vec<f64> {
            let options = Options { single_steps, ..Options::default() };
            let one =
                |seed| catalogue().simulate(name, &params, &scenario, seed, options, &mut |_| true).unwrap();
            (first..first + seeds).map(|seed| one(seed).ledger.regret).collect()
        };
        // Worlds are alike by seed, so differences are paired.
        let differences: Vec<f64> =
            sample(false, 0).iter().zip(sample(true, 0)).map(|(block, single)| block - single).collect();
        let (mean, variance) = mean_and_variance(&differences);
        let error = (variance / seeds as f64).sqrt();
        assert!(mean.abs() <= 4.0 * error.max(1e-9), "{name}: {mean} +- {error}");
        assert!(error > 0.0, "{name}: noise was drawn");
    }
}

#[test]
fn rewards_outside_the_unit_interval_are_clipped_and_counted_one_by_one() {
    let wild = world(1_000, 4, json!({ "rewards": "gaussian", "reward_noise": 0.5 }), "all");
    let (blocks, single) = (
        run::<CdpMab>(&json!({ "privacy": "none" }), &wild, 3, false),
        run::<CdpMab>(&json!({ "privacy": "none" }), &wild, 3, true),
    );
    assert!(blocks.states() == single.states(), "no block can be clipped, so none is run");
    assert!(blocks.ledger().metrics["clipped_rewards"] > 100.0);
}

/// Components of one client each are clients around a server, and a complete graph has what the server has.
#[test]
fn the_three_structures_eliminate_alike() {
    let scenario = world(900, 8, bernoulli(), "all");
    for privacy in calibrations() {
        let cdp = run::<CdpMab>(&privacy, &scenario, 4, true);
        let with = |more: Value| {
            let mut params = privacy.clone();
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            params
        };
        let hdp = run::<HdpMab>(&with(json!({ "components": vec![1; 8] })), &scenario, 4, true);
        assert_eq!(hdp.ledger().regret, cdp.ledger().regret);
        assert_eq!(hdp.server().active(), cdp.server().active());
        let ddp = run::<DdpMab>(&with(json!({ "topology": "complete" })), &scenario, 4, true);
        for client in (0..8).map(NodeId) {
            assert_eq!(ddp.client(client).active(), cdp.client(client).active());
        }
        assert_eq!(ddp.ledger().traffic.rounds, cdp.ledger().traffic.rounds);
        assert!(cdp.ledger().traffic.rounds >= 1);
    }
}

/// Loss, delay and duplicates: the same active sets and statistics, only more waiting.
#[test]
fn faults_change_how_long_is_waited_and_nothing_else() {
    let fair = world(2_000, 7, bernoulli(), "all");
    let network = json!({ "delay": 2, "jitter": 3, "loss": 0.3, "duplicate": 0.3 });
    let faulty = Scenario { network: serde_json::from_value(network).unwrap(), ..fair.clone() };
    fn compare<A: Algorithm>(
        params: &Value,
        fair: &Scenario,
        faulty: &Scenario,
        facts: impl Fn(&A::Client) -> String,
    ) {
        let params = quick(params.clone());
        let (good, bad) = (run::<A>(&params, fair, 6, true), run::<A>(&params, faulty, 6, true));
        for client in (0..7).map(NodeId) {
            assert_eq!(facts(good.client(client)), facts(bad.client(client)), "{} {params}", A::NAME);
        }
        assert_eq!(good.ledger().traffic.rounds, bad.ledger().traffic.rounds);
        assert!(good.ledger().traffic.rounds >= 2, "{} {params}", A::NAME);
        let waited = |s: &Simulation<A>| s.ledger().metrics.get("waiting_pulls").copied().unwrap_or(0.0);
        assert!(waited(&bad) > waited(&good));
        assert_eq!(bad.ledger().refused, 0);
    }
    for privacy in ["published", "local"] {
        let with = |more: Value| {
            let mut params = json!({ "privacy": privacy });
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            params
        };
        compare::<CdpMab>(&with(json!({})), &fair, &faulty, |client| client.learned());
        compare::<DdpMab>(&with(json!({ "topology": "ring" })), &fair, &faulty, |client| client.learned());
        let split = with(json!({ "components": [4, 3], "topology": "ring" }));
        compare::<HdpMab>(&split, &fair, &faulty, |client| client.learned());
    }
}

/// What is printed is what was accounted for, not what was asked for.
#[test]
fn the_true_guarantee_is_stated() {
    let scenario = world(900, 8, bernoulli(), "all");
    let stated = |params: Value| {
        let report = catalogue()
            .simulate("cdp-mab", &params, &scenario, 4, Options::default(), &mut |_| true)
            .unwrap();
        (report.privacy.map(|statement| statement.epsilon), report.ledger.traffic.rounds)
    };
    let close = |got: Option<f64>, expected: f64| (got.unwrap() / expected - 1.0).abs() < 1e-3;
    let (published, rounds) = stated(json!({ "privacy": "published", "dp_epsilon": 0.5 }));
    assert!(close(published, 8.0 * 0.5) && rounds >= 1, "{published:?}");
    let (half, _) = stated(json!({ "privacy": "published", "dp_epsilon": 0.5, "participation": 0.5 }));
    assert!(close(half, 4.0 * 0.5), "no amplification by sampling: {half:?}");
    assert!(close(stated(json!({ "dp_epsilon": 4.0 })).0, 4.0), "local, if nothing else is said");
    assert!(close(stated(json!({ "privacy": "central", "dp_epsilon": 4.0 })).0, 4.0));
    let params = json!({ "privacy": "central", "dp_epsilon": 4.0, "participation": 0.5, "group_least": 3 });
    let (some, rounds) = stated(params);
    assert!(
        rounds >= 1 && close(some, 4.0),
        "a reward is in one sum, whoever is asked: {some:?} in {rounds}"
    );
    assert_eq!(stated(json!({ "privacy": "none" })).0, None);
}

#[test]
fn an_unfinished_epoch_is_flagged_and_costs_nothing() {
    let scenario = world(20, 3, bernoulli(), "all");
    let Report { ledger, cost, .. } =
        catalogue().simulate("cdp-mab", &json!({}), &scenario, 1, Options::default(), &mut |_| true).unwrap();
    assert_eq!((cost, ledger.traffic.rounds, ledger.traffic.uploads), (0.0, 0, 0));
    assert_eq!((ledger.metrics["finished"], ledger.metrics["active_arms"]), (0.0, 3.0));
}

#[test]
fn partial_participation_asks_so_many_per_round() {
    let scenario = world(1_500, 10, bernoulli(), "all");
    for (p, n) in [(0.07, 1), (0.2, 2), (0.31, 4), (1.0, 10)] {
        let params = json!({ "participation": p, "privacy": "none", "server_link_cost": 3 });
        let simulation = run::<CdpMab>(&params, &scenario, 2, false);
        let traffic = &simulation.ledger().traffic;
        assert!(traffic.rounds >= 1, "{p}");
        assert_eq!((traffic.uploads, traffic.downloads), (n * traffic.rounds, 10 * traffic.rounds));
        assert_eq!(simulation.cost(), (3 * n * traffic.rounds) as f64);
    }
}

#[test]
fn no_more_rounds_than_allowed_and_then_the_empirical_best() {
    for (name, more) in [
        ("cdp-mab", json!({})),
        ("ddp-mab", json!({ "topology": "ring" })),
        ("hdp-mab", json!({ "components": [3, 2] })),
    ] {
        // A gap that is told too large: arms remain.
        let scenario: Scenario = serde_json::from_value(json!({ "horizon": 2_000, "environment":
            { "kind": "arms", "clients": 5, "arrivals": "all", "means": [[0.5, 0.49, 0.48]] } }))
        .unwrap();
        let report = catalogue()
            .simulate(name, &quick(more), &scenario, 1, Options::default(), &mut |_| true)
            .unwrap();
        assert_eq!(report.ledger.traffic.rounds, 3, "{name}");
        let metric = |name| report.ledger.metrics[name];
        assert_eq!((metric("active_arms"), metric("finished")), (1.0, 0.0), "{name}");
    }
}

#[test]
fn everyone_ends_on_the_globally_best_arm_where_clients_differ() {
    // Each alone would choose another.
    let means = json!([[1.0, 0.75, 0.0], [0.0, 0.75, 1.0], [1.0, 0.75, 0.0], [0.0, 0.75, 1.0]]);
    let scenario: Scenario = serde_json::from_value(json!({ "horizon": 4_000, "environment":
        { "kind": "arms", "means": means, "arrivals": "all" } }))
    .unwrap();
    let best = [ArmIndex(1)];
    let published = |more: Value| {
        let mut params = json!({ "privacy": "published" });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let cdp = run::<CdpMab>(&published(json!({})), &scenario, 3, false);
    let ddp = run::<DdpMab>(&published(json!({ "topology": "ring" })), &scenario, 3, false);
    let hdp = run::<HdpMab>(&published(json!({ "components": [3, 1] })), &scenario, 3, false);
    let single = run::<SingleMab>(&json!({}), &scenario, 3, false);
    for client in (0..4).map(NodeId) {
        assert_eq!(cdp.client(client).active(), best);
        assert_eq!(ddp.client(client).active(), best);
        assert_eq!(hdp.client(client).active(), best);
    }
    assert!(single.ledger().regret > 2.0 * cdp.ledger().regret, "linear in the horizon");
}

#[test]
fn only_data_between_clients_is_charged() {
    use cahoots_algorithms::dp_mab::{Labels, MabMsg};
    let labels = Labels { phase: 1, nodes: vec![NodeId(0)] };
    for message in [MabMsg::Advertise(labels.clone()), MabMsg::Request(labels), MabMsg::Tree(vec![])] {
        assert_eq!(message.kind(), Kind::Control);
    }
}
