//! What an apprentice cannot be, and what it cannot be asked.

use cahoots_node::client::{GainConfig, NamedArm};

use super::*;
use crate::common::{Federation, TICK, store_of, terms, until};

fn cannot_open(config: ClientConfig, words: &[&str]) {
    match Client::open(config) {
        Ok(_) => panic!("it should be refused"),
        Err(error) => {
            let text = error.to_string();
            words.iter().for_each(|word| assert!(text.contains(word), "{word:?} is not in {text:?}"));
        }
    }
}

fn of(folder: &Path, algorithm: &str, params: &str, setting: Setting) -> ClientConfig {
    ClientConfig {
        apprentice: Some(ApprenticeConfig::default()),
        ..config(folder, algorithm, params, setting)
    }
}

#[test]
fn algorithms_without_masks_several_users_and_unknown_ranges_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let folders = ["plain", "users", "range", "wider", "default", "explore"].map(at);
    folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let ranged = |setting: Setting| setting.with_reward_range((0.0, 1.0));
    let plain = of(&folders[0], "ddp-mab", "topology = \"complete\"", ranged(Setting::k_armed(2, 3)));
    cannot_open(plain, &["[apprentice]", "ddp-mab", "schedule", "Leave [apprentice] out"]);
    let users = of(&folders[1], "linucb-shared", "", ranged(Setting::linear(5, 2, 3)));
    cannot_open(users, &["[apprentice]", "5 users"]);
    let unranged = of(&folders[2], "async-linucb", "upload_ratio = inf", Setting::linear(1, 2, 3));
    cannot_open(unranged.clone(), &["[apprentice]", "reward_range = [0.0, 1.0]"]);
    // Said in the client's own file, it is known.
    let own = ApprenticeConfig { reward_range: Some((-1.0, 1.0)), ..ApprenticeConfig::default() };
    Client::open(ClientConfig { apprentice: Some(own), ..unranged }).unwrap().stop();
    let linear = || ranged(Setting::linear(1, 2, 3));
    let wider = of(&folders[3], "async-linucb", "upload_ratio = inf", linear());
    cannot_open(ClientConfig { apprentice: Some(own), ..wider }, &["[-1, 1]", "[0, 1]", "wider"]);
    let narrow = ApprenticeConfig { reward_range: Some((0.5, 1.0)), ..own };
    let default = of(&folders[4], "async-linucb", "upload_ratio = inf", linear());
    let default = ClientConfig { apprentice: Some(narrow), default_reward: Some(0.0), ..default };
    cannot_open(default, &["default_reward = 0", "between 0.5 and 1"]);
    let explore = ApprenticeConfig { explore: 0.0, ..own };
    let explore = ClientConfig {
        apprentice: Some(explore),
        ..of(&folders[5], "async-linucb", "upload_ratio = inf", linear())
    };
    cannot_open(explore, &["[apprentice] explore"]);
}

/// Where terms come from the coordinator, who cannot be an apprentice under them does not join, and says why.
#[test]
fn terms_that_come_later_are_declined() {
    let setting = Setting::linear(2, 2, 3);
    let terms = terms(&known(), "async-linucb", "ratio = 1.0", setting);
    let federation = Federation::start(&known(), terms);
    let builder =
        Client::builder(known(), crate::common::FEDERATION, 0).store(store_of(federation.folder.path(), 0));
    let builder =
        builder.coordinator(federation.url.as_str()).tick(TICK).apprentice(ApprenticeConfig::default());
    let client = builder.open().unwrap();
    until("it says why", || client.failure().is_some());
    let words = client.failure().unwrap();
    assert!(words.contains("[apprentice]") && words.contains("reward_range"), "{words}");
}

#[test]
fn a_baseline_must_be_given_known_and_possible() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&apprentice(folder.path(), 21));
    let rows = ARMS.map(|row| row.to_vec());
    let by_position = Ask::of(Arms::Features(&rows));
    refused(client.ask(&by_position), &["is an apprentice", "`baseline`"]);
    refused(client.decide(None, Arms::Features(&rows)), &["is an apprentice", "`baseline`"]);
    let (id, beyond, second) = (ArmRef::Id("red".into()), ArmRef::Position(3), ArmRef::Position(1));
    refused(client.ask(&Ask { baseline: Some(&id), ..by_position }), &["baseline: \"red\"", "positions"]);
    refused(client.ask(&Ask { baseline: Some(&beyond), ..by_position }), &["baseline: 3", "positions"]);
    let masked = [second.clone()];
    let ask = Ask { baseline: Some(&second), masked: &masked, ..by_position };
    refused(client.ask(&ask), &["baseline: 1", "masked"]);
    let named =
        [NamedArm { id: "red", features: Some(&ARMS[0]) }, NamedArm { id: "blue", features: Some(&ARMS[1]) }];
    let by_id = Ask::of(Arms::Named(&named));
    refused(client.ask(&Ask { baseline: Some(&second), ..by_id }), &["baseline: 1", "ids"]);
    let grey = ArmRef::Id("grey".into());
    refused(client.ask(&Ask { baseline: Some(&grey), ..by_id }), &["baseline: \"grey\"", "ids"]);
    // One of several that is wrong takes none.
    let right = Ask { baseline: Some(&id), ..by_id };
    refused(client.decide_all(&[right, by_id]), &["decision 1 of the 2", "`baseline`", "none of them"]);
    assert_eq!(status(&client).standing.decisions, 0);
    assert_eq!(client.decide_all(&[right, right]).unwrap().len(), 2);
    assert_eq!(status(&client).standing.decisions, 2);
    client.stop();
    // Without [apprentice] nobody is compared, and an app that thinks so is told.
    let client = open(&ClientConfig { apprentice: None, ..apprentice(folder.path(), 21) });
    refused(client.ask(&right), &["[apprentice]", "`baseline`"]);
}

