//! What watchers see of a coordinator: what the document says, what is true, and nothing of a client but what it released.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cahoots_core::Setting;
use cahoots_node::client::{Arms, Client};
use cahoots_node::face::{Access, Face};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::common::document::{Answer, exchange, fits};
use crate::common::{Federation, known, terms, until};

const DOCUMENT: &str = include_str!("../../api/coordinator.json");
const TOKEN: &str = "0123456789abcdef0123";

/// A coordinator's face.
struct Shown {
    address: String,
    document: Value,
    /// Path, method and status of all that was answered.
    seen: BTreeSet<(String, String, u16)>,
    serving: JoinHandle<()>,
}

impl Shown {
    fn of(federation: &Federation, access: Access, ready: bool) -> Shown {
        let listener = federation.runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let face = Face::new(federation.coordinator().clone(), access);
        if ready {
            face.is_ready();
        }
        let serving = federation.runtime.spawn(face.serve(listener, None));
        Shown { address, document: serde_json::from_str(DOCUMENT).unwrap(), seen: BTreeSet::new(), serving }
    }

    fn ask(
        &mut self,
        federation: &Federation,
        method: &str,
        target: &str,
        headers: &str,
        body: &str,
    ) -> Answer {
        let length = body.len();
        let text = format!(
            "{method} {target} HTTP/1.1\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let answer = exchange(&federation.runtime, &self.address, &text);
        self.hold(target.split('?').next().unwrap(), method, &answer);
        answer
    }

    fn get(&mut self, federation: &Federation, target: &str) -> Answer {
        self.ask(federation, "GET", target, "host: localhost\r\n", "")
    }

    /// An answer is one that the document tells of.
    fn hold(&mut self, path: &str, method: &str, answer: &Answer) {
        let listed = &self.document["paths"][path];
        if listed.is_null() {
            assert_eq!(answer.status, 404, "{path} is not in the document");
            return;
        }
        let (own, operation) = listed.as_object().unwrap().iter().next().unwrap();
        let status = answer.status.to_string();
        let said = &operation["responses"][&status];
        assert!(!said.is_null(), "{method} {path}: {status} is not in the document: {}", answer.body);
        self.seen.insert((path.into(), own.clone(), answer.status));
        let Some(content) = said["content"].as_object() else { return };
        let (kind, content) = content.iter().next().unwrap();
        assert!(answer.head.contains(&format!("content-type: {kind}")), "{path}: {}", answer.head);
        assert!(
            answer.head.contains("content-security-policy: default-src 'none'"),
            "{path}: {}",
            answer.head
        );
        if kind == "application/json" {
            fits(&self.document, &content["schema"], &answer.json(), path);
        }
    }
}

/// Nobody looks any more, and nobody keeps the coordinator.
fn close<const N: usize>(shown: [Shown; N], federation: &Federation) {
    for one in shown {
        one.serving.abort();
        let _ = federation.runtime.block_on(one.serving);
    }
    // This test's, and that of who serves streams.
    until("nobody looks any more", || Arc::strong_count(federation.coordinator()) == 2);
}

fn learn(client: &Client, reward: f64) {
    let decision = client.decide(None, Arms::Features(&[vec![1.0, 0.0], vec![0.0, 1.0]])).unwrap();
    client.reward(decision.id, reward).unwrap();
}

/// Whoever uploads, does so at once.
fn eager(users: usize) -> Federation {
    let terms = terms(&known(), "async-linucb", "ratio = 1.0", Setting::linear(users, 2, 2));
    Federation::start(&known(), terms)
}

/// The first event of a stream.
async fn first_event(address: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut text = String::new();
    let mut part = [0; 4096];
    while !text.contains("\n\n") {
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut part)).await;
        let read = read.expect("an event comes at once").unwrap();
        assert!(read > 0, "{text}");
        text += &String::from_utf8_lossy(&part[..read]);
    }
    text
}

