//! Rewards in parts, before their time, by default and in batches.

use cahoots_core::decision::Taken;
use cahoots_node::client::{Ack, Ask, ClientConfig, Reward, Which};
use cahoots_node::store::Look;

use crate::common::until;

use super::*;

fn part<'a>(of: impl Into<Which<'a>>, part: &'a str, value: f64) -> Reward<'a> {
    Reward { part: Some(part), ..Reward::of(of, value) }
}

fn give(client: &Client, reward: Reward<'_>) -> Result<Ack, NodeError> {
    client.reward_all(&[reward]).unwrap().remove(0)
}

/// The sum of all rewards that were learned, and their number.
fn learned(client: &Client) -> (u64, f64) {
    let history = client.history(None);
    (history.rewards.iter().sum(), history.reward_sum.iter().sum())
}

#[test]
fn parts_are_learned_as_one_reward_in_any_order_and_over_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let config = linear(folder.path());
    let client = open(&config);
    let told = client.ask(&visit("v1")).unwrap();
    assert_eq!(give(&client, part("v1", "cart", 0.25)).unwrap(), Ack::Kept);
    assert_eq!(give(&client, part(told.id, "cart", 0.25)).unwrap(), Ack::Repeated);
    refused(give(&client, part("v1", "cart", 0.5)), &["\"cart\"", "already has 0.25", "0.5"]);
    let config = killed(&config, &folder.path().join("killed"));
    let client = open(&config);
    assert_eq!(give(&client, part("v1", "cart", 0.25)).unwrap(), Ack::Repeated);
    assert_eq!(give(&client, part("v1", "click", 0.125)).unwrap(), Ack::Kept);
    assert_eq!(learned(&client), (0, 0.0));
    assert_eq!(client.reward("v1", 0.5).unwrap(), Ack::Learned);
    assert_eq!(learned(&client), (1, 0.875));
    // The same again is the same again; anything else is too late.
    assert_eq!(client.reward("v1", 0.5).unwrap(), Ack::Repeated);
    refused(client.reward("v1", 0.875), &["already has reward 0.5"]);
    assert_eq!(give(&client, part("v1", "cart", 0.25)).unwrap(), Ack::Repeated);
    refused(give(&client, part("v1", "cart", 0.5)), &["already has 0.25"]);
    refused(give(&client, part("v1", "late", 0.125)), &["\"late\"", "came after"]);
    assert_eq!(learned(&client), (1, 0.875));
    client.stop();
    let client = open(&config);
    assert_eq!(client.reward(told.id, 0.5).unwrap(), Ack::Repeated);
    assert_eq!(give(&client, part(told.id, "click", 0.125)).unwrap(), Ack::Repeated);
}

#[test]
fn parts_of_a_decision_without_a_name_need_none() {
    let folder = tempfile::tempdir().unwrap();
    let config = linear(folder.path());
    let client = open(&config);
    let rows = [vec![1.0, 0.0], vec![0.0, 1.0]];
    let decision = client.decide(None, Arms::Features(&rows)).unwrap();
    assert_eq!(give(&client, part(decision.id, "a", 0.5)).unwrap(), Ack::Kept);
    assert_eq!(client.reward(decision.id, 0.25).unwrap(), Ack::Learned);
    assert_eq!(learned(&client), (1, 0.75));
    assert_eq!(client.reward(decision.id, 0.25).unwrap(), Ack::Repeated);
    let stranger = cahoots_core::DecisionId { epoch: 1, number: 7 };
    refused(give(&client, part(stranger, "a", 0.5)), &["unknown"]);
    let given_up = client.decide(None, Arms::Features(&rows)).unwrap();
    client.abandon(given_up.id).unwrap();
    refused(give(&client, part(given_up.id, "a", 0.5)), &["unknown"]);
    let rewarded = client.decide(None, Arms::Features(&rows)).unwrap();
    client.reward(rewarded.id, 1.0).unwrap();
    refused(give(&client, part(rewarded.id, "a", 0.5)), &["has its reward"]);
}

