//! Rank, reward and activate, against the documented requests and answers of Personalizer.

use std::sync::Arc;
use std::time::Duration;

use cahoots_core::Setting;
use cahoots_node::client::{Aggregation, Client, ClientConfig, PersonalizerConfig};
use cahoots_node::http::{self, Entrance};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::config;
use crate::common::document::{Answer, exchange};
use crate::common::runtime;

const TOKEN: &str = "0123456789abcdef0123";

struct Service {
    runtime: Runtime,
    address: String,
    client: Arc<Client>,
    _folder: tempfile::TempDir,
}

impl Service {
    fn new(change: impl FnOnce(&mut ClientConfig), entrance: Entrance) -> Service {
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting::linear(1, 16, 3).with_reward_range((0.0, 1.0));
        let params = "upload_ratio = inf\npolicy = \"igw\"";
        let mut config = config(folder.path(), "async-linucb", params, setting);
        change(&mut config);
        let client = Arc::new(Client::open(config).unwrap());
        let runtime = runtime();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        runtime.spawn(http::serve_behind(listener, entrance, client.clone()));
        Service { runtime, address, client, _folder: folder }
    }

    fn usual() -> Service {
        Service::new(|_| (), Entrance::default())
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let text = format!(
            "{method} /personalizer/v1.0/{path} HTTP/1.1\r\nhost: localhost\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        exchange(&self.runtime, &self.address, &text)
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, "content-type: application/json\r\n", &body.to_string())
    }

    fn activate(&self, event: &str) -> u16 {
        self.ask("POST", &format!("events/{event}/activate"), "", "").status
    }

    fn reward(&self, event: &str, value: f64) -> u16 {
        self.post(&format!("events/{event}/reward"), &json!({ "value": value })).status
    }
}

/// The documented request.
fn documented() -> Value {
    json!({
        "contextFeatures": [{"timeOfDay": "Morning"}],
        "actions": [
            {"id": "NewsArticle", "features": [{"type": "News"}]},
            {"id": "SportsArticle", "features": [{"type": "Sports"}]},
            {"id": "EntertainmentArticle", "features": [{"type": "Entertainment"}]}
        ],
        "excludedActions": ["SportsArticle"],
        "eventId": "75269AD0-BFEE-4598-8196-C57383D38E10",
        "deferActivation": false
    })
}

#[test]
fn the_documented_requests_are_answered_as_documented() {
    let service = Service::usual();
    let answer = service.post("rank", &documented());
    assert_eq!(answer.status, 201, "{}", answer.body);
    let ranked = answer.json();
    let mut keys: Vec<&String> = ranked.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["eventId", "ranking", "rewardActionId"]);
    assert_eq!(ranked["eventId"], "75269AD0-BFEE-4598-8196-C57383D38E10");
    let ranking = ranked["ranking"].as_array().unwrap();
    assert_eq!(ranking.len(), 3);
    // Excluded actions stay where they were.
    assert_eq!(ranking[1], json!({"id": "SportsArticle", "probability": 0.0}));
    assert_eq!(ranking[0]["id"], ranked["rewardActionId"]);
    let sum: f64 = ranking.iter().map(|action| action["probability"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-12, "{ranked}");
    assert_eq!(service.post("rank", &documented()).json(), ranked, "asked again, told the same again");

    let event = "75269AD0-BFEE-4598-8196-C57383D38E10";
    let rewarded = service.post(&format!("events/{event}/reward"), &json!({"value": 1.0}));
    assert_eq!((rewarded.status, rewarded.body.as_str()), (204, ""));
    assert_eq!(service.client.status().rewards, 1);
    // The earliest counts; later ones are taken without a word.
    assert_eq!((service.reward(event, 0.0), service.client.status().reward_sum), (204, 1.0));
    assert_eq!(service.post("rank", &documented()).status, 201, "and after it is closed");
}

#[test]
fn a_deferred_event_counts_from_when_it_is_activated() {
    let service = Service::usual();
    let mut asked = documented();
    asked["deferActivation"] = json!(true);
    asked["eventId"] = json!("page 1/2");
    assert_eq!(service.post("rank", &asked).status, 201);
    assert_eq!(service.reward("page%201%2F2", 1.0), 204);
    assert_eq!(service.client.status().rewards, 0);
    assert_eq!(service.activate("page%201%2F2"), 204);
    assert_eq!(service.client.status().rewards, 1);
    assert_eq!(service.activate("never"), 404);
}

