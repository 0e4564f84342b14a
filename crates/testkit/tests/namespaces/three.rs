//! Three machines with a NATS server and a coordinator each, clients on a fourth, and a switch between them whose ports go dark: a leader
//! that nobody reaches, and a server that the others do not.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cahoots_testkit::nats::{
    Apps, Coordinators, NatsCluster, Outputs, POWERS, Place, Replica, Serving, Watch, balance, program,
    same_state, serve,
};
use cahoots_testkit::soak::Powers;
use toml::Value;

use super::{EXE, elsewhere, ip, move_into, until};

const MACHINES: usize = 3;
const PATIENCE: Duration = Duration::from_secs(90);

/// Namespaces with a cable to a switch each; gone when it is dropped.
struct Machines {
    names: Vec<String>,
    switch: String,
}

impl Machines {
    /// Makes them, and moves this thread to the last one.
    fn new() -> Machines {
        let name = |end: &str| format!("cahoots-{}-{end}", std::process::id());
        let names = (0..=MACHINES).map(|i| name(&format!("m{i}"))).collect();
        let machines = Machines { names, switch: name("switch") };
        let switch = &machines.switch;
        ip(&format!("netns add {switch}"));
        ip(&format!("-n {switch} link add switch type bridge"));
        ip(&format!("-n {switch} link set switch up"));
        for (i, machine) in machines.names.iter().enumerate() {
            ip(&format!("netns add {machine}"));
            ip(&format!("-n {machine} link add wire type veth peer name port{i} netns {switch}"));
            ip(&format!("-n {switch} link set port{i} master switch"));
            ip(&format!("-n {switch} link set port{i} up"));
            ip(&format!("-n {machine} addr add {}/24 dev wire", address(i)));
            ip(&format!("-n {machine} link set wire up"));
            ip(&format!("-n {machine} link set lo up"));
        }
        move_into(&machines.names[MACHINES]);
        machines
    }

    fn port(&self, machine: usize, state: &str) {
        ip(&format!("-n {} link set port{machine} {state}", self.switch));
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for namespace in self.names.iter().chain([&self.switch]) {
            let _ = Command::new("ip").args(["netns", "delete", namespace]).status();
        }
    }
}

fn address(machine: usize) -> String {
    format!("10.231.78.{}", machine + 1)
}

fn place(folder: &Path, machines: &Machines, i: usize) -> Place {
    let at = |port: u16| -> SocketAddr { format!("{}:{port}", address(i)).parse().unwrap() };
    let program = elsewhere(folder, &machines.names[i], &program().unwrap());
    Place { clients: at(4222), routes: at(6222), monitor: at(8222), program }
}

/// What a coordinator says; who waits for servers is slow to say anything.
fn said(coordinators: &Coordinators, i: usize) -> Option<Replica> {
    coordinators.replica(i).ok()
}

/// Waits until another than this one leads, in this epoch or a later one, and writes.
fn grows_without(coordinators: &Coordinators, gone: usize, epoch: u64) {
    let last = || {
        let others = (0..MACHINES).filter(|i| *i != gone).filter_map(|i| said(coordinators, i));
        others.filter(|said| said.leads() && said.epoch >= epoch).map(|said| said.sequence).max()
    };
    let mut first = None;
    until("another leads, and the log grows", || match (first, last()) {
        (Some(first), Some(now)) => now > first + 5,
        (None, found) => {
            first = found;
            false
        }
        _ => false,
    });
}

#[test]
#[ignore = "needs root and iproute2"]
fn a_machine_that_nobody_reaches_is_done_without() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let machines = Machines::new();
    let places = (0..MACHINES).map(|i| place(folder, &machines, i)).collect();
    let mut servers = NatsCluster::at(&folder.join("nats"), places).unwrap();
    servers.start_all().unwrap();
    servers.await_ready(PATIENCE).unwrap();

    let powers = Powers { clients: 2, coordinates: 20, powers: POWERS };
    let mut terms = serve(&powers).unwrap();
    terms.insert("plain_text".into(), Value::Boolean(true));
    terms.insert("admit".into(), "anyone".into());
    let serving = Serving { serve: terms, lease: 1.0, single: false, monitor: servers.monitor_urls() };
    let mut coordinators = Coordinators::new(Path::new(EXE), &folder.join("coordinators"), serving).unwrap();
    for i in 0..MACHINES {
        let there = elsewhere(folder, &machines.names[i], Path::new(EXE));
        let listen = format!("{}:7700", address(i));
        coordinators.add_at(&servers.urls(), there, listen, "127.0.0.1:7701".into()).unwrap();
    }
    coordinators.start_all().unwrap();
    coordinators.await_one_leader(PATIENCE).unwrap();
    let pace = Duration::from_millis(80);
    let mut apps =
        Apps::start(Path::new(EXE), &folder.join("clients"), &coordinators, powers, pace, 4 * PATIENCE)
            .unwrap();
    let watch = Watch::start((0..MACHINES).map(|i| coordinators.asker(i)));
    let outputs = Outputs::start(powers.clients as u32, coordinators.addresses()).unwrap();

    // The machine of the leader: another one leads, in a later epoch, and the log grows without it.
    let leader = coordinators.await_one_leader(PATIENCE).unwrap();
    let epoch = said(&coordinators, leader).unwrap().epoch;
    machines.port(leader, "down");
    grows_without(&coordinators, leader, epoch + 1);
    machines.port(leader, "up");
    coordinators.await_one_leader(PATIENCE).unwrap();
    servers.await_current(PATIENCE).unwrap();
    same_state(&coordinators).unwrap();

    // A machine whose server leads the stream. Whoever leads the coordinators leads on, unless it is there.
    let server = servers.log_leader().unwrap();
    machines.port(server, "down");
    grows_without(&coordinators, server, epoch + 1);
    machines.port(server, "up");
    coordinators.await_one_leader(PATIENCE).unwrap();
    servers.await_current(PATIENCE).unwrap();

    let diaries = apps.finish(PATIENCE).unwrap();
    let (seen, outputs) = (watch.seen().unwrap(), outputs.said().unwrap());
    drop(watch);
    // One more, where the clients are, that knows nothing but the log; it shows what all have.
    let fresh = coordinators.add(&servers.urls()).unwrap();
    coordinators.start_all().unwrap();
    coordinators.await_one_leader(PATIENCE).unwrap();
    same_state(&coordinators).unwrap();
    let balance = balance(&coordinators, fresh, &powers, &diaries).unwrap();
    // That all have the same is asked above, when nothing moves; whether two are met at one message on the way is chance here.
    assert!(seen.epochs > 1, "{seen:?}");
    assert!(outputs.numbers > 0 && balance.acknowledged > 0, "{outputs:?} {balance:?}");
    apps.stop().unwrap();
    (0..=fresh).for_each(|i| coordinators.stop(i).unwrap());
}
