//! Who waits for whom over which links, and what that costs: against the theorems and Table 2.

use cahoots_algorithms::dp_mab::{DdpMab, GraphShape, HdpMab, components};
use cahoots_core::{Algorithm, NodeId, Topology};
use serde_json::json;

use crate::{bernoulli, quick, run, world};

/// Every topology: link-slots are edges times diameter per round, exactly; fewer edges advertise, fewer carry
/// data.
#[test]
fn theorem_3_link_slots_are_edges_times_diameter() {
    for topology in [
        json!("star"),
        json!("ring"),
        json!("complete"),
        json!({ "random": 0.4 }),
        json!({ "regular": 3 }),
        json!({ "grid": 4 }),
        json!({ "small-world": { "neighbours": 4, "rewire": 0.3 } }),
        json!({ "edges": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 8], [8, 9], [9, 10], [10, 11]] }),
    ] {
        let scenario = world(300, 12, bernoulli(), "all");
        let params = quick(json!({ "topology": topology, "peer_link_cost": 2.5 }));
        let simulation = run::<DdpMab>(&params, &scenario, 5, false);
        let graph: GraphShape = serde_json::from_value(topology.clone()).unwrap();
        let (graph, _) = DdpMab::topology(
            &DdpMab::check(serde_json::from_value(json!({ "topology": graph })).unwrap(), &setting(12))
                .unwrap(),
        )
        .unwrap();
        let (ledger, rounds) = (simulation.ledger(), simulation.ledger().traffic.rounds as f64);
        assert!(rounds >= 2.0, "{topology}: {rounds} rounds");
        let slots = f64::from(graph.diameter());
        let links = graph.edges() as f64 * slots;
        let metric = |name: &str| ledger.metrics[name];
        assert_eq!(metric("link_slots"), links * rounds, "{topology}");
        assert_eq!(simulation.cost(), 2.5 * links * rounds, "{topology}");
        assert_eq!(metric("waiting_pulls"), 12.0 * slots * rounds, "{topology}");
        let (advertising, carrying) = by_hand(&graph);
        assert_eq!(metric("advertising_link_slots"), advertising * rounds, "{topology}");
        assert_eq!(metric("data_link_slots"), carrying * rounds, "{topology}");
    }
}

fn setting(clients: usize) -> cahoots_core::Setting {
    cahoots_core::Setting::k_armed(clients, 3).with_horizon(300)
}

/// Edges that advertise and edges that carry data, over the slots of a round: from distances alone. In slot s
/// a client tells of those that are s - 1 hops away; a neighbour lacks those that are s hops from it.
fn by_hand(graph: &Topology) -> (f64, f64) {
    let distances: Vec<Vec<u32>> =
        (0..graph.len() as u32).map(|i| graph.distances(NodeId(i)).into_iter().flatten().collect()).collect();
    let (mut advertising, mut carrying) = (0, 0);
    for slot in 1..=graph.diameter() {
        for (a, b) in graph.edge_list() {
            let (a, b) = (&distances[a.index()], &distances[b.index()]);
            advertising += u64::from(a.contains(&(slot - 1)) || b.contains(&(slot - 1)));
            let carries = |from: &[u32], to: &[u32]| {
                from.iter().zip(to).any(|(near, far)| *near == slot - 1 && *far == slot)
            };
            carrying += u64::from(carries(a, b) || carries(b, a));
        }
    }
    (advertising as f64, carrying as f64)
}

#[test]
fn the_grid_of_seven_by_seven_has_its_three_counts() {
    let scenario = world(60, 49, bernoulli(), "all");
    let params = quick(json!({ "topology": { "grid": 7 } }));
    let ledger = run::<DdpMab>(&params, &scenario, 5, false).ledger().clone();
    let rounds = ledger.traffic.rounds as f64;
    let counts = ["link_slots", "advertising_link_slots", "data_link_slots"];
    assert_eq!(counts.map(|name| ledger.metrics[name] / rounds), [1008.0, 892.0, 816.0]);
}

/// Theorem 4's one-way links and all edges, of a round with c1 = 50, c2 = 1.
#[test]
fn table_2_costs_of_a_round_both_ways() {
    let even = json!([20, 20, 20, 20, 20]);
    let ones = json!(vec![1; 100]);
    for (components, topology, one_way, all_edges) in [
        (even.clone(), "complete", 345.0, 1200.0),
        (json!([53, 24, 10, 6, 7]), "complete", 345.0, 1985.0),
        (json!([100]), "complete", 149.0, 5000.0),
        (even, "star", 345.0, 345.0),
        (ones, "complete", 5000.0, 5000.0),
    ] {
        let scenario = world(60, 100, bernoulli(), "all");
        let cost = |counting: &str| {
            let params =
                quick(json!({ "components": components, "topology": topology, "counting": counting }));
            let simulation = run::<HdpMab>(&params, &scenario, 5, false);
            let rounds = simulation.ledger().traffic.rounds as f64;
            assert!(rounds >= 1.0);
            let metrics = &simulation.ledger().metrics;
            let peers = |name| metrics.get(name).copied().unwrap_or(0.0) / rounds;
            let links = match counting {
                "one-way" => peers("one_way_links"),
                _ => peers("link_slots"),
            };
            // What was counted as it happened is what the theorem says.
            assert_eq!(50.0 * peers("server_links") + links, simulation.cost() / rounds);
            simulation.cost() / rounds
        };
        assert_eq!((cost("one-way"), cost("all-edges")), (one_way, all_edges), "{components} {topology}");
    }
}

#[test]
fn algorithm_4_waits_for_the_eccentricity_of_its_sink() {
    let scenario = world(400, 12, bernoulli(), "all");
    let params =
        quick(json!({ "components": [{ "size": 7, "topology": { "grid": 7 } }, 5], "topology": "ring" }));
    let simulation = run::<HdpMab>(&params, &scenario, 5, false);
    let rounds = simulation.ledger().traffic.rounds as f64;
    // A path of seven has its middle three hops from its ends, a ring of five has none nearer than two.
    assert_eq!(simulation.ledger().metrics["waiting_pulls"], 12.0 * 3.0 * rounds);
    assert_eq!(simulation.ledger().metrics["one_way_links"], (12.0 + 6.0) * rounds);
    assert!(simulation.client(NodeId(3)).is_sink() && simulation.client(NodeId(7)).is_sink());
    let sinks = (0..12).filter(|i| simulation.client(NodeId(*i)).is_sink()).count();
    assert_eq!(sinks, 2);
    assert_eq!(components(&Topology::star(9))[0].sink, NodeId(0));
}
