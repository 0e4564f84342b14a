//! Apps that ask for too much: of memory, of time, of places.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cahoots_core::Setting;
use cahoots_node::client::{Client, ClientConfig};
use cahoots_node::config::ClientFile;
use cahoots_node::http;
use cahoots_node::limits::{ClientLimits, Refusals};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use crate::common::stranger::{alone, resident};
use crate::common::{FEDERATION, PATIENCE, known, runtime, terms, until};

/// A client with two features per arm, on its own.
struct Served {
    runtime: Runtime,
    client: Arc<Client>,
    address: String,
    _folder: tempfile::TempDir,
}

fn served(limits: ClientLimits) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let terms = terms(&known(), "async-linucb", "upload_ratio = inf", Setting::linear(1, 2, 2));
    let config = Client::builder(known(), FEDERATION, 0).store(folder.path().join("client")).terms(terms);
    let client = Arc::new(Client::open(ClientConfig { limits, ..config.config() }).unwrap());
    let runtime = runtime();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    runtime.spawn(http::serve(listener, client.clone()));
    Served { runtime, client, address, _folder: folder }
}

impl Served {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).await.unwrap()
    }

    /// The status and the words of an answer.
    async fn post(&self, path: &str, body: &str) -> (u16, Value) {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        let mut stream = self.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        // Whoever is refused early need not send the rest.
        let _ = stream.write_all(body.as_bytes()).await;
        answer(&mut stream).await
    }

    fn ask(&self, path: &str, body: &str) -> (u16, Value) {
        self.runtime.block_on(self.post(path, body))
    }

    fn refusals(&self) -> Refusals {
        self.client.status().limits
    }
}

async fn answer(stream: &mut TcpStream) -> (u16, Value) {
    let mut came = Vec::new();
    let reading = async {
        while let Ok(n) = stream.read_buf(&mut came).await
            && n > 0
            && !came.ends_with(b"}")
        {}
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("an answer");
    let text = String::from_utf8_lossy(&came);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap())
}

async fn closed(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("it is closed");
}

const FINE: &str = r#"{"arms": [[1, 0], [0, 1]]}"#;

#[test]
fn heads_and_bodies_that_do_not_come_are_not_waited_for() {
    let short = Duration::from_millis(300);
    let served = served(ClientLimits { head: short, body: short, ..ClientLimits::default() });
    served.runtime.block_on(async {
        let mut silent = served.connect().await;
        let mut slow = served.connect().await;
        slow.write_all(b"POST /decide HTTP/1.1\r\nho").await.unwrap();
        let mut kept = served.connect().await;
        let whole =
            format!("POST /decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{FINE}", FINE.len());
        kept.write_all(whole.as_bytes()).await.unwrap();
        assert_eq!(answer(&mut kept).await.0, 200);
        for stream in [&mut silent, &mut slow, &mut kept] {
            closed(stream).await;
        }
        let mut bodiless = served.connect().await;
        bodiless.write_all(b"POST /decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 30\r\n\r\n{").await.unwrap();
        let (status, words) = answer(&mut bodiless).await;
        assert!(
            status == 408 && words["error"].as_str().unwrap().contains("limits.body"),
            "{status} {words}"
        );
    });
    until("all are counted", || served.refusals().late == 4);
}

#[test]
fn connections_beyond_the_most_are_closed_as_they_come() {
    let served = served(ClientLimits { connections: 2, ..ClientLimits::default() });
    served.runtime.block_on(async {
        let (first, _second) = (served.connect().await, served.connect().await);
        tokio::time::sleep(Duration::from_millis(100)).await;
        for _ in 0..3 {
            closed(&mut served.connect().await).await;
        }
        drop(first);
    });
    assert_eq!(served.refusals().connections, 3);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(served.ask("/decide", FINE).0, 200);
}

