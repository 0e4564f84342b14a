//! Federations whose log NATS servers keep, while coordinators and servers are killed, frozen and cut off: a small slice of what
//! `./soak nats` does. Whatever happens, rewards that were acknowledged are merged once, all coordinators and one that reads the log for
//! the first time have the same, and what two of them say to a client under one number is one message.

use std::path::Path;
use std::time::Duration;

use cahoots_node::control::{self, Order};
use cahoots_testkit::nats::{Coordinators, Fault, NatsCluster, NatsRound, Outcome, Server, Serving};

const SECOND: Duration = Duration::from_secs(1);

fn suffer(faults: &[Fault]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let round = NatsRound {
        servers: 3,
        coordinators: 3,
        clients: 2,
        coordinates: 40,
        pace: Duration::from_millis(80),
        lease: 1.0,
        seed: 1,
        faults: faults.to_vec(),
    };
    let exe = Path::new(env!("CARGO_BIN_EXE_cahoots-node"));
    let outcome = round.run(exe, folder.path(), &mut |line| eprintln!("{line}"));
    let outcome =
        outcome.unwrap_or_else(|error| panic!("{error}\nwhat it left is in {}", folder.keep().display()));
    eprintln!("{outcome}");
    assert!(outcome.balance.acknowledged > 0 && outcome.seen.compared > 0, "{outcome}");
    assert!(outcome.said.numbers > 0, "{outcome}");
    outcome
}

#[test]
fn coordinators_come_and_go() {
    let outcome = suffer(&[
        Fault::KillLeader,
        Fault::ClockJump(0, 86_400),
        Fault::ClockJump(1, -86_400),
        Fault::KillStandby,
        // Beyond the lease: another leads, and this one wakes up as if it still did.
        Fault::FreezeLeader(4 * SECOND),
        Fault::CutLeader(4 * SECOND),
        Fault::KillCoordinators,
    ]);
    assert_eq!((outcome.harm.kills, outcome.harm.stops, outcome.harm.cuts), (5, 1, 1), "{outcome}");
    assert!(outcome.seen.epochs > 1, "{outcome}");
}

#[test]
fn servers_come_and_go() {
    let outcome = suffer(&[
        Fault::KillServer(Server::Leader, SECOND),
        Fault::LoseAnswers(3),
        Fault::KillServersBut(0, 2 * SECOND),
        Fault::CutServer(Server::Leader, 8 * SECOND),
    ]);
    assert_eq!((outcome.harm.server_kills, outcome.harm.cuts), (3, 1), "{outcome}");
}

#[test]
fn a_log_that_has_lost_its_end_stops_all_and_clients_bring_back_what_is_missing() {
    let outcome = suffer(&[Fault::RollBackServers, Fault::RemoveStream]);
    assert_eq!((outcome.harm.disks, outcome.harm.halts), (3, 2), "{outcome}");
}

#[test]
fn who_stands_by_says_who_knows_the_members_and_who_leads_ends_though_no_server_answers() {
    let folder = tempfile::tempdir().unwrap();
    let mut servers = NatsCluster::start(folder.path(), 1).unwrap();
    let terms = Serving {
        serve: "[algorithm]\nkind = \"async-linucb\"\n[setting]\nusers = 2\ndim = 2\narms = 2\n"
            .parse()
            .unwrap(),
        lease: 1.0,
        single: true,
        monitor: servers.monitor_urls(),
    };
    let exe = Path::new(env!("CARGO_BIN_EXE_cahoots-node"));
    let mut coordinators = Coordinators::new(exe, folder.path(), terms).unwrap();
    for _ in 0..2 {
        coordinators.add(&servers.urls()).unwrap();
    }
    coordinators.start_all().unwrap();
    let leader = coordinators.await_one_leader(60 * SECOND).unwrap();
    let members = |i: usize| {
        let store = folder.path().join(format!("{}.store", coordinators.name(i)));
        control::ask(&store, &Order::Members)
    };
    assert_eq!(members(leader).unwrap().unwrap(), serde_json::json!([]));
    let refused = members(1 - leader).unwrap_err().to_string();
    assert!(refused.contains(&format!("ask {}", coordinators.name(leader))), "{refused}");

    servers.freeze(0);
    let said = coordinators.stop(leader).unwrap_err();
    assert!(said.contains("does not answer") || said.contains("no answer"), "{said}");
    servers.thaw(0);
    coordinators.stop(1 - leader).unwrap();
}
