//! Observations on a bad network: what the server has merged and what clients have not sent yet is what
//! was observed, each reward once.

use cahoots_algorithms::async_linucb::AsyncLinucb;
use cahoots_algorithms::async_linucb_am::AsyncLinucbAm;
use cahoots_algorithms::hetofed::{Hetofed, HetofedE};
use cahoots_algorithms::hetofed_async::HetofedAsync;
use cahoots_algorithms::sync_linucb::SyncLinucb;
use cahoots_core::{Algorithm, Buffered, NodeId};
use cahoots_sim::driver::Simulation;
use cahoots_sim::run::Scenario;
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::{scenarios, suite};
use serde_json::{Value, json};

/// Runs until nothing is on its way, and adds up who holds how many observations.
fn assert_every_reward_is_somewhere<A: Algorithm>(
    params: &Value,
    scenario: &Scenario,
    known: fn(&A::Client) -> &Buffered,
    merged: fn(&Simulation<A>, clients: u32) -> u64,
) {
    let simulation = suite::come_to_rest::<A>(&Worlds::ours(), params, scenario, suite::bad_network());
    let clients = simulation.states().len() as u32 - 1;
    let not_sent: u64 = (0..clients).map(|i| known(simulation.client(NodeId(i))).pending_count()).sum();
    let merged = merged(&simulation, clients);
    let rewards = simulation.ledger().steps;
    assert_eq!(merged + not_sent, rewards, "{} {params}: {merged} merged, {not_sent} not sent", A::NAME);
    assert!(merged > rewards / 4, "{} {params}: hardly anything was sent: {merged} of {rewards}", A::NAME);
}

#[test]
fn asynchronous_servers_merge_every_observation_once() {
    for ratio in [1.0, 1.2, 3.0] {
        assert_every_reward_is_somewhere::<AsyncLinucb>(
            &json!({ "ratio": ratio }),
            &scenarios::all()[0],
            |client| client.known(),
            |simulation, _| simulation.server().view().stats().count,
        );
        assert_every_reward_is_somewhere::<AsyncLinucbAm>(
            &json!({ "ratio": ratio, "warm_up": false }),
            &scenarios::all()[3],
            |client| client.known(),
            |simulation, _| simulation.server().view().stats().count,
        );
    }
}

#[test]
fn synchronous_rounds_merge_every_observation_once() {
    for params in [json!({ "sync_threshold": 0.5 }), json!({ "sync_threshold": 0.5, "deadline": 3 })] {
        assert_every_reward_is_somewhere::<SyncLinucb>(
            &params,
            &scenarios::all()[0],
            |client| client.known(),
            |simulation, _| simulation.server().view().stats().count,
        );
    }
}

#[test]
fn clustering_servers_keep_every_observation_once() {
    let params = json!({ "exploration": 6, "sync_threshold": 1.0 });
    assert_every_reward_is_somewhere::<Hetofed>(
        &params,
        &scenarios::all()[1],
        |client| client.known(),
        |simulation, clients| {
            (0..clients).filter_map(|i| simulation.server().own(NodeId(i))).map(|own| own.count).sum()
        },
    );
    assert_every_reward_is_somewhere::<HetofedAsync>(
        &params,
        &scenarios::all()[1],
        |client| client.known(),
        |simulation, clients| {
            (0..clients).filter_map(|i| simulation.server().own(NodeId(i))).map(|own| own.count).sum()
        },
    );
    assert_every_reward_is_somewhere::<HetofedE>(
        &json!({ "sync_threshold": 1.0 }),
        &scenarios::all()[1],
        |client| client.known(),
        |simulation, clients| {
            (0..clients).filter_map(|i| simulation.server().own(NodeId(i))).map(|own| own.count).sum()
        },
    );
}
