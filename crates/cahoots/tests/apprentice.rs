//! A client that is its app's apprentice, as a process that is killed: what was acknowledged counts.

#[path = "running/mod.rs"]
mod running;

use std::path::Path;

use running::{Running, asked, cahoots};
use serde_json::{Value, json};

/// Terms of its own, and a coordinator that is not there.
fn write_file(folder: &Path, apprentice: &str, kind: &str) {
    let text = format!(
        r#"
        federation = "shops"
        coordinator = "http://127.0.0.1:9"
        client = 0
        store = "client.store"
        {apprentice}

        [terms.algorithm]
        {kind}

        [terms.setting]
        users = 1
        dim = 2
        arms = 2
        reward_range = [0.0, 1.0]
        "#
    );
    std::fs::write(folder.join("client.toml"), text).unwrap();
}

const LINUCB: &str = "kind = \"async-linucb\"\nupload_ratio = inf";

fn standing(folder: &Path) -> Value {
    asked(folder, &["status", "client.toml", "--json"])["apprentice"].clone()
}

/// The app takes `blue`, and only `red` earns. Every few rewards the client is killed, with decisions that wait.
#[test]
fn killed_every_few_rewards_it_takes_over_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    write_file(folder.path(), "[apprentice]\nexplore = 0.3", LINUCB);
    let offer = json!({
        "arms": [{ "id": "red", "features": [1, 0] }, { "id": "blue", "features": [0, 1] }],
        "baseline": "blue",
    });
    let mut waiting: Vec<Value> = Vec::new();
    let (mut kills, mut before) = (0, Value::Null);
    'until_it_takes_over: loop {
        let client = Running::start(folder.path(), "client", "client.toml");
        if kills > 0 {
            assert_eq!(standing(folder.path()), before, "after kill {kills}");
        }
        for turn in 0..6 {
            let (status, decided) = client.post("/decide", &offer);
            assert_eq!(status, 200, "{decided}");
            let by = decided["decided"].as_str().unwrap();
            assert!(by == "alone" || by == "baseline" && decided["arm"] == "blue", "{decided}");
            let share = if before["mode"] == "in-charge" { 0.7 } else { 0.3 };
            let probability = decided["probability"].as_f64().unwrap();
            let possible = [share, 1.0 - share, 1.0];
            assert!(possible.iter().any(|p| (p - probability).abs() < 1e-12), "{decided}");
            // Some wait for a later start.
            waiting.push(decided);
            if turn % 3 == 0 {
                continue;
            }
            let decided = waiting.remove(0);
            let reward = f64::from(u8::from(decided["arm"] == "red"));
            let (status, answer) = client.post("/reward", &json!({ "id": decided["id"], "reward": reward }));
            assert_eq!((status, &answer["status"]), (200, &json!("learned")), "{answer}");
        }
        before = standing(folder.path());
        if before["mode"] == "in-charge" {
            break 'until_it_takes_over;
        }
        kills += 1;
        assert!(kills < 60, "{before}");
        // Dropped, it is killed.
    }
    assert!(kills > 2 && before["low"].as_f64().unwrap() > 0.0, "{kills} {before}");
    let client = Running::start(folder.path(), "client", "client.toml");
    assert_eq!(standing(folder.path())["mode"], "in-charge");
    let words =
        String::from_utf8(cahoots(folder.path(), &["status", "client.toml", "--text"]).stdout).unwrap();
    assert!(words.contains("apprentice.mode") && words.contains("This client is in charge"), "{words}");
    client.stop();
}

#[test]
fn what_it_cannot_be_is_said_before_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    for (apprentice, words) in [
        ("[apprentice]\nexplore = 0", "[apprentice] explore"),
        ("[apprentice]\nerror = 2.0", "[apprentice] error"),
        ("[apprentice]\nshare = 0.1", "share"),
        ("[apprentice]\nreward_range = [0.0, 2.0]", "[apprentice] reward_range = [0, 2]"),
    ] {
        write_file(folder.path(), apprentice, LINUCB);
        running::refused(folder.path(), &["client", "client.toml"], words);
    }
}