#[test]
fn parts_stay_within_the_range_of_rewards() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&linear(folder.path()));
    client.ask(&visit("v1")).unwrap();
    refused(give(&client, part("v1", "a", 1.5)), &["between 0 and 1", "reward_range", "1.5"]);
    refused(give(&client, part("v1", "a", -0.25)), &["between 0 and 1"]);
    refused(give(&client, part("v1", "a", f64::NAN)), &["number"]);
    refused(give(&client, part("v1", "", 0.5)), &["empty"]);
    give(&client, part("v1", "a", 0.75)).unwrap();
    refused(give(&client, part("v1", "b", 0.5)), &["not 1.25"]);
    refused(client.reward("v1", 0.5), &["not 1.25"]);
    // What was refused has left no trace: the same name is free.
    give(&client, part("v1", "b", 0.25)).unwrap();
    assert_eq!(client.reward("v1", 0.0).unwrap(), Ack::Learned);
    assert_eq!(learned(&client), (1, 1.0));
    client.ask(&visit("v2")).unwrap();
    for n in 0..64 {
        give(&client, part("v2", &n.to_string(), 0.0)).unwrap();
    }
    refused(give(&client, part("v2", "one more", 0.0)), &["64 parts"]);
}

#[test]
fn a_deferred_decision_counts_once_it_is_activated() {
    let folder = tempfile::tempdir().unwrap();
    let config = linear(folder.path());
    let client = open(&config);
    let deferred = |event| Ask { deferred: true, ..visit(event) };
    for event in ["before", "after", "parts"] {
        client.ask(&deferred(event)).unwrap();
    }
    // Activated, then rewarded.
    assert_eq!(client.activate("before").unwrap(), Taken::Fresh(()));
    assert_eq!(client.activate("before").unwrap(), Taken::Repeated);
    assert_eq!(client.reward("before", 1.0).unwrap(), Ack::Learned);
    assert_eq!(client.activate("before").unwrap(), Taken::Repeated);
    // Rewarded, then activated: it waits, over a kill.
    assert_eq!(client.reward("after", 0.5).unwrap(), Ack::Kept);
    assert_eq!(client.reward("after", 0.5).unwrap(), Ack::Repeated);
    refused(client.reward("after", 0.25), &["already has reward 0.5"]);
    give(&client, part("parts", "a", 0.25)).unwrap();
    let config = killed(&config, &folder.path().join("killed"));
    let client = open(&config);
    assert_eq!(client.status().open_decisions, 2);
    assert_eq!(client.reward("after", 0.5).unwrap(), Ack::Repeated);
    assert_eq!(learned(&client), (0, 0.0), "nothing in this process yet");
    assert_eq!(client.activate("after").unwrap(), Taken::Fresh(()));
    assert_eq!(learned(&client), (1, 0.5));
    assert_eq!(client.activate("after").unwrap(), Taken::Repeated);
    assert_eq!(client.reward("after", 0.5).unwrap(), Ack::Repeated);
    refused(give(&client, part("after", "late", 0.25)), &["came after"]);
    assert_eq!(client.reward("parts", 0.5).unwrap(), Ack::Kept);
    refused(give(&client, part("parts", "b", 0.125)), &["came after"]);
    assert_eq!(client.activate("parts").unwrap(), Taken::Fresh(()));
    assert_eq!(learned(&client), (2, 1.25));
    // What was not deferred counts already; by id, too.
    let told = client.ask(&visit("at once")).unwrap();
    assert_eq!(client.activate(told.id).unwrap(), Taken::Repeated);
    client.abandon("at once").unwrap();
    refused(client.activate("at once"), &["unknown"]);
    // Without a name.
    let told = client.ask(&Ask { deferred: true, ..Ask::of(Arms::Named(&COLOURS)) }).unwrap();
    assert_eq!(client.reward(told.id, 0.25).unwrap(), Ack::Kept);
    assert_eq!(client.activate(told.id).unwrap(), Taken::Fresh(()));
    assert_eq!(client.reward(told.id, 0.25).unwrap(), Ack::Repeated);
    assert_eq!(learned(&client), (3, 1.5));
}

