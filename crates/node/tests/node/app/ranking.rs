//! The best arms in order, with what is known of each.

use cahoots_core::Setting;
use cahoots_node::client::{ArmRef, Arms, Ask, NamedArm, Ranked, Reply};

use super::*;

const ROWS: [(&str, [f64; 2]); 5] =
    [("a", [1.0, 0.0]), ("b", [0.8, 0.6]), ("c", [0.6, 0.8]), ("d", [0.0, 1.0]), ("e", [-0.6, 0.8])];

fn offer() -> Vec<NamedArm<'static>> {
    ROWS.iter().map(|(id, features)| NamedArm { id, features: Some(features) }).collect()
}

/// A client that has learned for a while.
fn taught(folder: &Path, policy: &str) -> Client {
    let client = open(&config(
        folder,
        "async-linucb",
        &format!("upload_ratio = inf\n{policy}"),
        Setting::linear(1, 2, 5),
    ));
    for (turn, (_, x)) in ROWS.iter().cycle().take(60).enumerate() {
        let rows = [x.to_vec()];
        let decision = client.decide(None, Arms::Features(&rows)).unwrap();
        client.reward(decision.id, 0.5 * x[0] + 0.3 * x[1] + 0.1 * f64::from(turn as u32 % 3)).unwrap();
    }
    client
}

fn ask(client: &Client, top: usize, masked: &[ArmRef]) -> Reply {
    let offer = offer();
    client.ask(&Ask { top, masked, ..Ask::of(Arms::Named(&offer)) }).unwrap()
}

fn scores(ranking: &[Ranked]) -> Vec<f64> {
    ranking.iter().map(|ranked| ranked.score.unwrap()).collect()
}

#[test]
fn by_bound_the_ranking_falls_and_its_first_is_what_was_taken() {
    let folder = tempfile::tempdir().unwrap();
    let client = taught(folder.path(), "");
    let reply = ask(&client, 5, &[]);
    let ranking = reply.ranking.clone().unwrap();
    assert_eq!(ranking[0], reply.taken);
    assert!(scores(&ranking).is_sorted_by(|a, b| a >= b), "{ranking:?}");
    let mut ids: Vec<String> = ranking.iter().map(|ranked| ranked.arm.to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["\"a\"", "\"b\"", "\"c\"", "\"d\"", "\"e\""]);
    let odds: Vec<_> = ranking.iter().map(|ranked| ranked.probability.unwrap()).collect();
    assert_eq!(odds, [1.0, 0.0, 0.0, 0.0, 0.0]);
    assert!(ranking.iter().all(|ranked| ranked.interval.is_some_and(|(low, high)| low < high)));
    // Fewer, and more than there are; and what is masked is not ranked.
    assert_eq!(ask(&client, 2, &[]).ranking.unwrap(), ranking[..2]);
    assert_eq!(ask(&client, 50, &[]).ranking.unwrap(), ranking);
    assert_eq!(ask(&client, 0, &[]).ranking, None);
    let masked = ask(&client, 50, &[ranking[0].arm.clone(), ranking[2].arm.clone()]);
    let left: Vec<&ArmRef> = masked.ranking.as_ref().unwrap().iter().map(|ranked| &ranked.arm).collect();
    assert_eq!(left, [&ranking[1].arm, &ranking[3].arm, &ranking[4].arm]);
    let offer = offer();
    refused(client.ask(&Ask { top: 101, ..Ask::of(Arms::Named(&offer)) }), &["101", "100"]);
}

#[test]
fn who_draws_ranks_by_odds_which_add_up_to_one() {
    for (policy, falls) in [
        ("policy = \"softmax\"\ntemperature = 0.2", true),
        ("policy = \"igw\"\ngap_weight = 3.0", true),
        ("policy = \"greedy\"\nepsilon = 0.3", true),
        ("epsilon = 0.4", true),
        ("policy = \"uniform\"", true),
        ("policy = \"lints\"\nsampling_scale = 0.5\nsamples = 7", false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let client = taught(folder.path(), policy);
        let mut firsts = std::collections::BTreeSet::new();
        for _ in 0..30 {
            let reply = ask(&client, 5, &[]);
            let ranking = reply.ranking.unwrap();
            assert_eq!(ranking[0], reply.taken, "{policy}");
            let odds: Vec<f64> = ranking.iter().map(|ranked| ranked.probability.unwrap()).collect();
            assert!((odds.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{policy}: {odds:?}");
            assert!(odds[1..].is_sorted_by(|a, b| a >= b), "{policy}: {odds:?}");
            // The mean is what these go by: of equals, the better comes first.
            if falls && policy.contains("greedy") {
                assert!(scores(&ranking)[1..].is_sorted_by(|a, b| a >= b), "{policy}: {ranking:?}");
            }
            firsts.insert(ranking[0].arm.clone());
        }
        assert!(firsts.len() > 1, "{policy} draws");
    }
}

/// Thompson sampling cannot say how likely its arms are, and still ranks them: by the model that it drew.
#[test]
fn who_cannot_tell_odds_ranks_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let client = taught(folder.path(), "policy = \"lints\"");
    for _ in 0..10 {
        let reply = ask(&client, 5, &[]);
        let ranking = reply.ranking.unwrap();
        let ids: std::collections::BTreeSet<_> = ranking.iter().map(|ranked| ranked.arm.clone()).collect();
        assert_eq!((ids.len(), &ranking[0]), (5, &reply.taken));
        assert!(ranking.iter().all(|ranked| ranked.probability.is_none()));
    }
}

/// To be ranked changes nothing: the same decisions follow, to the bit.
#[test]
fn a_ranking_changes_nothing() {
    let run = |top: usize| {
        let folder = tempfile::tempdir().unwrap();
        let client = taught(folder.path(), "policy = \"softmax\"\ntemperature = 0.2");
        let mut taken = Vec::new();
        for _ in 0..40 {
            let reply = ask(&client, top, &[]);
            client.reward(reply.id, 0.5).unwrap();
            taken.push(reply.taken);
        }
        taken
    };
    assert_eq!(run(0), run(5));
}
