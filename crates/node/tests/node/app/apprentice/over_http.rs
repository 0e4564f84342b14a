//! As an app in any language sees it; the document has all that is asked and answered.

use serde_json::{Value, json};

use super::super::over_http::Served;
use super::*;

const COLOURS: [(&str, [f64; 3]); 3] = [("red", ARMS[0]), ("green", ARMS[1]), ("blue", ARMS[2])];

fn offer(baseline: &str) -> Value {
    let arms: Vec<Value> =
        COLOURS.iter().map(|(id, features)| json!({ "id": id, "features": features })).collect();
    json!({ "arms": arms, "baseline": baseline, "top": 3 })
}

#[test]
fn an_app_is_told_whose_pick_it_got_and_how_it_stands() {
    let served = Served::of(|folder| apprentice(folder, 41));
    let mut world = world(41);
    let mut deciders = std::collections::BTreeSet::new();
    let mut turns = 0;
    let standing = || served.ask("GET", "/status", &Value::Null).1["apprentice"].clone();
    assert_eq!((&standing()["mode"], &standing()["differed"]), (&json!("apprentice"), &json!(0)));
    // The app takes blue, and green is better.
    while standing()["mode"] == "apprentice" {
        let decided = served.post("/decide", offer("blue"));
        deciders.insert(decided["decided"].as_str().unwrap().to_string());
        if decided["decided"] == "baseline" {
            assert_eq!(decided["arm"], "blue");
        }
        let odds: f64 = decided["ranking"]
            .as_array()
            .unwrap()
            .iter()
            .map(|arm| arm["probability"].as_f64().unwrap())
            .sum();
        assert!((odds - 1.0).abs() < 1e-12, "{decided}");
        let mean = if decided["arm"] == "green" { 0.9 } else { 0.1 };
        let reward = f64::from(world.uniform() < mean);
        served.post("/reward", json!({ "id": decided["id"], "reward": reward }));
        turns += 1;
        assert!(turns < 2_000, "{}", standing());
    }
    assert_eq!(deciders.into_iter().collect::<Vec<_>>(), ["alone", "baseline"]);
    assert!(standing()["low"].as_f64().unwrap() > 0.0);
    assert!(standing()["words"].as_str().unwrap().contains("in charge"));
    for (body, words) in [
        (json!({ "arms": [ARMS[0], ARMS[1]] }), "say what the app would have done itself"),
        (json!({ "arms": [ARMS[0], ARMS[1]], "baseline": null }), "say what the app would have done itself"),
        (json!({ "arms": [ARMS[0], ARMS[1]], "baseline": 2 }), "baseline: 2 is not among"),
        (json!({ "arms": [ARMS[0], ARMS[1]], "baseline": 1, "masked": [1] }), "cannot be chosen this time"),
        (
            json!({ "decisions": [offer("red"), { "arms": [ARMS[0]], "baseline": "red" }] }),
            "decision 1 of the 2",
        ),
    ] {
        let (status, answer) = served.ask("POST", "/decide", &body);
        let said = answer["error"].as_str().unwrap();
        assert!(status == 400 && said.contains(words), "{body}: {status} {said}");
    }
    let decided = served.post("/decide", offer("red"));
    let (status, answer) = served.ask("POST", "/reward", &json!({ "id": decided["id"], "reward": 1.5 }));
    assert!(status == 400 && answer["error"].as_str().unwrap().contains("reward_range"), "{answer}");
}