/// At expiry: parts are learned, the default where there are none, and nothing of what was never activated.
#[test]
fn what_expires_is_learned_by_default_once_and_not_if_it_was_never_activated() {
    let folder = tempfile::tempdir().unwrap();
    let expiry = Duration::from_millis(50);
    let config = ClientConfig { expiry, default_reward: Some(0.125), ..linear(folder.path()) };
    let client = open(&config);
    let rows = [vec![1.0, 0.0], vec![0.0, 1.0]];
    let bare = client.decide(None, Arms::Features(&rows)).unwrap();
    let named = client.ask(&visit("named")).unwrap();
    client.ask(&visit("in parts")).unwrap();
    give(&client, part("in parts", "a", 0.5)).unwrap();
    client.ask(&Ask { deferred: true, ..visit("deferred") }).unwrap();
    give(&client, part("deferred", "a", 0.25)).unwrap();
    client.reward("deferred", 0.25).unwrap();
    until("all have expired", || client.status().open_decisions == 0);
    assert_eq!(learned(&client), (3, 0.125 + 0.125 + 0.5));
    assert_eq!(client.status().expired, 4);
    refused(client.reward(bare.id, 1.0), &["already has reward 0.125"]);
    refused(client.reward("named", 1.0), &["already has reward 0.125"]);
    refused(client.reward("in parts", 1.0), &["already has reward 0.5"]);
    refused(client.activate("deferred"), &["unknown"]);
    refused(client.reward("deferred", 0.25), &["unknown"]);
    refused(give(&client, part("deferred", "a", 0.25)), &["unknown"]);
    let before = client.ask(&visit("named")).unwrap();
    assert_eq!((before.id, client.status().open_decisions), (named.id, 0));
    client.stop();
    // Nothing expires a second time.
    let client = open(&config);
    std::thread::sleep(4 * expiry);
    assert_eq!((learned(&client), client.status().expired), ((0, 0.0), 0));
}

/// Whenever a kill comes: before it expired, when it just had, or when that was on disk.
#[test]
fn a_default_is_learned_once_over_kills() {
    let folder = tempfile::tempdir().unwrap();
    let expiry = Duration::from_millis(60);
    let config = ClientConfig { expiry, default_reward: Some(0.125), ..linear(folder.path()) };
    let client = open(&config);
    let told = client.ask(&visit("v1")).unwrap();
    client.ask(&Ask { deferred: true, ..visit("never") }).unwrap();
    // Something that is on disk, so that both are.
    client.register(&[features("red", &[1.0, 0.0])], &[]).unwrap();
    for moment in 0..6 {
        let config = killed(&config, &folder.path().join(moment.to_string()));
        let client = open(&config);
        until("both have expired", || client.status().open_decisions == 0);
        let next = client.ask(&visit("next")).unwrap();
        assert_eq!(next.model, 2, "{moment}: two decisions have closed");
        assert_eq!(client.reward("v1", 0.125).unwrap(), Ack::Repeated, "{moment}");
        refused(client.reward(told.id, 1.0), &["already has reward 0.125"]);
        refused(client.reward("never", 1.0), &["unknown"]);
        std::thread::sleep(expiry / 4);
    }
}

/// Without a default they are given up, as ever.
#[test]
fn without_a_default_what_expires_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let config = ClientConfig { expiry: Duration::from_millis(30), ..linear(folder.path()) };
    let client = open(&config);
    client.ask(&visit("v1")).unwrap();
    until("it has expired", || client.status().open_decisions == 0);
    refused(client.reward("v1", 1.0), &["unknown"]);
    assert_eq!(learned(&client), (0, 0.0));
    assert_eq!(client.abandon("v1").unwrap(), Taken::Repeated);
}

