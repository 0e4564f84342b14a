//! The same over HTTP, as an app in any language sees it.

use std::sync::Arc;

use cahoots_core::Setting;
use cahoots_core::homogeneity::chi_square::survival;
use cahoots_node::client::{Client, ClientConfig};
use cahoots_node::http;
use cahoots_node::limits::ClientLimits;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::common::document::{exchange, fits};
use crate::common::runtime;

pub(super) struct Served {
    runtime: Runtime,
    address: String,
    document: Value,
    folder: tempfile::TempDir,
    config: ClientConfig,
    _serving: tokio::task::JoinHandle<()>,
}

impl Served {
    pub(super) fn of(make: impl FnOnce(&std::path::Path) -> ClientConfig) -> Served {
        let folder = tempfile::tempdir().unwrap();
        let config = make(folder.path());
        Served::at(config, folder)
    }

    fn at(config: ClientConfig, folder: tempfile::TempDir) -> Served {
        let (client, runtime) = (Arc::new(Client::open(config.clone()).unwrap()), runtime());
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serving = runtime.spawn(http::serve(listener, client));
        let document = serde_json::from_str(include_str!("../../../api/client.json")).unwrap();
        Served { runtime, address, document, folder, config, _serving: serving }
    }

    /// As after a kill: what is on disk, in a process of its own.
    fn killed(self) -> Served {
        let config = super::killed(&self.config, &self.folder.path().join("killed"));
        Served::at(config, self.folder)
    }

    /// An answer that the document has, to a request that it has where it was taken.
    pub(super) fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let text = if method == "GET" { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            text.len()
        );
        let answer = exchange(&self.runtime, &self.address, &(head + &text));
        let operation = &self.document["paths"][path][method.to_lowercase()];
        let mut said = &operation["responses"][answer.status.to_string()];
        if let Some(target) = said["$ref"].as_str() {
            said = self.document.pointer(target.strip_prefix('#').unwrap()).unwrap();
        }
        let schema = &said["content"]["application/json"]["schema"];
        assert!(
            !schema.is_null(),
            "{method} {path}: {} is not in the document: {}",
            answer.status,
            answer.body
        );
        fits(&self.document, schema, &answer.json(), path);
        if method == "POST" && answer.status == 200 {
            fits(
                &self.document,
                &operation["requestBody"]["content"]["application/json"]["schema"],
                body,
                path,
            );
        }
        (answer.status, answer.json())
    }

    pub(super) fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask("POST", path, &body);
        assert_eq!(status, 200, "{path} {body}: {answer}");
        answer
    }

    #[track_caller]
    fn refused(&self, path: &str, body: Value, status: u16, words: &[&str]) {
        let (got, answer) = self.ask("POST", path, &body);
        let error = answer["error"].as_str().unwrap_or_default();
        assert_eq!(got, status, "{path} {body}: {answer}");
        words.iter().for_each(|word| assert!(error.contains(word), "{word:?} is not in {error:?}"));
    }
}

