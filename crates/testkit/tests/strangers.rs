//! An algorithm that this crate has never heard of, deployed: its coordinator and its clients talk over the
//! network and end in the simulator's bytes.

use std::sync::Arc;
use std::time::Duration;

use cahoots_node::client::{Client, ClientConfig};
use cahoots_node::coordinator::{Coordinator, CoordinatorConfig};
use cahoots_node::store::Sync;
use cahoots_node::{Known, Terms};
use cahoots_sim::run::Scenario;
use cahoots_testkit::lockstep::{self, known};
use cahoots_testkit::probe::ExploreThenCommit;
use serde_json::json;
use tokio::net::TcpListener;

fn terms(known: &Known) -> Result<Terms, cahoots_node::NodeError> {
    let scenario: Scenario = serde_json::from_value(json!({ "horizon": 40, "environment":
        { "kind": "arms", "arrivals": "all", "means": [[0.9, 0.5, 0.1], [0.2, 0.8, 0.4], [0.3, 0.6, 0.7]] } }))
    .unwrap();
    lockstep::terms(known, "explore-then-commit", &toml::from_str("pulls = 4").unwrap(), &scenario, 5)
}

#[test]
fn a_strangers_algorithm_ends_in_the_simulators_bytes() {
    let known = known(lockstep::catalogue().algorithm::<ExploreThenCommit>());
    let terms = terms(&known).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (second, federation) = (Duration::from_secs(1), "strangers".to_string());
    let mut coordinator = Coordinator::start(CoordinatorConfig {
        warm_start: None,
        plan: None,
        known: known.clone(),
        federation: federation.clone(),
        store: folder.path().join("coordinator"),
        sync: Sync::Memory,
        terms: terms.clone(),
        tick: second,
        snapshot_every: 1000,
        limits: Default::default(),
        security: Default::default(),
    })
    .unwrap();
    let finished = coordinator.finished().unwrap();
    let coordinator = Arc::new(coordinator);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = coordinator.clone();
    runtime.spawn(async move { serving.serve(listener).await });
    let open = |client| {
        Client::open(ClientConfig {
            known: known.clone(),
            federation: federation.clone(),
            coordinator: Some(url.clone().into()),
            client,
            store: folder.path().join(format!("client-{client}")),
            sync: Sync::Memory,
            terms: None,
            tick: second,
            expiry: Duration::from_secs(3600),
            default_reward: None,
            snapshot_every: 1000,
            longest_pause: second,
            limits: Default::default(),
            security: Default::default(),
            privacy: None,
            gain: Default::default(),
            telemetry: Default::default(),
            apprentice: None,
            personalizer: Default::default(),
            decisions: None,
        })
        .unwrap()
    };
    let clients: Vec<Client> = (0..3).map(open).collect();
    let states = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), finished).await });
    let expected = known.lockstep().unwrap().final_states(&terms).unwrap();
    assert!(states.expect("ends in time").unwrap() == expected, "other bytes than the simulator's");
    clients.into_iter().for_each(Client::stop);
}

#[test]
fn who_does_not_know_it_says_so() {
    let error = terms(&lockstep::ours()).unwrap_err().to_string();
    assert_eq!(error, "there is no algorithm \"explore-then-commit\"");
    let strangers = known(lockstep::catalogue().algorithm::<ExploreThenCommit>());
    let error = terms(&strangers).unwrap().live(&lockstep::ours()).map(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("this version has no algorithm \"explore-then-commit\""), "{error}");
}
