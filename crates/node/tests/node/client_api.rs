//! The document of the client's HTTP says what the program does: every path, every status, every field, and the other way round.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cahoots_core::Setting;
use cahoots_node::client::{Client, ClientConfig, GainConfig};
use cahoots_node::http::{self, Entrance};
use cahoots_node::limits::ClientLimits;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::common::document::{Answer, exchange, fits};
use crate::common::{FEDERATION, known, runtime, terms};

const DOCUMENT: &str = include_str!("../../api/client.json");
const TOKEN: &str = "0123456789abcdef0123";
const ARMS: &str = r#"{"arms": [[1, 0], [0, 1]]}"#;

struct Served {
    runtime: Runtime,
    address: String,
    /// Path, method and status of all that was answered.
    seen: BTreeSet<(String, String, u16)>,
    document: Value,
    _folder: tempfile::TempDir,
}

impl Served {
    fn new(joined: bool, entrance: Entrance) -> Served {
        let folder = tempfile::tempdir().unwrap();
        let terms = terms(&known(), "async-linucb", "upload_ratio = inf", Setting::linear(1, 2, 2));
        let builder = Client::builder(known(), FEDERATION, 0).store(folder.path().join("client"));
        let limits = ClientLimits {
            body: Duration::from_millis(200),
            body_bytes: 1 << 17,
            open_decisions: 2,
            ..ClientLimits::default()
        };
        let config = ClientConfig {
            limits,
            terms: joined.then_some(terms),
            gain: GainConfig { noise: Some(0.5), ..GainConfig::default() },
            ..builder.config()
        };
        let client = Arc::new(Client::open(config).unwrap());
        let runtime = runtime();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        runtime.spawn(http::serve_behind(listener, entrance, client));
        let document = serde_json::from_str(DOCUMENT).unwrap();
        Served { runtime, address, seen: BTreeSet::new(), document, _folder: folder }
    }

    /// Sends this head and body, and holds the answer against the document.
    fn ask(&mut self, method: &str, target: &str, headers: &str, body: &str, length: usize) -> Answer {
        let text = format!(
            "{method} {target} HTTP/1.1\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let answer = exchange(&self.runtime, &self.address, &text);
        let path = target.split('?').next().unwrap().to_string();
        self.hold(&path, method, &answer);
        answer
    }

    fn hold(&mut self, path: &str, method: &str, answer: &Answer) {
        let listed = &self.document["paths"][path];
        if listed.is_null() {
            assert_eq!(answer.status, 404, "{path} is not in the document");
            return;
        }
        // Another method than the document's is answered as all of the document's say.
        let methods = listed.as_object().unwrap().clone();
        let asked = method.to_lowercase();
        for (own, operation) in &methods {
            if asked == *own || !methods.contains_key(&asked) {
                self.hold_one(path, own, operation, answer);
            }
        }
    }

    fn hold_one(&mut self, path: &str, method: &str, operation: &Value, answer: &Answer) {
        let status = answer.status.to_string();
        let mut said = &operation["responses"][&status];
        assert!(!said.is_null(), "{method} {path}: {status} is not in the document: {}", answer.body);
        self.seen.insert((path.into(), method.into(), answer.status));
        if let Some(target) = said["$ref"].as_str() {
            said = self
                .document
                .pointer(target.strip_prefix('#').unwrap())
                .expect("a reference that leads somewhere");
        }
        let Some(content) = said["content"].as_object() else { return };
        let (kind, content) = content.iter().next().unwrap();
        assert!(
            answer.head.contains(&format!("content-type: {kind}")),
            "{path}: {} is not {kind}",
            answer.head
        );
        if kind == "application/json" {
            fits(&self.document, &content["schema"], &answer.json(), path);
        }
    }

    fn get(&mut self, target: &str) -> Answer {
        self.ask("GET", target, "host: localhost\r\n", "", 0)
    }

    fn post(&mut self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, "host: localhost\r\ncontent-type: application/json\r\n", body, body.len())
    }
}