#[test]
fn the_document_says_what_the_program_does_and_nothing_else() {
    let federation = eager(3);
    let client = federation.client(0);
    learn(&client, 1.0);
    until("merged", || federation.status().observations == Some(1));
    let mut shown = Shown::of(&federation, Access::default(), true);
    let paths: Vec<String> = shown.document["paths"].as_object().unwrap().keys().cloned().collect();
    let mut seen = BTreeSet::new();
    for path in paths.iter().filter(|path| !["/login", "/events"].contains(&path.as_str())) {
        assert_eq!(shown.get(&federation, path).status, 200, "{path}");
        assert_eq!(shown.ask(&federation, "DELETE", path, "host: localhost\r\n", "").status, 405, "{path}");
    }
    let event = federation.runtime.block_on(first_event(&shown.address));
    assert!(event.contains("content-type: text/event-stream") && event.contains("event: status"), "{event}");
    seen.insert(("/events".into(), "get".into(), 200));
    assert_eq!(shown.ask(&federation, "PUT", "/events", "host: localhost\r\n", "").status, 405);
    for path in &paths {
        let headers = "host: example.com\r\n";
        let method = if path == "/login" { "POST" } else { "GET" };
        if path != "/login" {
            assert_eq!(shown.ask(&federation, method, path, headers, "").status, 403, "{path}");
        }
    }
    for target in ["/members?since=x", "/members?after=3", "/history?window=-1", "/journal?limit=many"] {
        assert_eq!(shown.get(&federation, target).status, 400, "{target}");
    }
    assert_eq!(shown.get(&federation, "/members?since=0").json()["members"].as_array().unwrap().len(), 1);
    assert_eq!(shown.get(&federation, "/openapi.json").json(), shown.document);
    assert_eq!(shown.get(&federation, "/elsewhere").status, 404);
    assert!(shown.get(&federation, "/").body.contains("1 of 1 here"));
    seen.append(&mut shown.seen);

    let mut locked = Shown::of(&federation, Access::new(Some(TOKEN.into()), false, false).unwrap(), true);
    for path in paths.iter().filter(|path| *path != "/login") {
        // The form that asks for the token has a style.
        let status = if path == "/page.css" { 200 } else { 401 };
        assert_eq!(locked.get(&federation, path).status, status, "{path}");
    }
    let form = "content-type: application/x-www-form-urlencoded\r\nhost: localhost\r\n";
    assert_eq!(locked.ask(&federation, "POST", "/login", form, "token=wrong").status, 401);
    assert_eq!(locked.ask(&federation, "POST", "/login", form, &"x".repeat(10_000)).status, 400);
    let elsewhere = format!("{form}origin: https://evil.example\r\n");
    assert_eq!(locked.ask(&federation, "POST", "/login", &elsewhere, &format!("token={TOKEN}")).status, 403);
    let let_in = locked.ask(&federation, "POST", "/login", form, &format!("token={TOKEN}"));
    assert_eq!(let_in.status, 303);
    let cookie = let_in.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    assert!(
        cookie.contains("httponly") && cookie.contains("samesite=strict") && !cookie.contains(TOKEN),
        "{cookie}"
    );
    let shows = format!("host: example.com\r\ncookie: {}\r\n", cookie.split(';').next().unwrap());
    assert_eq!(locked.ask(&federation, "GET", "/status", &shows, "").status, 200);
    seen.append(&mut locked.seen);

    let mut early = Shown::of(&federation, Access::default(), false);
    assert_eq!(early.get(&federation, "/ready").status, 503);
    seen.append(&mut early.seen);
    for (path, operations) in shown.document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            for status in operation["responses"].as_object().unwrap().keys() {
                // Of a coordinator that has stopped, only its last moment can tell.
                let last = status == "503" && path != "/ready";
                let one = (path.clone(), method.clone(), status.parse().unwrap());
                assert!(last || seen.contains(&one), "{method} {path}: {status} was never answered");
            }
        }
    }
    close([shown, locked, early], &federation);
    client.stop();
    federation.stop();
}

