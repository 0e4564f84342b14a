//! The hetofed family and dyclu in whole federations: the contract with much
//! communication, clusters found, data kept, clients that never answer.

use cahoots_algorithms::dyclu::Dyclu;
use cahoots_algorithms::hetofed::{Hetofed, HetofedE, HetofedPq, Server};
use cahoots_algorithms::hetofed_async::HetofedAsync;
use cahoots_algorithms::kit::linear::LinearMsg;
use cahoots_core::{Algorithm, LinearStats, NodeId};
use cahoots_sim::driver::{Options, Simulation};
use cahoots_sim::run::{Scenario, prepare};
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::{catalogue, scenarios, suites};
use serde_json::{Value, json};

fn check(name: &str, params: &Value, scenario: &Scenario) {
    suites().get(name).expect("one of ours").check_all(&Worlds::ours(), params, scenario);
}

/// Exploration that ends, clusters of all sizes, and much to say.
#[test]
fn the_contract_is_kept_in_clustered_worlds() {
    let scenario = &scenarios::all()[1];
    let family = ["hetofed", "hetofed-pq", "hetofed-dr", "hetofed-e"];
    let cases = [
        json!({ "exploration": 6, "sync_threshold": 2.0 }),
        json!({ "exploration": 4, "sync_threshold": 1.0, "sharing": "buffers", "clusters_per_step": 2 }),
        json!({ "exploration": 8, "exploration_unit": "total", "sync_threshold": 2.0, "deadline": 3 }),
    ];
    for (name, params) in family.iter().flat_map(|name| cases.iter().map(move |params| (name, params))) {
        check(name, params, scenario);
    }
    for (name, params) in [
        (
            "hetofed",
            json!({ "exploration": 5, "sync_threshold": 1.0, "fidelity": "authors", "policy": "lints" }),
        ),
        (
            "hetofed",
            json!({ "exploration": { "doubling": { "first": 10, "explore": 3 } }, "sync_threshold": 2.0 }),
        ),
        (
            "hetofed-pq",
            json!({ "exploration": 6, "sync_threshold": 1.0, "test": { "cut": 0.9 }, "max_clusters": 1 }),
        ),
        (
            "hetofed-e",
            json!({ "sync_threshold": 1.0, "policy": "linphe", "test": { "noncentrality": "data-relative" } }),
        ),
        ("hetofed-async", json!({ "exploration": 6, "sync_threshold": 2.0 })),
        (
            "hetofed-async",
            json!({ "exploration": 4, "upload_ratio": 1.2, "test": { "cut": 0.9 }, "partners": "all" }),
        ),
        (
            "hetofed-async",
            json!({ "exploration": { "doubling": { "first": 10, "explore": 3 } }, "upload_ratio": 1.5 }),
        ),
        (
            "hetofed-async",
            json!({ "exploration": 0, "sync_threshold": 0.0, "fidelity": "authors", "policy": "lints" }),
        ),
        ("dyclu", json!({ "outlier": 0.3, "window": 4, "false_alarm": 0.99 })),
        ("dyclu", json!({ "outlier": 0.3, "window": 4, "false_alarm": 0.99, "keep_past": false })),
    ] {
        check(name, &params, scenario);
    }
}

/// One client per tick, and clients that explore at their own pace.
#[test]
fn the_contract_is_kept_where_clients_do_not_act_in_turn() {
    let scenario = &scenarios::all()[0];
    for name in ["hetofed", "hetofed-pq", "hetofed-e"] {
        check(name, &json!({ "exploration": 8, "sync_threshold": 2.0, "deadline": 4 }), scenario);
    }
}

fn world(horizon: u64, environment: Value) -> Scenario {
    let mut world = json!({ "kind": "clustered", "dim": 6, "arms": 10, "pool": "gaussian", "pool_size": 300,
        "separation": 0.8, "assignment": "even", "arrivals": "all" });
    for (key, value) in environment.as_object().unwrap() {
        world[key] = value.clone();
    }
    serde_json::from_value(json!({ "horizon": horizon, "environment": world })).unwrap()
}

fn finished<A: Algorithm>(params: Value, scenario: &Scenario, seed: u64) -> Simulation<A> {
    let mut simulation = prepare::<A>(&Worlds::ours(), &params, scenario, seed, Options::default()).unwrap();
    simulation.run(&mut |_| true).unwrap();
    simulation
}

/// Clients that explore at the same time are found the clusters that hetofed finds, from the same data.
#[test]
fn clusters_are_those_of_hetofed_where_all_explore_together() {
    for (seed, sizes) in [(1, vec![4, 4, 4]), (2, vec![9, 2, 1]), (3, vec![1; 12])] {
        let scenario = world(80, json!({ "clients": 12, "sizes": sizes }));
        // A harsh cut, so that there is something to disagree about.
        for cut in [0.001, 0.3] {
            let params = json!({ "exploration": 40, "test": { "cut": cut } });
            let once = finished::<Hetofed>(params.clone(), &scenario, seed);
            let alone = finished::<HetofedAsync>(params, &scenario, seed);
            assert_eq!(alone.server().clusters().list(), once.server().clusters().list(), "{sizes:?}, {cut}");
        }
    }
}

