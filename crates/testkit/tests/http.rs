//! The client's HTTP form: ids, retries, expiry, and garbage.

use std::path::Path;
use std::time::{Duration, Instant};

use cahoots_testkit::soak::{App, Cluster};
use serde_json::{Value, json};
use toml::Table;

const EXE: &str = env!("CARGO_BIN_EXE_cahoots-node");

fn cluster(folder: &Path, setting: &str, algorithm: &str, client: &str) -> Cluster {
    let serve = format!("[setting]\n{setting}\n[algorithm]\n{algorithm}\n");
    let (serve, client): (Table, Table) = (serve.parse().unwrap(), client.parse().unwrap());
    let mut cluster = Cluster::new(Path::new(EXE), folder, 1, serve, &client, 1).unwrap();
    cluster.start_all().unwrap();
    cluster.settle(Duration::from_secs(10)).unwrap();
    cluster
}

fn expect(app: &App, path: &str, body: Value, status: u16, words: &str) -> Value {
    let (got, answer) = app.post(path, &body).unwrap();
    assert_eq!(got, status, "{path} {body}: {answer}");
    assert!(answer.to_string().contains(words), "{path} {body}: {answer} lacks {words:?}");
    answer
}

const LINEAR: (&str, &str) = ("users = 2\ndim = 2\narms = 3", "kind = \"async-linucb\"");

#[test]
fn rewards_can_be_retried_and_garbage_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = cluster(folder.path(), LINEAR.0, LINEAR.1, "");
    let app = cluster.app(0);
    let answer = expect(&app, "/decide", json!({ "arms": [[1.0, 0.0], [0.0, 1.0]] }), 200, "\"arm\":");
    let id = &answer["id"];
    expect(&app, "/reward", json!({ "id": id, "reward": 0.5 }), 200, "learned");
    expect(&app, "/reward", json!({ "id": id, "reward": 0.5 }), 200, "repeated");
    expect(&app, "/reward", json!({ "id": id, "reward": 0.25 }), 409, "already has reward");
    expect(&app, "/reward", json!({ "id": "9-9", "reward": 0.5 }), 404, "unknown");
    expect(&app, "/reward", json!({ "id": "nine", "reward": 0.5 }), 400, "EPOCH-NUMBER");
    expect(&app, "/reward", json!({ "id": id }), 400, "missing field");
    expect(&app, "/decide", json!({ "arms": [] }), 400, "at least one");
    expect(&app, "/decide", json!({ "arms": [[1.0]] }), 400, "2 are expected");
    expect(&app, "/decide", json!({ "arms": 3 }), 400, "have features");
    expect(&app, "/decide", json!({ "arms": [[1.0, null]] }), 400, "expected");
    expect(&app, "/decide", json!({ "arms": [[1.0, 0.0]], "user": 1 }), 400, "not one of");
    expect(&app, "/decide", json!({ "arms": [[1.0, 0.0]], "colour": 1 }), 400, "colour");
    for garbage in [&b""[..], b"{", b"\xff\xfe", b"{\"arms\": [[1e999, 0]]}", b"[1, 2", b"{\"arms\": NaN}"] {
        let (status, answer) = app.post_bytes("/decide", garbage).unwrap();
        assert!(status == 400 && answer["error"].is_string(), "{garbage:?}: {status} {answer}");
    }
    assert_eq!(app.get("/health").unwrap().0, 200);
    let (_, status) = app.get("/status").unwrap();
    assert_eq!((&status["open_decisions"], &status["joined"]), (&json!(0), &json!(true)));
    let epoch = status["epoch"].as_u64().filter(|epoch| *epoch > 0).expect("the number of this start");
    assert!(id.as_str().is_some_and(|id| id.starts_with(&format!("{epoch}-"))), "{id} of start {epoch}");

    // After a kill, a retried reward is still known, and ids are never issued twice.
    cluster.process(1).kill();
    cluster.start(1).unwrap();
    cluster.process(1).listening().unwrap();
    expect(&app, "/reward", json!({ "id": id, "reward": 0.5 }), 200, "repeated");
    let again = expect(&app, "/decide", json!({ "arms": [[1.0, 0.0]] }), 200, "id");
    let again = again["id"].as_str().unwrap();
    assert!(!again.starts_with(&format!("{epoch}-")), "{again} after start {epoch}");
    cluster.stop_all().unwrap();
}