#[test]
fn the_document_says_what_the_program_does_and_nothing_else() {
    let mut seen = BTreeSet::new();
    let mut served = Served::new(true, Entrance::default());

    let decision = served.post("/decide", ARMS).json();
    let id = decision["id"].as_str().unwrap().to_string();
    let reward = format!(r#"{{"id": "{id}", "reward": 0.5}}"#);
    assert_eq!(served.post("/reward", &reward).json()["status"], "learned");
    assert_eq!(served.post("/reward", &reward).json()["status"], "repeated");
    assert_eq!(served.post("/reward", &reward.replace("0.5", "0.6")).status, 409);
    assert_eq!(served.post("/reward", r#"{"id": "9-9", "reward": 1}"#).status, 404);
    let other = served.post("/decide", ARMS).json()["id"].as_str().unwrap().to_string();
    assert_eq!(served.post("/abandon", &format!(r#"{{"id": "{other}"}}"#)).json()["status"], "abandoned");
    assert_eq!(served.post("/abandon", &format!(r#"{{"id": "{other}"}}"#)).json()["status"], "repeated");
    assert_eq!(served.post("/abandon", &format!(r#"{{"id": "{id}"}}"#)).status, 409);
    assert_eq!(served.post("/abandon", r#"{"id": "9-9"}"#).status, 404);
    assert_eq!(served.post("/arms", r#"{"register": [{"id": "a", "features": [1, 0]}]}"#).json()["arms"], 1);
    assert_eq!(served.post("/decide", r#"{"event": "e", "top": 2, "deferred": true}"#).json()["arm"], "a");
    assert_eq!(served.post("/activate", r#"{"event": "e"}"#).json()["status"], "activated");
    assert_eq!(served.post("/activate", r#"{"event": "f"}"#).status, 404);
    assert_eq!(served.post("/reward", r#"{"rewards": [{"event": "e", "reward": 1}]}"#).status, 200);
    let most = (0..3).map(|_| served.post("/decide", ARMS).status).collect::<Vec<_>>();
    assert_eq!(most, [200, 200, 429]);
    let paths: Vec<String> = served.document["paths"].as_object().unwrap().keys().cloned().collect();
    let document = served.document.clone();
    assert_eq!(served.get("/login").status, 303, "no token is asked for");
    for path in paths.iter().filter(|path| *path != "/login") {
        let takes = |method: &str| document["paths"][path][method].is_object();
        let (posted, got) = (takes("post"), takes("get"));
        if posted {
            let json = "host: localhost\r\ncontent-type: application/json\r\n";
            assert_eq!(served.post(path, "{").status, 400);
            assert_eq!(served.ask("POST", path, json, "{", 30).status, 408);
            assert_eq!(served.ask("POST", path, json, "", 1 << 30).status, 413);
            assert_eq!(served.ask("POST", path, "host: localhost\r\n", "{}", 2).status, 415);
        }
        if got {
            assert_eq!(served.get(path).status, 200);
        }
        let json = "host: localhost\r\ncontent-type: application/json\r\n";
        for method in ["GET", "POST", "PUT"].iter().filter(|method| !takes(&method.to_lowercase())) {
            assert_eq!(served.ask(method, path, json, "", 0).status, 405);
        }
        for method in ["GET", "POST"].iter().filter(|method| takes(&method.to_lowercase())) {
            assert_eq!(served.ask(method, path, "host: example.com\r\n", "", 0).status, 403);
        }
    }
    assert_eq!(served.get("/history?window=60").status, 200);
    assert_eq!(served.get("/history?window=yesterday").status, 400);
    assert_eq!(served.get("/elsewhere").status, 404);
    assert_eq!(served.get("/openapi.json").json(), served.document);
    let gain = served.get("/gain").json();
    assert!(gain["decisions"].is_u64() && gain["words"].is_string(), "{gain}");
    let page = served.get("/");
    assert!(
        page.head.contains("content-security-policy: default-src 'none'; script-src 'self'"),
        "{}",
        page.head
    );
    seen.append(&mut served.seen);

    let mut stranger = Served::new(false, Entrance::default());
    for (path, body) in [
        ("/decide", ARMS),
        ("/reward", r#"{"id": "1-1", "reward": 1}"#),
        ("/abandon", r#"{"id": "1-1"}"#),
        ("/activate", r#"{"id": "1-1"}"#),
        ("/arms", r#"{"register": []}"#),
    ] {
        assert_eq!(stranger.post(path, body).status, 503);
    }
    stranger.get("/status");
    seen.append(&mut stranger.seen);

    let mut locked = Served::new(true, Entrance::new(Some(TOKEN.into()), Vec::new(), false).unwrap());
    for (path, method) in paths.iter().flat_map(|path| [(path, "GET"), (path, "POST")]) {
        if path != "/login" && document["paths"][path][method.to_lowercase()].is_object() {
            // The form that asks for the token has a style.
            let status = if path == "/page.css" { 200 } else { 401 };
            assert_eq!(locked.ask(method, path, "host: localhost\r\n", "", 0).status, status, "{path}");
        }
    }
    browser_s_way_in(&mut locked);
    seen.append(&mut locked.seen);

    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            for status in operation["responses"].as_object().unwrap().keys() {
                // A client that has just failed ends: nobody can ask it.
                let unreachable = path == "/health" && status == "503";
                let one = (path.clone(), method.clone(), status.parse().unwrap());
                assert!(unreachable || seen.contains(&one), "{method} {path}: {status} was never answered");
            }
        }
    }
}

/// Whoever opens the page is asked for the token in a form, and may look from then on. What the browser was given decides
/// nothing: other pages of the same host can have it sent along.
fn browser_s_way_in(locked: &mut Served) {
    let asked = locked.get("/");
    assert!(
        asked.body.contains("action=\"/login\"") && asked.body.contains("the client's file"),
        "{}",
        asked.body
    );
    let form = |locked: &mut Served, origin: &str, body: &str| {
        let kind = "content-type: application/x-www-form-urlencoded";
        let headers = format!("host: shop.example:7801\r\n{kind}\r\norigin: {origin}\r\n");
        locked.ask("POST", "/login", &headers, body, body.len())
    };
    let right = format!("token={TOKEN}");
    assert_eq!(form(locked, "http://shop.example:7801", "token=wrong").status, 401);
    assert_eq!(form(locked, "http://shop.example:7801", &"x".repeat(10_000)).status, 400);
    assert_eq!(form(locked, "http://shop.example:3000", &right).status, 403, "another port is another page");
    let behind_tls = form(locked, "https://shop.example:7801", &right);
    assert!(behind_tls.status == 303 && behind_tls.head.contains("; secure"), "{}", behind_tls.head);
    let let_in = form(locked, "http://shop.example:7801", &right);
    assert_eq!(let_in.status, 303);
    let cookie = let_in.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    assert!(
        cookie.contains("httponly") && cookie.contains("samesite=strict") && !cookie.contains(TOKEN),
        "{cookie}"
    );
    let cookie = format!("host: shop.example:7801\r\ncookie: {}\r\n", cookie.split(';').next().unwrap());
    for path in ["/", "/page.js", "/status", "/history", "/gain", "/openapi.json"] {
        assert_eq!(locked.ask("GET", path, &cookie, "", 0).status, 200, "{path}");
    }
    let json = format!("{cookie}content-type: application/json\r\n");
    assert_eq!(
        locked.ask("POST", "/decide", &json, ARMS, ARMS.len()).status,
        401,
        "it may look, and not decide"
    );
    let elsewhere = format!("{cookie}origin: http://shop.example:3000\r\n");
    assert_eq!(locked.ask("GET", "/status", &elsewhere, "", 0).status, 403);
    let bearer = format!("host: shop.example:7801\r\nauthorization: Bearer {TOKEN}\r\n");
    let json = format!("{bearer}content-type: application/json\r\n");
    assert_eq!(locked.ask("POST", "/decide", &json, ARMS, ARMS.len()).status, 200);
}

/// The validator can say no.
#[test]
fn what_does_not_fit_a_schema_is_found() {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let schema = serde_json::json!({ "$ref": "#/components/schemas/Decision" });
    let fine = serde_json::json!({
        "id": "1-1", "arm": 0, "score": 0.5, "interval": [0.1, 0.5], "probability": null, "model": 3, "decided": "alone"
    });
    fits(&document, &schema, &fine, "fine");
    for (key, wrong) in [
        ("arm", Value::from(-1)),
        ("arm", Value::Null),
        ("id", Value::from(3)),
        ("colour", Value::from(1)),
        ("arm", Value::from("")),
        ("interval", serde_json::json!([1.0])),
        ("decided", Value::from("nobody")),
    ] {
        let mut value = fine.clone();
        value[key] = wrong;
        assert!(std::panic::catch_unwind(|| fits(&document, &schema, &value, "wrong")).is_err(), "{value}");
    }
}