/// With an upload for every reward, whoever is served has all that its partners have observed, up to what they
/// observe after it in the same tick; and every observation is merged once, whatever overlaps.
#[test]
fn who_is_served_when_it_asks_misses_nothing_but_the_last_tick() {
    let scenario = world(60, json!({ "clients": 8, "clusters": 1 }));
    for partners in ["largest", "all"] {
        let params =
            json!({ "exploration": 20, "sync_threshold": 0.0, "test": { "cut": 0.5 }, "partners": partners });
        let simulation = finished::<HetofedAsync>(params, &scenario, 3);
        let server = simulation.server();
        let overlap = (0..8).any(|id| server.clusters().of(NodeId(id)).count() > 1);
        assert!(overlap, "no clusters overlap: the test must be able to fail");
        for id in (0..8).map(NodeId) {
            assert_eq!(server.own(id).unwrap().count, 60, "{id}");
            let partners = server.partners(id);
            // Clients act in the order of their numbers: those after it have not yet sent their last.
            let behind = partners.iter().filter(|partner| **partner > id).count() as u64;
            let view = server.served(id).expect("everyone is served").stats();
            assert_eq!(view.count, 60 * partners.len() as u64 - behind, "{id} of {partners:?}");
        }
    }
}

/// Neighbours in blocks of these sizes.
fn blocks(sizes: &[u32]) -> Vec<Vec<NodeId>> {
    let ends = sizes.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    });
    ends.zip(sizes).map(|(end, size)| (end - size..end).map(NodeId).collect()).collect()
}

/// Theorem 3.1: the estimated clusters are the true ones, whatever their sizes.
#[test]
fn theorem_3_1_clusters_are_recovered_exactly() {
    for sizes in [vec![4, 4, 4], vec![9, 2, 1], vec![12], vec![1; 12]] {
        let scenario = world(80, json!({ "clients": 12, "sizes": sizes }));
        for seed in 1..=4 {
            let once = finished::<Hetofed>(json!({ "exploration": 60 }), &scenario, seed);
            assert_eq!(once.server().clusters().list(), blocks(&sizes), "{sizes:?}, seed {seed}");
        }
        // Random pulls 1 to 20 and 101 to 129, the clusters estimated after each.
        let doubling = json!({ "exploration": { "doubling": { "first": 100, "explore": 20 } } });
        let scenario = world(140, json!({ "clients": 12, "sizes": sizes }));
        let twice = finished::<Hetofed>(doubling, &scenario, 1);
        assert_eq!(twice.server().clusters().list(), blocks(&sizes), "{sizes:?}, doubling");
        let scenario = world(400, json!({ "clients": 12, "sizes": sizes }));
        let anew = finished::<HetofedE>(json!({ "sync_threshold": 5.0 }), &scenario, 1);
        assert_eq!(anew.server().clusters().list(), blocks(&sizes), "{sizes:?}");
    }
}

/// What each client was sent last is what the members of one of its clusters have observed themselves, all
/// of it and once.
fn assert_nothing_is_lost<A>(simulation: &Simulation<A>, clients: u32, horizon: u64)
where
    A: Algorithm<Server = Server, Client = cahoots_algorithms::hetofed::Client, Msg = LinearMsg>,
{
    let server = simulation.server();
    let clusters = server.clusters().list();
    for id in (0..clients).map(NodeId) {
        let own = server.own(id).unwrap().count;
        assert_eq!(own + simulation.client(id).known().pending_count(), horizon, "{id}");
        let view = server.served(id).expect("everyone is served").stats();
        let observed = |cluster: &Vec<NodeId>| {
            let mut sum = LinearStats::empty(view.dim());
            cluster.iter().for_each(|&member| sum.merge(server.own(member).unwrap()));
            sum
        };
        let mine: Vec<LinearStats> = clusters.iter().filter(|c| c.contains(&id)).map(observed).collect();
        assert!(
            mine.iter().any(|all| same(all, view)),
            "{id} was sent {} observations, its clusters have {:?}",
            view.count,
            mine.iter().map(|all| all.count).collect::<Vec<_>>()
        );
    }
    let overlap = (0..clients).any(|id| server.clusters().of(NodeId(id)).count() > 1);
    assert!(overlap, "no clusters overlap: the test must be able to fail");
}

/// The same sums, added up in another order.
fn same(one: &LinearStats, other: &LinearStats) -> bool {
    let pairs =
        one.gram.packed().iter().chain(&one.moment).zip(other.gram.packed().iter().chain(&other.moment));
    one.count == other.count
        && pairs.into_iter().all(|(x, y)| (x - y).abs() <= 1e-9 * (1.0 + one.count as f64))
}

#[test]
fn full_sharing_keeps_every_observation_where_clusters_overlap() {
    // A harsh cut: similar clients are often told apart, so cliques overlap.
    let scenario = world(60, json!({ "clients": 8, "clusters": 1 }));
    let params =
        json!({ "exploration": 20, "sync_threshold": 1e-9, "test": { "cut": 0.5 }, "clusters_per_step": 50 });
    assert_nothing_is_lost(&finished::<Hetofed>(params.clone(), &scenario, 3), 8, 60);
    assert_nothing_is_lost(&finished::<HetofedPq>(params, &scenario, 3), 8, 60);
}