#[test]
fn an_app_moves_over_to_names() {
    let served = Served::of(super::linear);
    assert_eq!(served.ask("GET", "/arms", &Value::Null).1, json!({ "arms": [] }));
    let arms =
        json!({ "register": [{ "id": "red", "features": [1, 0] }, { "id": "blue", "features": [0, 1] }] });
    assert_eq!(served.post("/arms", arms), json!({ "arms": 2 }));
    let ask = json!({ "arms": ["red", { "id": "blue" }, { "id": "green", "features": [0.6, 0.8] }],
        "masked": ["green"], "top": 3, "event": "visit 1", "user": 0 });
    let told = served.post("/decide", ask.clone());
    assert!(["red", "blue"].contains(&told["arm"].as_str().unwrap()), "{told}");
    assert_eq!((told["event"].as_str(), told["decided"].as_str()), (Some("visit 1"), Some("alone")));
    assert!(told["score"].is_f64() && told["interval"][1].is_f64() && told["model"] == 0, "{told}");
    assert_eq!(told["ranking"].as_array().unwrap().len(), 2, "what is masked is not ranked");
    assert_eq!(told["ranking"][0]["arm"], told["arm"]);
    assert_eq!(served.post("/decide", ask.clone()), told, "the same again");
    assert_eq!(
        served.post("/reward", json!({ "event": "visit 1", "reward": 0.25, "part": "cart" }))["status"],
        "kept"
    );
    let served = served.killed();
    assert_eq!(served.post("/decide", ask), told, "after a kill, too");
    assert_eq!(served.post("/reward", json!({ "event": "visit 1", "reward": 0.5 }))["status"], "learned");
    assert_eq!(served.post("/reward", json!({ "id": told["id"], "reward": 0.5 }))["status"], "repeated");
    assert_eq!(served.post("/arms", json!({ "retire": ["red"] })), json!({ "arms": 1 }));
    let (_, left) = served.ask("GET", "/arms", &Value::Null);
    assert_eq!(left, json!({ "arms": [{ "id": "blue", "features": [0.0, 1.0] }] }));
    assert_eq!(served.post("/decide", json!({}))["arm"], "blue");
    // By position, as it was; with what is known beside.
    let bare = served.post("/decide", json!({ "arms": [[1, 0], [0, 1]] }));
    assert!(bare["arm"].is_u64() && bare["event"].is_null() && bare["ranking"].is_null(), "{bare}");
    assert!(bare["probability"] == 1.0 && bare["model"] == 1 && bare["score"].is_f64(), "{bare}");
}

#[test]
fn deferred_decisions_count_once_they_are_activated() {
    let served = Served::of(super::linear);
    let ask = |event: &str| json!({ "arms": [[1, 0], [0, 1]], "event": event, "deferred": true });
    let told = served.post("/decide", ask("a"));
    assert_eq!(served.post("/reward", json!({ "event": "a", "reward": 1 }))["status"], "kept");
    let served = served.killed();
    assert_eq!(served.post("/activate", json!({ "id": told["id"] }))["status"], "activated");
    assert_eq!(served.post("/activate", json!({ "event": "a" }))["status"], "repeated");
    assert_eq!(served.post("/reward", json!({ "event": "a", "reward": 1 }))["status"], "repeated");
    served.post("/decide", ask("b"));
    assert_eq!(served.post("/abandon", json!({ "event": "b" }))["status"], "abandoned");
    served.refused("/activate", json!({ "event": "b" }), 404, &["unknown"]);
    served.refused("/activate", json!({ "event": "c" }), 404, &["\"c\"", "unknown"]);
    served.refused("/abandon", json!({ "event": "a" }), 409, &["has its reward"]);
}

