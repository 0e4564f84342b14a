//! Processes on machines of their own, as far as the network can tell: a coordinator and its clients in two network
//! namespaces, TLS between them, and a cable that is pulled and plugged in again. Needs root and `ip`; `./check` runs it
//! where it can, and says so where it cannot. What coordinators and NATS servers on three machines do is in [`three`].

mod three;

use std::fs::{File, Permissions};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cahoots_node::identity::authority::Keys;
use cahoots_testkit::soak::{Cluster, FEDERATION, Process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::json;
use toml::{Table, Value};

const EXE: &str = env!("CARGO_BIN_EXE_cahoots-node");
/// The two ends of the cable.
const SERVER: &str = "10.231.77.1";
const CLIENTS: &str = "10.231.77.2";
const PORT: u16 = 7700;
const REWARDS_PER_ROUND: u64 = 8;

fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).output().expect("`ip`, of iproute2");
    assert!(done.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Moves this thread, and whatever it starts from now on.
fn move_into(namespace: &str) {
    let namespace = File::open(Path::new("/run/netns").join(namespace)).expect("it was made");
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).expect("as root");
}

/// Two namespaces with a cable between them; gone when it is dropped.
struct Machines {
    server: String,
    clients: String,
}

impl Machines {
    /// Makes them, and moves this thread to the clients'.
    fn new() -> Machines {
        let name = |end: &str| format!("cahoots-{}-{end}", std::process::id());
        let machines = Machines { server: name("server"), clients: name("clients") };
        let Machines { server, clients } = &machines;
        ip(&format!("netns add {server}"));
        ip(&format!("netns add {clients}"));
        ip(&format!("-n {clients} link add wire1 type veth peer name wire0 netns {server}"));
        for (namespace, link, address) in [(server, "wire0", SERVER), (clients, "wire1", CLIENTS)] {
            ip(&format!("-n {namespace} addr add {address}/30 dev {link}"));
            ip(&format!("-n {namespace} link set {link} up"));
            ip(&format!("-n {namespace} link set lo up"));
        }
        move_into(&machines.clients);
        machines
    }

    fn cable(&self, state: &str) {
        ip(&format!("-n {} link set wire0 {state}", self.server));
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for namespace in [&self.server, &self.clients] {
            let _ = Command::new("ip").args(["netns", "delete", namespace]).status();
        }
    }
}

/// A program that runs another one in a namespace.
fn elsewhere(folder: &Path, namespace: &str, program: &Path) -> PathBuf {
    let name = program.file_name().expect("a program").to_string_lossy();
    let script = folder.join(format!("{name}-in-{namespace}"));
    let text = format!("#!/bin/sh\nexec ip netns exec {namespace} {} \"$@\"\n", program.display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, Permissions::from_mode(0o700)).unwrap();
    script
}

fn edit(file: &Path, change: impl FnOnce(&mut Table)) {
    let mut table: Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
    change(&mut table);
    std::fs::write(file, table.to_string()).unwrap();
}

fn keys(folder: &str) -> Value {
    Value::Table([("keys".to_string(), folder.into())].into_iter().collect())
}

fn reward(cluster: &Cluster, client: usize) {
    let app = cluster.app(client);
    let (status, answer) = app.post("/decide", &json!({ "arms": [[1.0, 0.5]] })).unwrap();
    assert_eq!(status, 200, "{answer}");
    let (status, answer) = app.post("/reward", &json!({ "id": answer["id"], "reward": 1.0 })).unwrap();
    assert_eq!((status, &answer["status"]), (200, &json!("learned")), "{answer}");
}

fn connected(cluster: &Cluster, client: usize) -> bool {
    cluster.app(client).get("/status").unwrap().1["connected"] == true
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "needs root and iproute2"]
fn a_cable_that_is_pulled_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let machines = Machines::new();
    let made = Keys::init(&folder.path().join("keys"), FEDERATION, &[SERVER.into()], 30).unwrap();
    for client in 0..2 {
        made.client(client, 30).unwrap();
    }
    let serve = "[setting]\nusers = 2\ndim = 2\narms = 1\n[algorithm]\nkind = \"async-linucb\"\nratio = 1.0\n\
                 [limits]\nidle = 1.0\n";
    let mut client = Table::new();
    client.insert("coordinator".into(), format!("https://{SERVER}:{PORT}").into());
    let mut cluster =
        Cluster::new(Path::new(EXE), folder.path(), 2, serve.parse().unwrap(), &client, 1).unwrap();
    edit(&folder.path().join("serve.toml"), |table| {
        table.insert("listen".into(), format!("{SERVER}:{PORT}").into());
        table.insert("tls".into(), keys("keys/coordinator"));
    });
    for i in 0..2 {
        edit(&folder.path().join(format!("client{i}.toml")), |table| {
            table.insert("tls".into(), keys(&format!("keys/client-{i}")));
        });
    }
    let there = elsewhere(folder.path(), &machines.server, Path::new(EXE));
    let start = || {
        let mut process = Process::start(&there, "serve", &folder.path().join("serve.toml")).unwrap();
        process.listening().unwrap();
        process
    };
    let mut coordinator = start();
    for i in 1..=2 {
        cluster.start(i).unwrap();
        cluster.process(i).listening().unwrap();
    }
    cluster.settle(Duration::from_secs(20)).unwrap();

    let mut given = 0;
    for round in 0..3 {
        machines.cable("down");
        for _ in 0..REWARDS_PER_ROUND {
            reward(&cluster, 0);
            given += 1;
        }
        match round {
            // It was short, nobody noticed.
            0 => {}
            1 => {
                coordinator.kill();
                coordinator = start();
            }
            // Silence is all that tells of it: nothing is closed, and nothing comes.
            _ => until("the silence is noticed", || !connected(&cluster, 0)),
        }
        machines.cable("up");
        cluster.settle(Duration::from_secs(60)).unwrap();
    }
    let (_, status) = cluster.app(0).get("/status").unwrap();
    assert_eq!(status["uploads"], given, "{status}");
    until("the other client hears of it", || {
        cluster.app(1).get("/status").unwrap().1["downloads"].as_u64() >= Some(1)
    });
    cluster.process(1).stop().unwrap();
    cluster.process(2).stop().unwrap();
    coordinator.stop().unwrap();
}