/// Mean and standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

fn regret(name: &str, params: &Value, scenario: &Scenario, seed: u64) -> f64 {
    catalogue()
        .simulate(name, params, scenario, seed, Options::default(), &mut |_| true)
        .unwrap()
        .ledger
        .regret
}

/// `better` has less regret than `worse`, by more than chance would allow.
fn assert_better(better: (&str, Value), worse: (&str, Value), scenario: &Scenario, seeds: u64) {
    let gain = |seed| regret(worse.0, &worse.1, scenario, seed) - regret(better.0, &better.1, scenario, seed);
    let gains: Vec<f64> = (1..=seeds).map(gain).collect();
    let (mean, error) = mean(&gains);
    assert!(mean > 3.0 * error, "{better:?} against {worse:?}: {mean} +- {error}");
}

#[test]
fn section_4_2_sharing_with_similar_clients_helps_and_with_others_harms() {
    let scenario = world(300, json!({ "clients": 20, "clusters": 2 }));
    let alone = ("linucb-alone", json!({}));
    assert_better(("hetofed-e", json!({})), alone.clone(), &scenario, 6);
    assert_better(("dyclu", json!({})), alone.clone(), &scenario, 6);
    // The same random pulls, with and without what comes of them.
    let when_it_asks = |ratio: f64| ("hetofed-async", json!({ "exploration": 30, "upload_ratio": ratio }));
    assert_better(when_it_asks(1.2), when_it_asks(1e300), &scenario, 6);
    assert_better(alone, ("sync-linucb", json!({ "sync_threshold": "dislinucb" })), &scenario, 6);
}

#[test]
fn a_client_that_never_answers_stops_nobody_where_there_is_a_deadline() {
    let mut scenario = world(200, json!({ "clients": 6, "clusters": 1 }));
    scenario.network =
        serde_json::from_value(json!({ "offline": [{ "client": 5, "from": 30, "until": 100_000 }] }))
            .unwrap();
    for name in ["hetofed", "hetofed-e"] {
        let rounds = |params: Value| {
            let report =
                catalogue().simulate(name, &params, &scenario, 1, Options::default(), &mut |_| true).unwrap();
            assert_eq!(report.ledger.refused, 0);
            report.ledger.traffic.rounds
        };
        let waiting = rounds(json!({ "exploration": 10, "sync_threshold": 5.0 }));
        let going_on = rounds(json!({ "exploration": 10, "sync_threshold": 5.0, "deadline": 3 }));
        assert!(going_on > 2 * waiting, "{name}: {going_on} against {waiting}");
    }
}

/// The others' regret and messages are what they are, whether one of them is there or not.
#[test]
fn who_is_served_when_it_asks_does_not_notice_that_another_is_away() {
    let asked = |until: u64| {
        let mut scenario = world(200, json!({ "clients": 6, "clusters": 1 }));
        scenario.network =
            serde_json::from_value(json!({ "offline": [{ "client": 5, "from": 100, "until": until }] }))
                .unwrap();
        let params = json!({ "exploration": 10, "sync_threshold": 5.0 });
        let mut simulation =
            prepare::<HetofedAsync>(&Worlds::ours(), &params, &scenario, 1, Options::default()).unwrap();
        simulation.run(&mut |_| true).unwrap();
        assert!(simulation.server().partners(NodeId(0)).contains(&NodeId(5)));
        let uploads: Vec<u64> = (0..6).map(|id| simulation.client(NodeId(id)).known().uploads()).collect();
        let versions: Vec<u64> = (0..5).map(|id| simulation.client(NodeId(id)).known().version()).collect();
        (uploads, versions)
    };
    let (there, _) = asked(101);
    let (away, views) = asked(100_000);
    assert!(away[..5].iter().all(|uploads| *uploads > 5), "all but one ask and are served: {away:?}");
    assert!(views.iter().all(|version| *version > 25), "up to the end: {views:?}");
    let (there, away): (u64, u64) = (there[..5].iter().sum(), away[..5].iter().sum());
    assert!(away * 10 > there * 8, "as often as otherwise: {away} against {there}");
}

#[test]
fn dyclu_sees_changes_and_learns_anew() {
    for changing in ["parameters", "assignment"] {
        let environment = json!({ "clients": 8, "clusters": 2, "changes": [300, 600], "changing": changing });
        let scenario = world(900, environment);
        let seen = finished::<Dyclu>(json!({}), &scenario, 1).client(NodeId(0)).changes();
        assert!((8..=17).contains(&seen), "{changing}: 8 clients, 2 changes, some move back: {seen}");
        // A detector that needs more outliers than its window holds never fires.
        let blind = ("dyclu", json!({ "window": 1 }));
        assert_better(("dyclu", json!({})), blind, &scenario, 4);
    }
    let still = world(900, json!({ "clients": 8, "clusters": 2 }));
    assert_eq!(finished::<Dyclu>(json!({}), &still, 1).client(NodeId(0)).changes(), 0);
}
