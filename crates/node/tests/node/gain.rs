//! A client's gain from federation, in a deployment: over kills, and when federation hurts.

use std::path::Path;

use cahoots_core::{Keys, NodeId, Setting, Stream};
use cahoots_node::client::{ArmRef, Arms, Ask, Client, ClientConfig, Decider, GainConfig, GainStatus};

use crate::common::{FEDERATION, Federation, TICK, known, store_of, terms, until};

const DIM: usize = 3;

fn config(folder: &Path, url: Option<&str>, client: u32, gain: GainConfig) -> ClientConfig {
    let builder = Client::builder(known(), FEDERATION, client).store(store_of(folder, client)).tick(TICK);
    ClientConfig {
        coordinator: url.map(Into::into),
        longest_pause: TICK,
        sync: cahoots_node::store::Sync::Memory,
        gain,
        ..builder.config()
    }
}

/// Arms to choose from, another set each time.
fn offer(rng: &mut Stream) -> Vec<Vec<f64>> {
    let row = |rng: &mut Stream| {
        let x: Vec<f64> = (0..DIM).map(|_| rng.normal()).collect();
        let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        x.iter().map(|v| v / norm).collect()
    };
    (0..6).map(|_| row(rng)).collect()
}

/// Decides and rewards by a taste for one feature.
fn learn(client: &Client, rng: &mut Stream, taste: f64) {
    let arms = offer(rng);
    let decision = client.decide(None, Arms::Features(&arms)).unwrap();
    let value = taste * arms[decision.arm().index()][0] + 0.05 * rng.normal();
    client.reward(decision.id, value).unwrap();
}

fn linear() -> Setting {
    Setting::linear(3, DIM, 6).with_reward_noise(0.05)
}

/// A client that is killed goes on with a shadow of one moment: never with counts of one and sums of another.
#[test]
fn after_a_kill_the_gain_is_one_that_was_true_before() {
    let folder = tempfile::tempdir().unwrap();
    let open = |folder: &Path| {
        let terms = terms(&known(), "async-linucb", "upload_ratio = inf\npolicy = \"softmax\"", linear());
        let config = config(folder, None, 0, GainConfig::default());
        Client::open(ClientConfig { terms: Some(terms), snapshot_every: 50, ..config }).unwrap()
    };
    let client = open(folder.path());
    let mut rng = Keys::from_seed(4).policy(NodeId(0), 0);
    let mut seen: Vec<GainStatus> = vec![client.gain()];
    for _ in 0..150 {
        let arms = offer(&mut rng);
        let decision = client.decide(None, Arms::Features(&arms)).unwrap();
        seen.push(client.gain());
        client.reward(decision.id, arms[decision.arm().index()][0]).unwrap();
        seen.push(client.gain());
    }
    // What a kill would leave: the files as they are.
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    let found = open(copy.path()).gain();
    assert!(seen.contains(&found), "{found:?}");
    assert!(found.decisions.unwrap() > 50, "most of it was kept: {found:?}");
    // Who stops loses nothing.
    let last = client.gain();
    client.stop();
    assert_eq!(open(folder.path()).gain(), last);
}

#[test]
fn why_it_is_not_known_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let off = GainConfig { shadow: false, ..GainConfig::default() };
    let terms = || terms(&known(), "async-linucb", "upload_ratio = inf", linear());
    let client =
        Client::open(ClientConfig { terms: Some(terms()), ..config(folder.path(), None, 0, off) }).unwrap();
    assert!(client.gain().words.contains("shadow = false"), "{:?}", client.gain());
    client.stop();
    // Before it knows any terms.
    let client = Client::open(config(folder.path(), None, 1, GainConfig::default())).unwrap();
    assert!(client.gain().words.contains("has not joined"), "{:?}", client.gain());
    client.stop();
    // Rewards that are noisier than was said: no interval is better than a false one.
    let usual = config(folder.path(), None, 2, GainConfig::default());
    let client = Client::open(ClientConfig { terms: Some(terms()), ..usual }).unwrap();
    let mut rng = Keys::from_seed(4).policy(NodeId(0), 0);
    for _ in 0..60 {
        let arms = offer(&mut rng);
        let decision = client.decide(None, Arms::Features(&arms)).unwrap();
        client.reward(decision.id, if rng.uniform() < 0.5 { 1.0 } else { 0.0 }).unwrap();
    }
    let gain = client.gain();
    assert!(gain.low.is_none() && gain.words.contains("[gain] noise"), "{gain:?}");
    client.stop();
}