#[test]
fn what_is_shown_adds_up_over_a_restart() {
    let federation = eager(3);
    let clients = [federation.client(0), federation.client(2)];
    for client in &clients {
        (0..5).for_each(|_| learn(client, 0.5));
    }
    until("merged", || federation.status().observations == Some(10));
    until("confirmed", || clients.iter().all(|client| client.status().unconfirmed == 0));
    let status = federation.status();
    let sent: u64 = clients.iter().map(|client| client.status().uploads).sum();
    assert_eq!((status.received, status.seats, status.members, status.connected), (sent, 3, 2, 2));
    assert_eq!(status.observation_bytes, 24);
    // An upload holds 3 numbers of a matrix and 2 of a moment, at least.
    assert!(status.bytes_received > sent * 40 && status.bytes_sent > 0, "{status:?}");
    let (known, terms, address) = (federation.known.clone(), federation.terms.clone(), federation.address());
    let folder = federation.stop();
    let federation = Federation::resume(&known, terms, folder, &address);
    let again = federation.status();
    assert_eq!((again.received, again.observations), (sent, Some(10)));
    assert!(
        again.bytes_received >= status.bytes_received - 200,
        "{} {}",
        again.bytes_received,
        status.bytes_received
    );
    clients.into_iter().for_each(Client::stop);
    federation.stop();
}

#[test]
fn who_changes_is_told_and_nobody_else() {
    let federation = eager(4);
    let mut shown = Shown::of(&federation, Access::default(), true);
    let first = federation.client(0);
    let second = federation.client(1);
    let state = |members: &Value, client: u64| {
        let found = members["members"].as_array().unwrap().iter().find(|member| member["client"] == client);
        found.map(|member| member["state"].as_str().unwrap().to_string())
    };
    // Whoever is heard for the first time has changed.
    until("both were heard", || federation.members().iter().all(|member| member.last_contact.is_some()));
    let all = shown.get(&federation, "/members").json();
    assert_eq!((state(&all, 0), state(&all, 1)), (Some("here".into()), Some("here".into())));
    let revision = all["revision"].as_u64().unwrap();
    second.stop();
    let mut changed = Value::Null;
    until("it is seen to be away", || {
        changed = shown.get(&federation, &format!("/members?since={revision}")).json();
        state(&changed, 1) == Some("away".into())
    });
    assert_eq!(state(&changed, 0), None, "nothing of it has changed: {changed}");
    let revision = changed["revision"].as_u64().unwrap();
    federation.release(1).unwrap();
    // An answer is good for a second.
    until("it is gone", || {
        let gone = shown.get(&federation, &format!("/members?since={revision}")).json();
        state(&gone, 1) == Some("gone".into())
    });
    assert_eq!(state(&shown.get(&federation, "/members").json(), 1), None);
    let story = shown.get(&federation, "/journal?client=1").json();
    let kinds: Vec<&str> =
        story["events"].as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.last(), Some(&"joined"), "{story}");
    assert!(kinds.contains(&"disconnected") && kinds.contains(&"released"), "{story}");
    close([shown], &federation);
    first.stop();
    federation.stop();
}

#[test]
fn whoever_is_not_let_in_is_shown_with_the_reason() {
    let federation = eager(2);
    let client = federation.client(0);
    client.stop();
    federation.remove(0).unwrap();
    let status = federation.status();
    assert_eq!((status.removed, status.members), (1, 0));
    federation.release(0).unwrap();
    let again = crate::common::open(&federation.known, federation.folder.path(), &federation.url, 0);
    until("it was turned away", || federation.status().turned_away > 0);
    let client = federation.client(1);
    let mut shown = Shown::of(&federation, Access::default(), true);
    let journal = shown.get(&federation, "/journal?client=0").json();
    assert_eq!(journal["events"][0]["kind"], "turned-away", "{journal}");
    assert!(journal["events"][0]["words"].as_str().unwrap().contains("cahoots rejoin"), "{journal}");
    let times =
        journal["events"].as_array().unwrap().iter().filter(|entry| entry["kind"] == "turned-away").count();
    assert_eq!(times, 1, "whoever tries again and again fills no journal");
    close([shown], &federation);
    again.stop();
    client.stop();
    federation.stop();
}
