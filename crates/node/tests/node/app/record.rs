//! The record of decisions: what is in it, over restarts, kills, and decisions that never close.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use cahoots_node::client::{Arms, Ask, ClientConfig};
use cahoots_node::decisions::{DecisionLogConfig, Known, Outcome, Row};

use super::{COLOURS, killed, linear, open, visit};

fn recording(folder: &Path) -> ClientConfig {
    ClientConfig { decisions: Some(DecisionLogConfig::new(folder.join("kept"))), ..linear(folder) }
}

/// All rows, once the client has stopped.
fn rows(folder: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(folder.join("kept/client-0.rows")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_decision_is_recorded_when_it_closes_with_all_that_was_known() {
    let folder = tempfile::tempdir().unwrap();
    let config = recording(folder.path());
    let client = open(&config);
    let context = BTreeMap::from([("evening".to_string(), Known::Number(1.0))]);
    let ask = Ask { context: Some(&context), ..visit("visit 1") };
    let reply = client.ask(&ask).unwrap();
    let bare = client.decide(None, Arms::Flat(&[1.0, 0.0, 0.0, 1.0])).unwrap();
    client.reward(bare.id, 0.25).unwrap();
    client.reward("visit 1", 1.0).unwrap();
    client.reward("visit 1", 1.0).unwrap();
    let given_up = client.decide(None, Arms::Named(&COLOURS)).unwrap();
    client.abandon(given_up.id).unwrap();
    assert_eq!(client.status().decision_log.unwrap().lost, 0);
    client.stop();
    let rows = rows(folder.path());
    let [first, second, third] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((&first.decision, &first.arm, first.reward), (&bare.id.to_string(), &"0".into(), Some(0.25)));
    assert_eq!(first.offered, ["0", "1"]);
    assert_eq!(
        (second.event.as_deref(), second.reward, second.outcome),
        (Some("visit 1"), Some(1.0), Outcome::Rewarded)
    );
    assert_eq!((&second.offered, &second.context), (&vec!["red".to_string(), "blue".into()], &context));
    assert_eq!((second.propensity, second.model), (reply.taken.probability, reply.model));
    let taken = COLOURS.iter().find(|colour| colour.id == second.arm).unwrap();
    assert_eq!(second.features, taken.features.unwrap());
    assert!(second.time <= second.closed && second.decided == "alone");
    assert_eq!((third.reward, third.outcome), (None, Outcome::Abandoned));
}

#[test]
fn what_was_decided_before_a_kill_is_recorded_after_it_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let config = recording(folder.path());
    let client = open(&config);
    client.ask(&visit("old")).unwrap();
    client.ask(&visit("other")).unwrap();
    client.reward("other", 0.5).unwrap();
    let other = tempfile::tempdir().unwrap();
    let again = killed(&config, other.path());
    client.stop();
    let client =
        open(&ClientConfig { decisions: Some(DecisionLogConfig::new(other.path().join("kept"))), ..again });
    client.reward("old", 1.0).unwrap();
    client.reward("other", 0.5).unwrap();
    client.stop();
    let rows = rows(other.path());
    let events: Vec<_> = rows.iter().map(|row| (row.event.clone().unwrap(), row.reward)).collect();
    assert_eq!(events, [("old".to_string(), Some(1.0))]);
}

#[test]
fn what_expires_is_worth_what_the_file_says() {
    let folder = tempfile::tempdir().unwrap();
    let config = ClientConfig {
        expiry: Duration::from_millis(50),
        default_reward: Some(0.0),
        ..recording(folder.path())
    };
    let client = open(&config);
    client.ask(&visit("silent")).unwrap();
    client.ask(&Ask { deferred: true, ..visit("never shown") }).unwrap();
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while client.status().expired < 2 {
        assert!(std::time::Instant::now() < until, "they do not expire");
        std::thread::sleep(Duration::from_millis(10));
    }
    client.stop();
    let mut found: Vec<_> =
        rows(folder.path()).into_iter().map(|row| (row.event, row.reward, row.outcome)).collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [
        (Some("never shown".to_string()), None, Outcome::Abandoned),
        (Some("silent".to_string()), Some(0.0), Outcome::Default),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_folder_that_is_gone_stops_no_decision() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let config = ClientConfig {
        decisions: Some(DecisionLogConfig { rotate_rows: 1, ..DecisionLogConfig::new(&kept) }),
        ..linear(folder.path())
    };
    let client = open(&config);
    std::fs::remove_dir_all(&kept).unwrap();
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while client.problems().is_empty() {
        client.ask(&visit("a")).unwrap();
        client.reward("a", 1.0).unwrap();
        assert!(std::time::Instant::now() < until, "nothing is said");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(client.problems()[0].contains("record of decisions"), "{:?}", client.problems());
}