#[test]
fn several_at_once() {
    let served = Served::of(|folder| ClientConfig {
        limits: ClientLimits { batch: 4, ..ClientLimits::default() },
        ..super::linear(folder)
    });
    let one = |event: &str| json!({ "arms": [{ "id": "x", "features": [1, 0] }, { "id": "y", "features": [0, 1] }], "event": event });
    let told = served.post("/decide", json!({ "decisions": [one("a"), one("b"), { "arms": [[1, 0]] }] }));
    let told = told["decisions"].as_array().unwrap();
    assert_eq!((told.len(), &told[1]["event"], &told[2]["arm"]), (3, &json!("b"), &json!(0)));
    served.refused(
        "/decide",
        json!({ "decisions": [one("c"), { "arms": [[1]] }] }),
        400,
        &["2 are expected"],
    );
    served.refused(
        "/decide",
        json!({ "decisions": [one("c"), { "arms": ["z"] }] }),
        400,
        &["decision 1 of the 2", "\"z\"", "none of them"],
    );
    served.refused("/decide", json!({ "decisions": [] }), 400, &["at least one"]);
    served.refused(
        "/decide",
        json!({ "decisions": vec![one("c"); 5] }),
        413,
        &["limits.batch", "4 is the most"],
    );
    served.refused("/decide", json!({ "decisions": [one("c")], "user": 0 }), 400, &["stands alone"]);
    served.refused("/reward", json!({ "event": "c", "reward": 1 }), 404, &["unknown"]);
    let given = json!({ "rewards": [
        { "event": "b", "reward": 1 },
        { "event": "c", "reward": 1 },
        { "id": told[0]["id"], "event": "a", "reward": 1 },
        { "id": told[0]["id"], "reward": 7 },
    ] });
    let answers = served.post("/reward", given)["rewards"].clone();
    assert_eq!(answers[0], json!({ "status": "learned" }));
    assert_eq!(
        (&answers[1]["code"], &answers[2]["code"], &answers[3]["code"]),
        (&json!(404), &json!(400), &json!(400))
    );
    assert!(answers[2]["error"].as_str().unwrap().contains("not both"), "{answers}");
    assert!(answers[3]["error"].as_str().unwrap().contains("between 0 and 1"), "{answers}");
    // None that can be read is still an answer for each.
    let all_wrong =
        served.post("/reward", json!({ "rewards": [{ "reward": 1 }, { "id": "x", "reward": 1 }] }));
    assert_eq!(
        (&all_wrong["rewards"][0]["code"], &all_wrong["rewards"][1]["code"]),
        (&json!(400), &json!(400))
    );
    let five = json!({ "rewards": vec![json!({ "event": "a", "reward": 1 }); 5] });
    served.refused("/reward", five, 400, &["5 rewards", "limits.batch"]);
    served.refused("/reward", json!({ "rewards": [] }), 400, &["at least one"]);
    let mixed = json!({ "rewards": [{ "event": "a", "reward": 1 }], "reward": 1 });
    served.refused("/reward", mixed, 400, &["stands alone"]);
}

#[test]
fn mistakes_are_refused_with_the_fix() {
    let served = Served::of(super::linear);
    for (path, body, status, words) in [
        ("/decide", json!({}), 400, "none are registered"),
        ("/decide", json!({ "arms": ["red"] }), 400, "not registered"),
        ("/decide", json!({ "arms": [[1, 0], "red"] }), 400, "all of one kind"),
        ("/decide", json!({ "arms": [{ "features": [1, 0] }] }), 400, "missing field `id`"),
        ("/decide", json!({ "arms": [{ "id": "a", "features": [1, 0], "weight": 1 }] }), 400, "weight"),
        ("/decide", json!({ "arms": [[1, 0]], "masked": [0] }), 400, "all arms are masked"),
        ("/decide", json!({ "arms": [[1, 0]], "masked": [{}] }), 400, "expected"),
        ("/decide", json!({ "arms": [[1, 0]], "top": 1000 }), 400, "100"),
        ("/decide", json!({ "arms": [[1, 0]], "top": -1 }), 400, "expected"),
        ("/decide", json!({ "arms": [[1, 0]], "event": "" }), 400, "empty"),
        ("/decide", json!({ "arms": [[1, 0]], "event": "x".repeat(300) }), 400, "300 bytes"),
        ("/decide", json!({ "arms": [[1, 0]], "deferred": "yes" }), 400, "boolean"),
        ("/reward", json!({ "reward": 1 }), 400, "`id` or its `event`"),
        ("/reward", json!({ "event": "a" }), 400, "missing field `reward`"),
        ("/reward", json!({ "event": "a", "reward": 1, "weight": 1 }), 400, "weight"),
        ("/activate", json!({}), 400, "`id` or its `event`"),
        ("/abandon", json!({ "id": "17" }), 400, "EPOCH-NUMBER"),
        ("/arms", json!({ "register": [{ "id": "a" }] }), 400, "`features` or an `index`"),
        (
            "/arms",
            json!({ "register": [{ "id": "a", "features": [1, 0], "index": 0 }] }),
            400,
            "`features` or an `index`",
        ),
        ("/arms", json!({ "register": [{ "id": "a", "features": [1] }] }), 400, "2 are expected"),
        ("/arms", json!({ "retire": ["a"] }), 400, "not registered"),
        ("/arms", json!({ "arms": [] }), 400, "unknown field"),
    ] {
        served.refused(path, body, status, &[words]);
    }
    served.post("/decide", json!({ "arms": [[1, 0]], "event": "a" }));
    served.post("/reward", json!({ "event": "a", "reward": 0.5, "part": "p" }));
    served.refused(
        "/reward",
        json!({ "event": "a", "reward": 0.25, "part": "p" }),
        409,
        &["already has 0.5"],
    );
    served.refused("/reward", json!({ "event": "a", "reward": 0.75, "part": "q" }), 400, &["not 1.25"]);
    served.post("/reward", json!({ "event": "a", "reward": 0 }));
    served.refused("/reward", json!({ "event": "a", "reward": 0.25, "part": "q" }), 409, &["came after"]);
    let (status, answer) = served.ask("GET", "/arms", &Value::Null);
    assert_eq!((status, answer), (200, json!({ "arms": [] })));
}