/// One client likes what the others do not: it finds out, leaves if told to, stays away over a restart, and comes back when
/// its file says so.
#[test]
fn a_client_that_federation_hurts_leaves_it_and_stays_away() {
    let federation = Federation::start(
        &known(),
        terms(&known(), "async-linucb", "ratio = 1.0\nnew_client = \"at-once\"", linear()),
    );
    let folder = federation.folder.clone();
    let url = Some(federation.url.as_str());
    let other = Client::open(config(folder.path(), url, 1, GainConfig::default())).unwrap();
    until("connected", || other.status().connected);
    let mut rng = Keys::from_seed(9).policy(NodeId(1), 0);
    for _ in 0..600 {
        learn(&other, &mut rng, 1.0);
    }
    let merged = || federation.merged().count;
    until("all of it is merged", || merged() >= 600);
    let watching = GainConfig::default();
    let client = Client::open(config(folder.path(), url, 0, watching)).unwrap();
    until("it knows what the others know", || client.status().downloads > 0);
    let arms = offer(&mut rng);
    let decision = client.decide(None, Arms::Features(&arms)).unwrap();
    assert!(decision.decided == Decider::Federated && decision.model > 0, "{decision:?}");
    let hurt = |client: &Client| client.gain().high.is_some_and(|high| high < 0.0);
    let mut decisions = 0;
    while !hurt(&client) {
        learn(&client, &mut rng, -1.0);
        decisions += 1;
        assert!(decisions < 2000, "never: {:?}", client.gain());
    }
    let problem = client.problems().join("\n");
    assert!(
        problem.contains("federation hurts this client") && problem.contains("leave_when_hurt"),
        "{problem}"
    );
    assert!(client.gain().words.contains("hurts") && !client.gain().left, "{:?}", client.gain());
    client.stop();

    let leaving = GainConfig { leave_when_hurt: true, ..watching };
    let client = Client::open(config(folder.path(), url, 0, leaving)).unwrap();
    until("connected", || client.status().connected);
    while !client.gain().left {
        learn(&client, &mut rng, -1.0);
        decisions += 1;
        assert!(decisions < 2000, "never: {:?}", client.gain());
    }
    assert!(client.problems().is_empty(), "{:?}", client.problems());
    let compared = client.gain().decisions;
    // It likes small values of the first feature, and by its own data it knows.
    let before = client.status().uploads;
    let mut sum = 0.0;
    for _ in 0..50 {
        let arms = offer(&mut rng);
        let reply = client.ask(&Ask { top: 6, ..Ask::of(Arms::Features(&arms)) }).unwrap();
        assert_eq!((reply.decided, reply.taken.probability), (Decider::Alone, Some(1.0)));
        // What is ranked is what own data alone say.
        let ranking = reply.ranking.unwrap();
        assert!(ranking[0] == reply.taken && ranking.is_sorted_by(|a, b| a.score >= b.score), "{ranking:?}");
        let ArmRef::Position(arm) = reply.taken.arm else { panic!("by position: {:?}", reply.taken) };
        let best = arms.iter().map(|x| -x[0]).fold(f64::NEG_INFINITY, f64::max);
        let value = -arms[arm as usize][0];
        sum += best - value;
        client.reward(reply.id, value).unwrap();
    }
    assert!(sum / 50.0 < 0.3, "its own data decide: {} lost each time", sum / 50.0);
    assert_eq!(client.gain().decisions, compared, "nothing is compared any more");
    assert!(client.status().uploads > before, "the others still learn from it");
    client.stop();

    let client = Client::open(config(folder.path(), url, 0, leaving)).unwrap();
    assert!(client.gain().left, "over a restart");
    client.stop();
    let client = Client::open(config(folder.path(), url, 0, watching)).unwrap();
    assert!(!client.gain().left, "until its file says otherwise");
    client.stop();
    other.stop();
    federation.stop();
}