#[test]
fn large_bodies_are_refused_before_they_are_read_and_others_go_on() {
    let _alone = alone();
    let served = served(ClientLimits::default());
    let rows = format!("{{\"arms\":[{}[1]]}}", "[1],".repeat(31 << 18));
    let before = resident();
    served.runtime.block_on(async {
        let head = b"POST /decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1f00000\r\n";
        let (mut chunked, mut slowest) = (served.connect().await, Duration::ZERO);
        chunked.write_all(head).await.unwrap();
        let (mut read, mut write) = chunked.split();
        let sending = async { drop(write.write_all(rows.as_bytes()).await) };
        let answered = async {
            let mut came = vec![0; 400];
            let n = read.read(&mut came).await.unwrap();
            String::from_utf8_lossy(&came[..n]).into_owned()
        };
        let others = async {
            for _ in 0..50 {
                let begun = Instant::now();
                assert_eq!(served.post("/decide", FINE).await.0, 200);
                slowest = slowest.max(begun.elapsed());
            }
        };
        let ((), answered, (), announced) =
            tokio::join!(sending, answered, others, served.post("/decide", &rows));
        assert!(answered.contains("413") && answered.contains("limits.body_bytes"), "{answered}");
        let (status, words) = announced;
        assert!(status == 413 && words["error"].as_str().unwrap().contains("limits.body_bytes"), "{words}");
        assert!(slowest < Duration::from_secs(1), "others waited for {slowest:?}");
    });
    let grown = resident().saturating_sub(before);
    assert!(grown < 48 << 20, "{} MB", grown >> 20);
    assert_eq!(served.refusals().too_large, 2);
}

#[test]
fn large_bodies_wait_for_each_other_and_small_ones_do_not() {
    let _alone = alone();
    let limits =
        ClientLimits { bodies_bytes: 256 << 10, body: Duration::from_secs(1), ..ClientLimits::default() };
    let served = served(limits);
    let row = "[0.123456789, 0.123456789]";
    let large = format!("{{\"arms\":[{}{row}]}}", format!("{row},").repeat(7_000));
    assert!((128 << 10..256 << 10).contains(&large.len()), "{}", large.len());
    served.runtime.block_on(async {
        // All but the end of it.
        let head = format!("POST /decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", large.len());
        let mut first = served.connect().await;
        first.write_all(head.as_bytes()).await.unwrap();
        first.write_all(&large.as_bytes()[..large.len() - 1]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let (second, small) = tokio::join!(served.post("/decide", &large), served.post("/decide", FINE));
        assert_eq!(small.0, 200);
        assert!(
            second.0 == 503 && second.1["error"].as_str().unwrap().contains("limits.bodies_bytes"),
            "{second:?}"
        );
        assert_eq!(answer(&mut first).await.0, 408);
        assert_eq!(served.post("/decide", &large).await.0, 200);
    });
}

#[test]
fn what_becomes_large_when_it_is_read_is_refused_where_it_begins() {
    let _alone = alone();
    let served = served(ClientLimits { arms: 100, ..ClientLimits::default() });
    let rows = |row: &str, n: usize| format!("{{\"arms\":[{}{row}]}}", format!("{row},").repeat(n - 1));
    let before = resident();
    // Each is within the bytes of a body.
    let (status, words) = served.ask("/decide", &rows("[1]", 900_000));
    assert!(status == 400 && words["error"].as_str().unwrap().contains("2 are expected"), "{words}");
    let (status, words) = served.ask("/decide", &rows("[1,1]", 600_000));
    assert!(status == 413 && words["error"].as_str().unwrap().contains("limits.arms"), "{words}");
    assert!(words["error"].as_str().unwrap().contains("100 is the most"), "{words}");
    assert_eq!(served.ask("/decide", &rows("[1,1]", 100)).0, 200);
    // The same for names, masks, decisions, rewards and arms that come and go.
    let list = |key: &str, item: &str| {
        format!("{{\"{key}\":[{}{item}]}}", format!("{item},").repeat(3_900_000 / (item.len() + 1)))
    };
    for (path, body, expected, said) in [
        ("/decide", rows("\"a\"", 900_000), 413, "limits.arms"),
        ("/decide", list("masked", "0"), 413, "limits.arms"),
        ("/decide", list("decisions", "{}"), 413, "limits.batch"),
        ("/reward", list("rewards", "{\"reward\":1}"), 400, "more than 100000 at once"),
        ("/arms", list("register", "{\"id\":\"\"}"), 400, "more than 100000 at once"),
        ("/arms", list("retire", "\"\""), 400, "more than 100000 at once"),
    ] {
        let (status, words) = served.ask(path, &body);
        assert!(status == expected && words["error"].as_str().unwrap().contains(said), "{path}: {words}");
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 48 << 20, "{} MB", grown >> 20);
    assert_eq!(served.refusals().too_large, 4);
}

#[test]
fn open_decisions_are_limited_and_the_words_say_what_to_do() {
    let served = served(ClientLimits { open_decisions: 3, ..ClientLimits::default() });
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(served.ask("/decide", FINE).1["id"].clone());
    }
    let (status, words) = served.ask("/decide", FINE);
    let said = words["error"].as_str().unwrap();
    assert!(status == 429 && said.contains("limits.open_decisions") && said.contains("abandon"), "{words}");
    assert_eq!(served.refusals().open_decisions, 1);
    assert_eq!(served.ask("/reward", &json!({ "id": ids[0], "reward": 1 }).to_string()).0, 200);
    assert_eq!(served.ask("/abandon", &json!({ "id": ids[1] }).to_string()).0, 200);
    for expected in [200, 200, 429] {
        assert_eq!(served.ask("/decide", FINE).0, expected);
    }
}