#[test]
fn a_default_that_is_no_reward_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for wrong in [1.5, -1.0, f64::NAN] {
        let config = ClientConfig { default_reward: Some(wrong), ..linear(folder.path()) };
        let error = Client::open(config).err().expect("it should be refused").to_string();
        assert!(error.contains("default_reward") && error.contains("between 0 and 1"), "{error}");
    }
    open(&ClientConfig { default_reward: Some(1.0), ..linear(folder.path()) });
}

/// A client that is told the terms by its coordinator does not join with a default that those do not allow.
#[test]
fn a_default_that_the_coordinators_terms_do_not_allow_is_declined() {
    let known = crate::common::known();
    let setting = cahoots_core::Setting::linear(2, 2, 2).with_reward_range((0.0, 1.0));
    let terms = crate::common::terms(&known, "async-linucb", "ratio = 2.0", setting);
    let federation = crate::common::Federation::start(&known, terms);
    let store = federation.folder.path().join("careless");
    let builder = Client::builder(known, crate::common::FEDERATION, 0).store(store).sync(Sync::Memory);
    let client = builder.coordinator(federation.url.clone()).default_reward(-1.0).open().unwrap();
    until("it says why", || client.failure().is_some());
    let words = client.failure().unwrap();
    assert!(words.contains("default_reward = -1") && words.contains("between 0 and 1"), "{words}");
    drop(client);
    federation.stop();
}

#[test]
fn of_several_rewards_each_is_taken_or_refused_on_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let config = linear(folder.path());
    let client = open(&config);
    let told = client.decide_all(&[visit("a"), visit("b"), visit("c")]).unwrap();
    // Out of order, by either name, one of them wrong, one twice.
    let rewards = [
        Reward::of("c", 1.0),
        Reward::of("nobody", 1.0),
        Reward::of(told[0].id, 0.5),
        part("b", "x", 2.0),
        part("b", "x", 0.5),
        Reward::of("c", 1.0),
        Reward::of("c", 0.0),
    ];
    let acks = client.reward_all(&rewards).unwrap();
    let words: Vec<String> = acks
        .iter()
        .map(|ack| ack.as_ref().map_or_else(|e| e.to_string(), |ack| format!("{ack:?}")))
        .collect();
    assert_eq!([&words[0], &words[2], &words[4], &words[5]], ["Learned", "Learned", "Kept", "Repeated"]);
    assert!(words[1].contains("unknown") && words[3].contains("between 0 and 1"), "{words:?}");
    assert!(words[6].contains("already has reward 1"), "{words:?}");
    // What was acknowledged is on disk.
    let client = open(&killed(&config, &folder.path().join("killed")));
    for (event, value, ack) in
        [("c", 1.0, Ack::Repeated), ("a", 0.5, Ack::Repeated), ("b", 0.25, Ack::Learned)]
    {
        assert_eq!(client.reward(event, value).unwrap(), ack, "{event}");
    }
    refused(client.reward_all(&[]).map(|_| ()), &["at least one"]);
}

/// One commit for all of them.
#[test]
fn a_batch_of_rewards_is_one_commit() {
    let folder = tempfile::tempdir().unwrap();
    // Nothing is committed by the passage of time.
    let config = ClientConfig { tick: Duration::from_secs(3600), ..linear(folder.path()) };
    let commits = |number: usize| {
        Look::at(&killed(&config, &folder.path().join(number.to_string())).store).unwrap().commits
    };
    let client = open(&config);
    let names: Vec<String> = (0..200).map(|n| n.to_string()).collect();
    let asks: Vec<Ask<'_>> = names.iter().map(|name| visit(name)).collect();
    client.decide_all(&asks).unwrap();
    let before = commits(1);
    let rewards: Vec<Reward<'_>> = names.iter().map(|name| Reward::of(&**name, 0.5)).collect();
    assert!(client.reward_all(&rewards).unwrap().iter().all(Result::is_ok));
    assert_eq!(commits(2), before + 1);
}
