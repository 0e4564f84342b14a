//! A connection that is cut and restored, and two clients with one identity.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cahoots_testkit::soak::{Cluster, Process, free_port};
use serde_json::json;
use toml::Table;

const EXE: &str = env!("CARGO_BIN_EXE_cahoots-node");

fn serve_table() -> Table {
    toml::from_str(
        "[setting]\nusers = 2\ndim = 2\narms = 1\n[algorithm]\nkind = \"async-linucb\"\nupload_ratio = 1.0\ndownload_ratio = 1.0\n",
    )
    .unwrap()
}

/// A wire that can be cut.
struct Proxy {
    open: Arc<AtomicBool>,
    wires: Arc<Mutex<Vec<TcpStream>>>,
    address: String,
}

impl Proxy {
    fn to(target: String) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (open, wires) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(Vec::new())));
        let (accepting, held) = (open.clone(), wires.clone());
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if !accepting.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(&target) else { continue };
                held.lock().unwrap().extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                for (mut from, mut to) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)]
                {
                    std::thread::spawn(move || {
                        let mut buffer = [0; 4096];
                        while let Ok(n @ 1..) = from.read(&mut buffer) {
                            if to.write_all(&buffer[..n]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Proxy { open, wires, address }
    }

    fn cut(&self) {
        self.open.store(false, Ordering::SeqCst);
        for wire in self.wires.lock().unwrap().drain(..) {
            let _ = wire.shutdown(Shutdown::Both);
        }
    }

    fn restore(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

fn reward(cluster: &Cluster, client: usize, value: f64) {
    let app = cluster.app(client);
    let (status, answer) = app.post("/decide", &json!({ "arms": [[1.0, 0.5]] })).unwrap();
    assert_eq!(status, 200, "{answer}");
    let (status, answer) = app.post("/reward", &json!({ "id": answer["id"], "reward": value })).unwrap();
    assert_eq!((status, &answer["status"]), (200, &json!("learned")), "{answer}");
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(15);
    while !done() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_cut_connection_loses_nothing_and_the_client_works_on() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port().unwrap();
    let proxy = Proxy::to(format!("127.0.0.1:{port}"));
    let mut client = Table::new();
    client.insert("coordinator".into(), format!("http://{}", proxy.address).into());
    let mut cluster = Cluster::new(Path::new(EXE), folder.path(), 2, serve_table(), &client, 1).unwrap();
    // The cluster chose a port of its own; the proxy leads to ours.
    let file = folder.path().join("serve.toml");
    let mut table: Table = std::fs::read_to_string(&file).unwrap().parse().unwrap();
    table.insert("listen".into(), format!("127.0.0.1:{port}").into());
    std::fs::write(&file, table.to_string()).unwrap();
    cluster.start_all().unwrap();
    cluster.settle(Duration::from_secs(10)).unwrap();
    for round in 0..3 {
        reward(&cluster, 0, 1.0);
        proxy.cut();
        until("the cut is noticed", || cluster.app(0).get("/status").unwrap().1["connected"] == false);
        for _ in 0..5 {
            reward(&cluster, 0, 1.0);
        }
        let status = cluster.app(0).get("/status").unwrap().1;
        assert!(status["unconfirmed"].as_u64().unwrap() >= 5, "round {round}: {status}");
        proxy.restore();
        cluster.settle(Duration::from_secs(15)).unwrap();
    }
    let (_, status) = cluster.app(0).get("/status").unwrap();
    assert_eq!(status["uploads"], 18, "{status}");
    until("the other client hears of it", || {
        cluster.app(1).get("/status").unwrap().1["downloads"].as_u64() >= Some(3)
    });
    cluster.stop_all().unwrap();
}

#[test]
fn two_clients_with_one_identity_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster =
        Cluster::new(Path::new(EXE), folder.path(), 2, serve_table(), &Table::new(), 1).unwrap();
    cluster.start_all().unwrap();
    cluster.settle(Duration::from_secs(10)).unwrap();
    let original = folder.path().join("client0.toml");
    let mut table: Table = std::fs::read_to_string(&original).unwrap().parse().unwrap();
    table.insert("store".into(), "impostor.store".into());
    table.insert("http".into(), "127.0.0.1:0".into());
    let file = folder.path().join("impostor.toml");
    std::fs::write(&file, table.to_string()).unwrap();
    let mut impostor = Process::start(Path::new(EXE), "client", &file).unwrap();
    let status = impostor.wait(Duration::from_secs(15)).unwrap();
    let words = impostor.complaints();
    assert!(
        !status.success()
            && words.contains("already taken by another store")
            && words.contains("Give this one"),
        "{words}"
    );
    // The first one goes on undisturbed, and may come back.
    reward(&cluster, 0, 1.0);
    cluster.process(1).kill();
    cluster.start(1).unwrap();
    cluster.process(1).listening().unwrap();
    reward(&cluster, 0, 1.0);
    cluster.settle(Duration::from_secs(10)).unwrap();
    // The same store cannot be opened twice either.
    table.insert("store".into(), "client0.store".into());
    std::fs::write(&file, table.to_string()).unwrap();
    let mut second = Process::start(Path::new(EXE), "client", &file).unwrap();
    assert!(!second.wait(Duration::from_secs(15)).unwrap().success());
    assert!(second.complaints().contains("in use by another process"), "{}", second.complaints());
}

#[test]
fn wrong_federations_numbers_and_terms_are_refused_with_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster =
        Cluster::new(Path::new(EXE), folder.path(), 1, serve_table(), &Table::new(), 1).unwrap();
    cluster.start_all().unwrap();
    let original: Table =
        std::fs::read_to_string(folder.path().join("client0.toml")).unwrap().parse().unwrap();
    let terms = "seed = 5\n[setting]\nusers = 2\ndim = 2\narms = 1\n[algorithm]\nkind = \"async-linucb\"\n";
    let cases: [(&str, toml::Value, &str, bool); 3] = [
        ("federation", "elsewhere".into(), "correct `federation`", true),
        ("client", toml::Value::Integer(7), "clients 0 to 1", true),
        // Whoever knows terms of its own can decide without a coordinator, and does.
        ("terms", toml::Value::Table(terms.parse().unwrap()), "remove its [terms]", false),
    ];
    for (i, (key, value, words, ends)) in cases.into_iter().enumerate() {
        let mut table = original.clone();
        table.insert("client".into(), toml::Value::Integer(1));
        table.insert("store".into(), format!("wrong{i}.store").into());
        table.insert("http".into(), "127.0.0.1:0".into());
        table.insert(key.into(), value);
        let file = folder.path().join(format!("wrong{i}.toml"));
        std::fs::write(&file, table.to_string()).unwrap();
        let mut process = Process::start(Path::new(EXE), "client", &file).unwrap();
        if ends {
            assert!(!process.wait(Duration::from_secs(15)).unwrap().success(), "{key}");
        } else {
            let until = Instant::now() + Duration::from_secs(15);
            while !process.complaints().contains("decides alone") {
                assert!(Instant::now() < until, "{key}: {}", process.complaints());
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        assert!(process.complaints().contains(words), "{key}: {}", process.complaints());
    }
}