/// A bound holds for rewards in its range: others are refused, whatever was picked, and the decision stays open.
#[test]
fn rewards_outside_of_the_range_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let usual = apprentice(folder.path(), 22);
    let narrow = ApprenticeConfig { reward_range: Some((0.25, 0.75)), ..usual.apprentice.unwrap() };
    let client = open(&ClientConfig { apprentice: Some(narrow), ..usual });
    for turn in 0..10 {
        let reply = ask(&client, turn % 3).unwrap();
        for reward in [0.0, 1.0, 0.2499] {
            refused(client.reward(reply.id, reward), &["between 0.25 and 0.75", "[apprentice] reward_range"]);
        }
        refused(client.reward(reply.id, 2.0), &["between 0 and 1", "reward_range"]);
        refused(client.reward(reply.id, f64::NAN), &["must be a number"]);
        client.reward(reply.id, 0.75).unwrap();
    }
    assert_eq!(client.status().open_decisions, 0);
}

/// A client that federation hurts decides by its own data, and it is those picks that are compared from then on. What its app
/// decides is no part of what federation gains it.
#[test]
fn who_has_left_the_federation_is_compared_by_its_own_picks() {
    let setting = Setting::linear(3, 3, 3).with_reward_noise(0.05).with_reward_range((-1.0, 1.0));
    let terms = terms(&known(), "async-linucb", "ratio = 1.0\nnew_client = \"at-once\"", setting);
    let federation = Federation::start(&known(), terms);
    let folder = federation.folder.clone();
    let config = |client: u32, gain: GainConfig| {
        let builder = Client::builder(known(), crate::common::FEDERATION, client);
        let builder = builder.store(store_of(folder.path(), client)).coordinator(federation.url.as_str());
        builder.tick(TICK).gain(gain).config()
    };
    let usual = GainConfig { noise: Some(0.05), ..GainConfig::default() };
    let other = open(&config(1, usual));
    until("connected", || other.status().connected);
    let mut draws = world(31);
    let rows = ARMS.map(|row| row.to_vec());
    let reward = |liked: usize, arm: usize, draws: &mut Stream| {
        let mean = if arm == liked { 0.8 } else { 0.1 };
        mean + 0.1 * (draws.uniform() - 0.5)
    };
    for _ in 0..300 {
        let decision = other.decide(None, Arms::Features(&rows)).unwrap();
        other.reward(decision.id, reward(2, decision.arm().index(), &mut draws)).unwrap();
    }
    until("all of it is merged", || federation.merged().count >= 300);
    // This client likes another arm. Its app takes the worst for it, so that there is something to be learned.
    let gain = GainConfig { leave_when_hurt: true, ..usual };
    let explore = ApprenticeConfig { explore: 0.5, ..ApprenticeConfig::default() };
    let client = open(&ClientConfig { apprentice: Some(explore), ..config(0, gain) });
    until("it knows what the others know", || client.status().downloads > 0);
    let mut turns = 0;
    while !client.gain().left {
        let (compared, reply) = (client.gain().decisions, ask(&client, 1 + turns % 2).unwrap());
        // What the app decided is not what federation decided.
        let counted = client.gain().decisions.unwrap() - compared.unwrap();
        assert_eq!(counted, u64::from(reply.decided != Decider::Baseline), "{reply:?}");
        client.reward(reply.id, reward(0, taken(&reply), &mut draws)).unwrap();
        turns += 1;
        assert!(turns < 3_000, "never: {:?}", client.gain());
    }
    let mut own = 0;
    for _ in 0..400 {
        let reply = ask(&client, 1).unwrap();
        match reply.decided {
            Decider::Baseline => assert_eq!(taken(&reply), 1),
            Decider::Alone => own += u32::from(taken(&reply) == 0),
            Decider::Federated => panic!("it has left: {reply:?}"),
        }
        client.reward(reply.id, reward(0, taken(&reply), &mut draws)).unwrap();
    }
    assert!(own > 100, "{own} decisions were its own, and right");
    assert!(in_charge(&client), "{:?}", status(&client));
}
