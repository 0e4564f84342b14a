//! Federations whose log NATS servers keep, while coordinators and servers are killed, frozen and cut off: a small slice of what
//! `./soak nats` does. Whatever happens, rewards that were acknowledged are merged once, all coordinators and one that reads the log for
//! the first time have the same, and what two of them say to a client under one number is one message.

use std::path::Path;
use std::time::Duration;

use cahoots_testkit::nats::{Fault, NatsRound, Outcome, Server};

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