/// Over many decisions each arm is taken as often as rankings said that it would be, the ones that were not taken included.
#[test]
fn arms_come_as_often_as_rankings_say() {
    const DECISIONS: usize = 2000;
    for policy in [
        "policy = \"softmax\"\ntemperature = 0.15",
        "policy = \"igw\"\ngap_weight = 2.0",
        "epsilon = 0.4",
        "policy = \"lints\"\nsampling_scale = 0.5\nsamples = 10\nepsilon = 0.1",
    ] {
        let served = Served::of(|folder| {
            let params = format!("upload_ratio = inf\n{policy}");
            super::config(folder, "async-linucb", &params, Setting::linear(1, 2, 4))
        });
        let rows = [("a", [1.0, 0.0]), ("b", [0.6, 0.8]), ("c", [0.0, 1.0]), ("d", [-0.6, 0.8])];
        let new: Vec<Value> = rows.iter().map(|(id, x)| json!({ "id": id, "features": x })).collect();
        served.post("/arms", json!({ "register": new }));
        for _ in 0..30 {
            let told = served.post("/decide", json!({}));
            let (_, x) = rows.iter().find(|(id, _)| told["arm"] == *id).unwrap();
            served.post("/reward", json!({ "id": told["id"], "reward": 0.5 * x[0] + 0.4 * x[1] }));
        }
        let (mut times, mut expected) = ([0.0; 4], [0.0; 4]);
        let place = |arm: &Value| rows.iter().position(|(id, _)| arm == *id).unwrap();
        let batch: Vec<Value> = (0..500).map(|_| json!({ "top": 4, "masked": [] })).collect();
        for _ in 0..DECISIONS / 500 {
            let told = served.post("/decide", json!({ "decisions": batch }));
            for told in told["decisions"].as_array().unwrap() {
                times[place(&told["arm"])] += 1.0;
                for ranked in told["ranking"].as_array().unwrap() {
                    expected[place(&ranked["arm"])] += ranked["probability"].as_f64().unwrap();
                }
            }
        }
        assert!((expected.iter().sum::<f64>() - DECISIONS as f64).abs() < 1e-6, "{policy}: {expected:?}");
        assert!(
            expected.iter().all(|expected| *expected > 20.0),
            "{policy}: too certain to compare: {expected:?}"
        );
        let statistic: f64 = times.iter().zip(expected).map(|(n, m)| (n - m) * (n - m) / m).sum();
        let p = survival(statistic, 3.0, 0.0);
        assert!(p > 1e-3, "{policy}: {times:?} where {expected:?} were to be expected");
    }
}
