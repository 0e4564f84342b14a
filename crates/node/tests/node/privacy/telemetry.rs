//! What a client tells of itself beside its messages: what was spent, and what its owner chose to show, unless privacy is promised.

use cahoots_node::client::{Client, ClientConfig, Share, Telemetry};
use cahoots_node::transport::Kind;
use cahoots_node::transport::proto::{Alive, Gain, Spent, Telemetry as Told};

use super::polling::{known, polling};
use super::{Liar, config, learn};
use crate::common::{Federation, Raw, until};

fn everything() -> Telemetry {
    Telemetry { share: vec![Share::Rewards, Share::Pending, Share::Gain] }
}

impl Liar {
    /// What was said so far by whoever is there.
    fn alive(&self) -> Vec<Alive> {
        let heard = self.heard.lock().unwrap();
        let said = heard.iter().filter_map(|kind| match kind {
            Kind::Alive(alive) => Some(alive.clone()),
            _ => None,
        });
        said.collect()
    }

    /// Waits until something is said for the `nth` time.
    fn alive_again(&self, nth: usize) -> Alive {
        until("it says that it is there", || self.alive().len() >= nth);
        self.alive()[nth - 1].clone()
    }
}

/// A client that learns three times before it says for the second time that it is there.
fn said(params: &str, telemetry: Telemetry) -> (Alive, Vec<String>, String) {
    let (liar, folder) = (Liar::new(polling(params)), tempfile::tempdir().unwrap());
    let config = ClientConfig { telemetry, ..config(&known(), folder.path(), Some(&liar.url), None) };
    let client = Client::open(config).unwrap();
    until("connected", || client.status().connected);
    liar.alive_again(1);
    for _ in 0..3 {
        learn(&client, 0.5);
    }
    let _open = client.decide(None, cahoots_node::client::Arms::Plain(2)).unwrap();
    until("three come", || liar.uploads() == 3);
    let alive = liar.alive_again(2);
    let answer = (alive, client.problems(), client.privacy().words);
    client.stop();
    liar.stop();
    answer
}

#[test]
fn nothing_is_shown_that_was_not_asked_for_and_what_was_is_shown() {
    let (alive, problems, words) = said("each = 0.1", Telemetry::default());
    assert_eq!(alive.telemetry, None);
    assert!(problems.is_empty() && !words.contains("telemetry"), "{problems:?} {words}");

    let (alive, problems, words) = said("each = 0.1", everything());
    let told = alive.telemetry.expect("what was asked for");
    assert_eq!((told.rewards, told.reward_sum, told.open_decisions), (Some(3), Some(1.5), Some(1)));
    assert_eq!(told.gain, None, "it is not known");
    assert!(problems.is_empty(), "{problems:?}");
    assert!(words.contains("Shown beside: to the coordinator, as `[telemetry] share` asks"), "{words}");
    assert!(words.contains("how many rewards came and their sum"), "{words}");
}

/// Whatever its file says: numbers without noise would break the promise.
#[test]
fn where_privacy_is_promised_no_telemetry_is_on_the_wire() {
    let (alive, problems, words) = said("each = 0.1\nclaimed = 1.0", everything());
    assert_eq!(alive.telemetry, None);
    assert!(problems.iter().any(|problem| problem.contains("[telemetry] share is ignored")), "{problems:?}");
    assert!(words.contains("none of it is told"), "{words}");
    // What is told all the same is part of the statement.
    assert!(words.contains("-differential privacy for"), "{words}");
    assert!(
        words.contains("Shown beside: to the coordinator: that this client is there, and how often"),
        "{words}"
    );
    let spent = alive.spent.expect("what messages cost");
    assert_eq!((spent.releases, spent.unprotected, spent.ceiling), (3, 0, None));
    assert!((spent.epsilon.unwrap() - 0.3).abs() < 1e-6, "{spent:?}");
}

/// What a real coordinator shows of a member, and what it does not believe.
#[test]
fn a_coordinator_shows_what_it_was_told_and_no_lies() {
    let federation = Federation::start(&known(), polling("each = 0.1"));
    let raw = federation.runtime.block_on(Raw::connect(&federation.url, 0));
    let say = |spent: Spent, telemetry: Told| {
        let alive = Alive { position: 1, spent: Some(spent), telemetry: Some(telemetry) };
        federation.runtime.block_on(raw.send(Kind::Alive(alive)));
    };
    let spent = Spent {
        epsilon: Some(0.3),
        delta: 1e-5,
        unit: "one reward".into(),
        releases: 3,
        unprotected: 0,
        ceiling: Some(1.0),
    };
    let gain = Gain { low: -1.0, estimate: 0.5, high: 2.0 };
    let told = Told { rewards: Some(3), reward_sum: Some(1.5), gain: Some(gain), ..Told::default() };
    say(spent.clone(), told);
    until("it is shown", || federation.members()[0].telemetry.is_some());
    let shown = serde_json::to_value(&federation.members()[0]).unwrap();
    assert_eq!(shown["spent"]["epsilon"], 0.3);
    assert_eq!(shown["spent"]["withdrawn"], serde_json::Value::Null);
    assert_eq!(shown["telemetry"]["gain"]["high"], 2.0);
    assert_eq!(shown["telemetry"]["unsent"], serde_json::Value::Null);

    let refused = federation.status().refused;
    say(Spent { epsilon: Some(f64::NAN), ..spent.clone() }, told);
    say(spent, Told { reward_sum: Some(1e308), ..told });
    until("both are refused", || federation.status().refused == refused + 2);
    let after = serde_json::to_value(&federation.members()[0]).unwrap();
    assert_eq!((&after["spent"], &after["telemetry"]), (&shown["spent"], &shown["telemetry"]));
    assert!(federation.members()[0].connected, "it is not worth a connection");
    drop(raw);
    federation.stop();
}