#[test]
fn what_an_app_said_wrongly_is_not_said_back_at_length() {
    let served = served(ClientLimits::default());
    let long = "x".repeat(50_000);
    for (path, body) in [
        ("/reward", json!({ "id": long, "reward": 1 })),
        ("/reward", json!({ "id": format!("a\nb{long}"), "reward": 1 })),
        ("/decide", json!({ "arms": 2, long.as_str(): 1 })),
        ("/decide", json!({ "arms": [{ "id": long, "features": [1, 0] }] })),
        ("/decide", json!({ "arms": [long.as_str()] })),
        ("/decide", json!({ "arms": [[1, 0]], "masked": [format!("a\nb{long}")] })),
        ("/decide", json!({ "arms": [[1, 0]], "event": format!("a\nb{long}") })),
        ("/arms", json!({ "register": [{ "id": format!("a\nb{long}"), "features": [1, 0] }] })),
        ("/arms", json!({ "retire": [format!("a\nb{long}")] })),
    ] {
        let (status, words) = served.ask(path, &body.to_string());
        let said = words["error"].as_str().unwrap();
        assert!(status == 400 && said.len() < 1500 && !said.contains('\n'), "{status} {} bytes", said.len());
    }
}

#[test]
fn a_file_says_what_holds_and_is_told_what_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("client.toml");
    let read = |limits: &str| {
        let text = format!(
            "federation = \"x\"\ncoordinator = \"http://x\"\nclient = 0\nstore = \"s\"\n\n[limits]\n{limits}"
        );
        std::fs::write(&path, text).unwrap();
        ClientFile::read(&path).and_then(|file| file.config(&known(), &path)).map(|config| config.limits)
    };
    let limits = read("body = 2.5\nopen_decisions = 7").unwrap();
    assert_eq!((limits.body, limits.open_decisions), (Duration::from_millis(2500), 7));
    assert_eq!(limits.connections, ClientLimits::default().connections);
    for (wrong, line, words) in [
        ("arms = 10\nhead = 0", "client.toml:8", "at least 0.001"),
        ("arms = -1", "client.toml:7", "-1"),
        ("conections = 1", "client.toml:7", "connections"),
        ("batch = 0", "client.toml", "limits.batch"),
        ("registered_arms = 1000000", "client.toml", "limits.registered_arms"),
    ] {
        let error = read(wrong).unwrap_err().to_string();
        assert!(error.contains(line) && error.contains(words), "{wrong}: {error}");
    }
}