#[test]
fn without_an_id_one_is_made_and_words_are_optional() {
    let service = Service::usual();
    let least = json!({"actions": [{"id": "a"}, {"id": "b"}]});
    let one = service.post("rank", &least).json()["eventId"].as_str().unwrap().to_string();
    let other = service.post("rank", &least).json()["eventId"].as_str().unwrap().to_string();
    assert_ne!(one, other);
    assert_eq!(service.reward(&one, 0.5), 204);
}

#[test]
fn rewards_add_up_where_that_is_asked_for() {
    let service = Service::new(
        |config| {
            config.personalizer = PersonalizerConfig { rewards: Aggregation::Sum };
            config.expiry = Duration::from_millis(300);
            config.default_reward = Some(0.0);
        },
        Entrance::default(),
    );
    let mut asked = documented();
    asked["eventId"] = json!("sum");
    assert_eq!(service.post("rank", &asked).status, 201);
    asked["eventId"] = json!("nothing");
    assert_eq!(service.post("rank", &asked).status, 201);
    assert_eq!((service.reward("sum", 0.25), service.reward("sum", 0.5)), (204, 204));
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while service.client.status().rewards < 2 {
        assert!(std::time::Instant::now() < until, "they do not expire");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(service.client.status().reward_sum, 0.75, "and the default where nothing came");
}

#[test]
fn what_makes_no_sense_is_refused_in_personalizers_form() {
    let service = Service::usual();
    let many: Vec<Value> = (0..51).map(|n| json!({"id": n.to_string()})).collect();
    let refused = [
        (json!({"actions": []}), "at least one"),
        (json!({"actions": many}), "50 are the most"),
        (json!({"actions": [{"id": "a"}, {"id": "a"}]}), "twice"),
        (json!({"actions": [{"id": "a"}], "excludedActions": ["a"]}), "masked"),
        (json!({"actions": [{"id": "a"}], "excludedActions": ["b"]}), "no action \"b\""),
        (json!({"actions": [{"id": ""}]}), "empty"),
        (json!({"actionss": []}), "actionss"),
    ];
    for (body, words) in refused {
        let answer = service.post("rank", &body);
        let error = answer.json()["error"].clone();
        assert_eq!((answer.status, &error["code"]), (400, &json!("BadRequest")), "{body}");
        assert!(error["message"].as_str().unwrap().contains(words), "{words}: {error}");
    }
    assert_eq!(service.reward("unknown", 1.0), 404);
    assert_eq!(service.post("events/x/reward", &json!({"value": "much"})).status, 400);
    assert_eq!(service.ask("GET", "rank", "", "").status, 405);
    assert_eq!(service.ask("POST", "rank", "content-type: text/plain\r\n", "{}").status, 415);
    assert_eq!(service.client.status().open_decisions, 0);
}

#[test]
fn a_subscription_key_is_the_token() {
    let service = Service::new(|_| (), Entrance::new(Some(TOKEN.into()), Vec::new(), false).unwrap());
    let json = "content-type: application/json\r\n";
    let body = documented().to_string();
    let answer = service.ask("POST", "rank", json, &body);
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (401, &json!("Unauthorized")));
    let wrong = format!("{json}ocp-apim-subscription-key: {}\r\n", TOKEN.replace('0', "1"));
    assert_eq!(service.ask("POST", "rank", &wrong, &body).status, 401);
    let right = format!("{json}Ocp-Apim-Subscription-Key: {TOKEN}\r\n");
    assert_eq!(service.ask("POST", "rank", &right, &body).status, 201);
}

#[test]
fn what_is_named_is_learned() {
    let service = Service::usual();
    let mut shown = [0, 0];
    for n in 0..300 {
        let time = if n % 2 == 0 { "Morning" } else { "Evening" };
        let mut asked = documented();
        asked["contextFeatures"] = json!([{ "timeOfDay": time }]);
        asked["eventId"] = json!(n.to_string());
        asked.as_object_mut().unwrap().remove("excludedActions");
        let picked = service.post("rank", &asked).json()["rewardActionId"].as_str().unwrap().to_string();
        let good = picked == if n % 2 == 0 { "NewsArticle" } else { "SportsArticle" };
        shown[usize::from(n >= 150)] += usize::from(good);
        assert_eq!(service.reward(&n.to_string(), f64::from(u8::from(good))), 204);
    }
    // By chance a third of them, and 4.9 is six deviations of 150 such draws beyond.
    assert!(shown[1] as f64 > 50.0 + 6.0 * (150.0_f64 * 2.0 / 9.0).sqrt(), "{shown:?}");
}
