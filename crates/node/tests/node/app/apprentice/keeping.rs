//! What is kept: rewards that come after a restart, or never, or while nobody compares.

use std::time::Duration;

use cahoots_node::client::Reward;

use super::*;
use crate::common::until;

fn undecided(client: &Client, decisions: usize) -> Vec<Reply> {
    (0..decisions).map(|turn| ask(client, turn as u32 % 3).unwrap()).collect()
}

/// Decisions of before a restart, a kill and another restart get their rewards in any order, some twice: all count, once.
#[test]
fn rewards_after_restarts_count_once_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = apprentice(folder.path(), 1);
    let client = open(&config);
    let mut replies = undecided(&client, 60);
    let open_before = status(&client).standing.open;
    assert!(open_before > 20, "{:?}", status(&client));
    client.stop();
    let client = open(&config);
    assert_eq!(status(&client).standing.open, open_before);
    // Every second one, from the last: what is behind an open one is kept with it.
    replies.reverse();
    for reply in replies.iter().step_by(2) {
        client.reward(reply.id, 1.0).unwrap();
    }
    let standing = status(&client).standing;
    config = killed(&config, &folder.path().join("killed"));
    let client = open(&config);
    assert_eq!(status(&client).standing, standing);
    for reply in &replies {
        client.reward(reply.id, 1.0).unwrap();
        client.reward(reply.id, 1.0).unwrap();
    }
    let standing = status(&client).standing;
    assert_eq!((standing.open, standing.differed, standing.decisions), (0, open_before, 60));
    // Of a store that is closed, nothing is left but one value: no records of what is settled.
    client.stop();
    let client = open(&config);
    assert_eq!(status(&client).standing, standing);
}

/// Rewards in parts, deferred ones, and several at once count as one reward each.
#[test]
fn rewards_in_parts_and_deferred_ones_count_when_they_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&apprentice(folder.path(), 2));
    let rows = ARMS.map(|row| row.to_vec());
    let baseline = ArmRef::Position(2);
    let deferred = |event| Ask {
        event: Some(event),
        deferred: true,
        baseline: Some(&baseline),
        ..Ask::of(Arms::Features(&rows))
    };
    let asks: Vec<String> = (0..30).map(|n| format!("visit {n}")).collect();
    let replies: Vec<Reply> = asks.iter().map(|event| client.ask(&deferred(event)).unwrap()).collect();
    let open = status(&client).standing.open;
    assert!(open > 5);
    // Asked again, the same is told, and nothing is compared twice.
    for (event, reply) in asks.iter().zip(&replies) {
        assert_eq!(client.ask(&deferred(event)).unwrap(), *reply);
    }
    assert_eq!((status(&client).standing.open, status(&client).standing.decisions), (open, 30));
    for event in &asks {
        let part = |part, value| Reward { part: Some(part), ..Reward::of(event.as_str(), value) };
        let taken =
            client.reward_all(&[part("look", 0.25), part("buy", 0.5), Reward::of(event.as_str(), 0.25)]);
        assert!(taken.unwrap().iter().all(Result::is_ok));
        // More than the range in all.
        assert!(client.reward_all(&[part("more", 0.5)]).unwrap()[0].is_err());
    }
    assert_eq!(status(&client).standing.differed, 0, "none of them counts yet");
    for event in &asks {
        client.activate(event.as_str()).unwrap();
    }
    let standing = status(&client).standing;
    assert_eq!((standing.open, standing.differed), (0, open));
}

/// Decisions that expire are left out, or count with the default reward.
#[test]
fn rewards_that_never_come_are_missing_or_the_default() {
    for default_reward in [None, Some(0.5)] {
        let folder = tempfile::tempdir().unwrap();
        let config = apprentice(folder.path(), 3);
        let config = ClientConfig { default_reward, expiry: Duration::from_millis(50), ..config };
        let client = open(&config);
        undecided(&client, 30);
        let open = status(&client).standing.open;
        assert!(open > 5);
        until("all expired", || status(&client).standing.open == 0);
        let standing = status(&client).standing;
        match default_reward {
            None => assert_eq!((standing.missing, standing.differed), (open, 0)),
            Some(_) => assert_eq!((standing.missing, standing.differed), (0, open)),
        }
        // Whoever is given up by hand is missing too.
        let more = undecided(&client, 5);
        more.iter().for_each(|reply| drop(client.abandon(reply.id)));
        assert_eq!(status(&client).standing.open, 0);
    }
}

/// [apprentice] is taken out of the file and put back: what came meanwhile was not compared, and the rest goes on. With another
/// `explore` it begins anew.
#[test]
fn what_came_while_nobody_compared_is_missing_and_other_settings_begin_anew() {
    let folder = tempfile::tempdir().unwrap();
    let config = apprentice(folder.path(), 4);
    let client = open(&config);
    let replies = undecided(&client, 40);
    for reply in &replies[..10] {
        client.reward(reply.id, 1.0).unwrap();
    }
    let before = status(&client).standing;
    client.stop();
    let client = open(&ClientConfig { apprentice: None, ..config.clone() });
    assert_eq!(client.apprentice(), None);
    for reply in &replies[10..25] {
        client.reward(reply.id, 1.0).unwrap();
    }
    client.stop();
    let client = open(&config);
    let after = status(&client).standing;
    assert_eq!(after.differed, before.differed);
    assert_eq!(after.missing + after.open, before.open);
    assert!(after.missing > 0 && after.open > 0, "{after:?}");
    for reply in &replies[25..] {
        client.reward(reply.id, 1.0).unwrap();
    }
    assert_eq!(status(&client).standing.differed, before.differed + after.open);
    client.stop();
    let other = ApprenticeConfig { explore: 0.2, ..config.apprentice.unwrap() };
    let client = open(&ClientConfig { apprentice: Some(other), ..config.clone() });
    let anew = status(&client).standing;
    assert_eq!((anew.decisions, anew.differed, anew.open, anew.round), (0, 0, 0, 1));
}
