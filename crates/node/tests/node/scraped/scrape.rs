//! All that a watcher can read, and where two of that differ.

use std::sync::Arc;

use cahoots_node::face::{Access, Face};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::common::document::exchange;
use crate::common::{Federation, until};

/// All that a watcher can read, by where it is: the page, the answers, the first of the events, the metrics.
pub(super) type Scraped = Map<String, Value>;

pub(super) fn scrape(federation: &Federation) -> Scraped {
    let listener = federation.runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let face = Face::new(federation.coordinator().clone(), Access::default());
    face.is_ready();
    let serving = federation.runtime.spawn(face.serve(listener, None));
    let get = |path: &str| {
        let text = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        exchange(&federation.runtime, &address, &text)
    };
    let mut all = Map::new();
    for path in ["/status", "/members", "/model", "/history", "/journal", "/health", "/ready"] {
        all.insert(path.into(), get(path).json());
    }
    all.insert("/".into(), tiles(&get("/").body));
    let lines = get("/metrics").body;
    let lines = lines.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (name, number) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), json!(number))
    });
    all.insert("/metrics".into(), lines.collect());
    all.insert("/events".into(), federation.runtime.block_on(event(&address)));
    serving.abort();
    let _ = federation.runtime.block_on(serving);
    until("nobody looks any more", || Arc::strong_count(federation.coordinator()) == 2);
    all
}

/// What the page says before any script has run, tile by tile and around them.
fn tiles(page: &str) -> Value {
    let mut said = Map::new();
    let mut rest = page.to_owned();
    while let Some((before, after)) = page_part(&rest) {
        let name = after.split('"').next().unwrap().to_owned();
        let (tile, end) = after.split_once("</article>").unwrap();
        said.insert(name, json!(tile));
        rest = format!("{before}{end}");
    }
    assert_eq!(said.len(), 4, "{page}");
    said.insert("around".into(), json!(rest));
    Value::Object(said)
}

fn page_part(page: &str) -> Option<(&str, &str)> {
    page.split_once(r#"<article class="tile" id=""#)
}

async fn event(address: &str) -> Value {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut text = String::new();
    let mut part = [0; 4096];
    loop {
        let read = stream.read(&mut part).await.unwrap();
        assert!(read > 0, "{text}");
        text += &String::from_utf8_lossy(&part[..read]);
        if let Some((data, _)) = text.split_once("data: ").and_then(|(_, rest)| rest.split_once("\n\n")) {
            return serde_json::from_str(data).unwrap();
        }
    }
}

/// The time of day, and how many steps this process has taken: two runs of the same never agree in these.
const CLOCKS: [&str; 11] = [
    "now",
    "started",
    "since",
    "last_contact",
    "joined",
    "time",
    "revision",
    "number",
    "step_seconds",
    "commits",
    "log",
];

/// Without what no two runs share. Bytes of all frames follow from how long a federation has run: signs of life are sent in steps of
/// time, and are counted as if all were of one length, which has a test of its own.
pub(super) fn timeless(mut scraped: Scraped) -> Scraped {
    for value in scraped.values_mut() {
        without(value, &CLOCKS);
    }
    for path in ["/status", "/events"] {
        without_own(&mut scraped[path], &["bytes_received", "bytes_sent"]);
    }
    let metrics = scraped["/metrics"].as_object_mut().unwrap();
    let of_time = ["bytes_total", "start_time", "commits_total", "log_entries"];
    metrics.retain(|name, _| !of_time.iter().any(|word| name.contains(word)));
    blur(&mut scraped["/"]["tile-traffic"]);
    // A curve has a point for each second; it is its sum, or its end.
    let curves = scraped["/history"].as_object_mut().unwrap();
    curves.retain(|name, _| !name.starts_with("bytes"));
    for (name, column) in curves.iter_mut() {
        let points = column.as_array().unwrap();
        *column = match name.as_str() {
            "received" | "sent" | "refused" => json!(points.iter().filter_map(Value::as_u64).sum::<u64>()),
            _ => points.last().cloned().unwrap_or_default(),
        };
    }
    scraped
}

/// Without released numbers and what is made of them, whose kind and place still count.
pub(super) fn unreleased(scraped: &Scraped) -> Scraped {
    let mut scraped = scraped.clone();
    blur(&mut scraped["/model"]);
    // How long a message is follows from the numbers in it.
    without(&mut scraped["/members"], &["bytes_received", "bytes_sent"]);
    scraped
}

fn without(value: &mut Value, keys: &[&str]) {
    without_own(value, keys);
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|value| without(value, keys)),
        Value::Array(items) => items.iter_mut().for_each(|value| without(value, keys)),
        _ => {}
    }
}

fn without_own(value: &mut Value, keys: &[&str]) {
    if let Value::Object(fields) = value {
        fields.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// Numbers, and numbers in words, become marks; nothing is added, left out or moved.
fn blur(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(blur),
        Value::Array(items) => items.iter_mut().for_each(blur),
        Value::Number(_) => *value = json!("#"),
        Value::Bool(_) => *value = json!("yes or no"),
        Value::String(text) => {
            let marked: String = text.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
            let parts: Vec<&str> = marked.split(['#', '.']).filter(|p| !p.is_empty()).collect();
            *value = json!(parts.join("#"));
        }
        Value::Null => {}
    }
}

/// Where two differ.
pub(super) fn differences(one: &Scraped, other: &Scraped) -> Vec<String> {
    let mut found = Vec::new();
    compare("", &json!(one), &json!(other), &mut found);
    found
}

fn compare(place: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().for_each(|(key, value)| compare(&format!("{place}.{key}"), value, &b[key], found));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs.for_each(|(at, (a, b))| compare(&format!("{place}[{at}]"), a, b, found));
        }
        (a, b) if a == b => {}
        (a, b) => found.push(format!("{place}: {a} or {b}")),
    }
}
