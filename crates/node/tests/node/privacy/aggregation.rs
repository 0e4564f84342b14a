//! Sums over groups among real nodes: nobody is shown a part, and who fails in mid-round is done without.

use std::sync::Arc;

use cahoots_algorithms::{dp_mab, private, registry};
use cahoots_core::drive::saved_server;
use cahoots_core::{NodeId, Setting};
use cahoots_node::Known;
use cahoots_node::client::{Arms, Client};

use crate::common::{Federation, terms, until};

const CLIENTS: u32 = 6;

fn observe(client: &Client, user: u32) {
    let arms = [vec![0.6, 0.8], vec![1.0, 0.0]];
    let decision = client.decide(Some(user), Arms::Features(&arms)).unwrap();
    client.reward(decision.id, 0.25).unwrap();
}

/// Observations in the coordinator's last sum.
fn summed(federation: &Federation) -> u64 {
    saved_server::<private::Merger>(&federation.saved()).unwrap().observations()
}

#[test]
fn groups_are_summed_with_whoever_is_there() {
    let known = Arc::new(Known::new(registry::ours()));
    let setting =
        Setting::linear(CLIENTS as usize, 2, 2).with_hosts((0..CLIENTS).map(NodeId)).with_horizon(1 << 20);
    let params = "dp_epsilon = 1e6\ndp_delta = 1e-5\ntrust = \"group\"\nreleases = 12\nfirst_release = 8";
    let federation = Federation::start(&known, terms(&known, "private-linucb", params, setting));
    let mut clients: Vec<Client> = (0..CLIENTS).map(|client| federation.client(client)).collect();
    for (user, client) in (0..).zip(&clients) {
        until("it joins", || client.status().joined);
        (0..10).for_each(|_| observe(client, user));
    }
    until("all are in a sum", || summed(&federation) == 60);
    for client in &clients {
        let privacy = client.privacy();
        assert_eq!((privacy.withdrawn, privacy.unprotected, privacy.spent.len()), (None, 0, 1));
        assert!(privacy.spent[0].epsilon <= 1e6, "{:?}", privacy.spent);
    }
    // One is gone: the others wait for it for a while, and go on.
    clients.pop().unwrap().stop();
    (0..).zip(&clients).for_each(|(user, client)| observe(client, user));
    until("those who are left are in a sum", || summed(&federation) == 55);
    // It is back, with all that it had, and a new process's secrets.
    let back = federation.client(CLIENTS - 1);
    until("it joins", || back.status().joined);
    observe(&back, CLIENTS - 1);
    clients.push(back);
    until("it is in a sum again", || summed(&federation) == 66);
    let refused = federation.forget(2).unwrap_err();
    assert!(refused.contains("sums over groups do not show what one client has contributed"), "{refused}");
    clients.into_iter().for_each(|client| client.stop());
    federation.stop();
}

/// Where a client's elimination stands: what is left, and whether that is one arm.
fn epochs(federation: &Federation) -> (u64, usize) {
    let server = saved_server::<dp_mab::Server>(&federation.saved()).unwrap();
    (server.epoch(), server.active().len())
}

/// Shares of noise, hidden: one client stops in the middle of everything and comes back, all settle on the best arm, and
/// each has spent what was asked.
#[test]
fn sums_of_rewards_are_all_that_a_coordinator_of_cdp_mab_sees() {
    let known = Arc::new(Known::new(registry::ours()));
    let setting = Setting::k_armed(CLIENTS as usize, 2).with_horizon(10_000);
    let params = "rounds = 3\ngap = 0.3\ndp_epsilon = 8.0\nprivacy = \"central\"";
    let federation = Federation::start(&known, terms(&known, "cdp-mab", params, setting));
    let mut clients: Vec<Client> = (0..CLIENTS).map(|client| federation.client(client)).collect();
    clients.iter().for_each(|client| until("it joins", || client.status().joined));
    let pull = |client: &Client| {
        let decision = client.decide(None, Arms::Plain(2)).unwrap();
        client.reward(decision.id, f64::from(decision.arm().0)).unwrap();
    };
    let mut restarts = 0;
    for _ in 0..5_000 {
        clients.iter().for_each(&pull);
        let (epoch, left) = epochs(&federation);
        if left == 1 {
            break;
        }
        // Once in every epoch, wherever its round stands then.
        if epoch > restarts {
            restarts = epoch;
            clients.pop().unwrap().stop();
            let back = federation.client(CLIENTS - 1);
            until("it joins", || back.status().joined);
            clients.push(back);
        }
    }
    until("one arm is left", || epochs(&federation).1 == 1);
    assert!(restarts > 0);
    for client in &clients {
        let privacy = client.privacy();
        assert_eq!((privacy.withdrawn, privacy.unprotected, privacy.spent.len()), (None, 0, 1));
        assert!(privacy.spent[0].epsilon <= 8.0 && privacy.spent[0].epsilon > 7.99, "{:?}", privacy.spent);
        until("it plays the best arm", || client.decide(None, Arms::Plain(2)).unwrap().arm().0 == 1);
    }
    clients.into_iter().for_each(|client| client.stop());
    federation.stop();
}