#[test]
fn plain_arms_are_offered_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = cluster(folder.path(), "users = 1\narms = 3", "kind = \"ucb-alone\"", "");
    let app = cluster.app(0);
    let answer = expect(&app, "/decide", json!({ "arms": 3 }), 200, "\"arm\":0");
    expect(&app, "/reward", json!({ "id": answer["id"], "reward": 1.0 }), 200, "learned");
    expect(&app, "/decide", json!({ "arms": 4 }), 400, "federation has 3");
    expect(&app, "/decide", json!({ "arms": [[1.0]] }), 400, "no features");
    cluster.stop_all().unwrap();
}

#[test]
fn decisions_without_a_reward_expire() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = cluster(folder.path(), LINEAR.0, LINEAR.1, "tick = 0.02\nexpiry = 0.1");
    let app = cluster.app(0);
    let answer = expect(&app, "/decide", json!({ "arms": [[1.0, 0.0]] }), 200, "id");
    let deadline = Instant::now() + Duration::from_secs(10);
    while app.get("/status").unwrap().1["expired"] != 1 {
        assert!(Instant::now() < deadline, "never expired");
        std::thread::sleep(Duration::from_millis(10));
    }
    expect(&app, "/reward", json!({ "id": answer["id"], "reward": 1.0 }), 404, "expired");
}

#[test]
fn with_terms_a_client_works_before_it_ever_reached_its_coordinator() {
    let folder = tempfile::tempdir().unwrap();
    let serve: Table = format!("[setting]\n{}\n[algorithm]\n{}\n", LINEAR.0, LINEAR.1).parse().unwrap();
    let mut client = Table::new();
    client.insert("terms".into(), toml::Value::Table(serve.clone()));
    let mut cluster = Cluster::new(Path::new(EXE), folder.path(), 2, serve, &client, 1).unwrap();
    cluster.start(1).unwrap();
    cluster.process(1).listening().unwrap();
    let app = cluster.app(0);
    for _ in 0..40 {
        let answer = expect(&app, "/decide", json!({ "arms": [[1.0, 0.0], [0.0, 1.0]] }), 200, "id");
        expect(&app, "/reward", json!({ "id": answer["id"], "reward": 1.0 }), 200, "learned");
    }
    let waiting = app.get("/status").unwrap().1["unconfirmed"].as_u64().unwrap();
    assert!(waiting > 0);
    cluster.start(0).unwrap();
    cluster.start(2).unwrap();
    cluster.settle(Duration::from_secs(15)).unwrap();
    cluster.stop_all().unwrap();
}

#[test]
fn a_client_without_terms_says_so_until_it_has_joined() {
    let folder = tempfile::tempdir().unwrap();
    let serve: Table = format!("[setting]\n{}\n[algorithm]\n{}\n", LINEAR.0, LINEAR.1).parse().unwrap();
    let mut cluster = Cluster::new(Path::new(EXE), folder.path(), 1, serve, &Table::new(), 1).unwrap();
    cluster.start(1).unwrap();
    cluster.process(1).listening().unwrap();
    expect(&cluster.app(0), "/decide", json!({ "arms": [[1.0, 0.0]] }), 503, "not reached its coordinator");
    cluster.start(0).unwrap();
    cluster.settle(Duration::from_secs(15)).unwrap();
    expect(&cluster.app(0), "/decide", json!({ "arms": [[1.0, 0.0]] }), 200, "id");
}
