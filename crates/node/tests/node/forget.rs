//! `cahoots members FILE remove N --forget`: one client's contribution is taken out of a running federation, everyone
//! is sent the sum of the others, and no kill, restart or replay brings it back. What is left is, byte for byte, a fold over
//! the others' uploads in the coordinator's log.

use std::sync::Arc;

use crate::common;
use crate::common::{FEDERATION, Federation, PATIENCE, Raw, until};
use cahoots_algorithms::async_linucb::Server;
use cahoots_algorithms::registry;
use cahoots_core::drive::{Event, Input, Timed, saved_server};
use cahoots_core::wire::payload::Shape;
use cahoots_core::{Keys, LinearStats, Membership, NodeId, Ruling, Setting, snapshot, wire};
use cahoots_node::client::{Arms, Client};
use cahoots_node::config::ServeFile;
use cahoots_node::store::{Look, Store, Sync};
use cahoots_node::transport::Kind;
use cahoots_node::{Known, Terms};
use prost::Message as _;

const LIAR: u32 = 1;

fn known() -> Arc<Known> {
    Arc::new(Known::new(registry::ours()))
}

fn terms(setting: Setting) -> Terms {
    common::terms(&known(), "async-linucb", "ratio = 1.0", setting)
}

/// One arm, so that what is learned does not depend on when a view comes.
fn learn(client: &Client, context: [f64; 2], reward: f64) {
    let decision = client.decide(None, Arms::Features(&[context.to_vec()])).unwrap();
    client.reward(decision.id, reward).unwrap();
    client.drain(PATIENCE).unwrap();
}

/// Three clients learn in turn, one of them perhaps not; whoever does and is not to be is forgotten.
fn after(scale: f64, liar: bool) -> (Federation, Vec<Client>) {
    let federation = Federation::start(&known(), terms(Setting::linear(3, 2, 2).kept_apart()));
    let clients: Vec<Client> = (0..3).map(|client| federation.client(client)).collect();
    for i in 1..=6 {
        for (client, weight) in clients.iter().zip([1.0, 100.0, 3.0]) {
            if weight != 100.0 || liar {
                learn(client, [weight * scale, scale * f64::from(i)], f64::from(i % 3) * scale);
            }
        }
    }
    if liar {
        assert_eq!(federation.merged().count, 18);
        federation.forget(LIAR).unwrap();
    }
    (federation, clients)
}

fn close(one: &LinearStats, other: &LinearStats) -> bool {
    let values = |stats: &LinearStats| [stats.gram.packed(), &stats.moment].concat();
    one.count == other.count
        && values(one).iter().zip(values(other)).all(|(a, b)| (a - b).abs() <= 1e-13 * a.abs().max(b.abs()))
}

#[test]
fn what_is_left_is_what_there_would_be_without_it() {
    for scale in [0.125, 1.0 / 3.0] {
        let [with, without] = [true, false].map(|liar| {
            let (federation, clients) = after(scale, liar);
            let merged = federation.merged();
            // The others go on from there.
            learn(&clients[0], [scale, -scale], scale);
            let later = federation.merged();
            clients.into_iter().for_each(Client::stop);
            federation.stop();
            [merged, later]
        });
        for (with, without) in with.iter().zip(&without) {
            assert!(close(with, without), "{scale}: {with:?} {without:?}");
            // Sums of eighths are exact in any order; those of thirds differ in the last place.
            assert!(scale != 0.125 || with == without, "{with:?} {without:?}");
        }
        assert_eq!((with[0].count, with[1].count), (12, 13));
    }
}

/// All that a coordinator has logged, in a copy of its store as a kill would leave it.
fn logged(federation: &Federation) -> Vec<Vec<u8>> {
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(federation.folder.path()).unwrap().map(Result::unwrap) {
        let name = file.file_name().into_string().unwrap();
        if file.file_type().unwrap().is_file() && name.starts_with("coordinator") {
            std::fs::copy(file.path(), copy.path().join(name)).unwrap();
        }
    }
    let look = Look::at(&copy.path().join("coordinator")).unwrap();
    assert!(look.snapshot.is_none(), "the log has its beginning");
    look.log
}

fn read(entry: &[u8]) -> Event<Vec<u8>> {
    let (Timed { input, .. }, _) = postcard::take_from_bytes::<Timed<Input<()>>>(entry).unwrap();
    let Input::Event(event) = input else { panic!("{input:?}") };
    event
}

fn replayed<'a>(federation: &Federation, log: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let live = federation.terms.live(&federation.known).unwrap();
    let mut machine = live.coordinator(&federation.terms, None).unwrap();
    for entry in log {
        machine.replay(entry, &Keys::from_seed(federation.terms.seed)).unwrap();
    }
    machine.save()
}

/// Of what a machine is and has on its links: all that is merged, and what of it is each client's.
fn contributions(saved: &[u8]) -> (Vec<u8>, String) {
    let server = saved_server::<Server>(saved).unwrap();
    let state = serde_json::to_value(&server).unwrap();
    (snapshot::save(server.view().stats()), state["apart"].to_string())
}

/// With a kill in between, and someone else under its number afterwards.
#[test]
fn what_is_left_is_a_fold_over_the_others_uploads_in_the_log() {
    let (federation, mut clients) = after(1.0 / 3.0, true);
    federation.release(LIAR).unwrap();
    let elsewhere = federation.folder.path().join("new-disk");
    std::fs::create_dir(&elsewhere).unwrap();
    clients.push(common::open(&federation.known, &elsewhere, &federation.url, LIAR));
    until("connected", || clients[3].status().connected);
    for (turn, client) in [0, 3, 2, 3, 0].into_iter().enumerate() {
        learn(&clients[client], [1.0 / 3.0, 0.1 * turn as f64], 0.7);
    }
    let (log, saved) = (logged(&federation), federation.saved());
    assert!(replayed(&federation, &log) == saved, "a kill here, and a replay, would end elsewhere");

    let gone = NodeId(LIAR);
    let orders = log.iter().map(|entry| read(entry) == Event::Ruling(Ruling::Forgotten(gone)));
    let order = orders.clone().position(|order| order).expect("it is logged");
    assert_eq!(orders.filter(|order| *order).count(), 1);
    let is_its = |entry: &[u8]| match read(entry) {
        Event::Message { from, .. } => from == gone,
        Event::Membership(Membership::Joined(client) | Membership::Left(client)) => client == gone,
        _ => false,
    };
    let (before, since) = log.split_at(order);
    let mine = before.iter().filter(|entry| is_its(entry)).count();
    assert!(mine >= 8, "it came, uploaded six times, and left: {mine}");
    let others: Vec<&Vec<u8>> = before.iter().filter(|entry| !is_its(entry)).chain(&since[1..]).collect();
    let fold = replayed(&federation, others);
    assert_eq!(contributions(&saved), contributions(&fold));
    assert_eq!(federation.merged().count, 12 + 5);
    clients.into_iter().for_each(Client::stop);
    federation.stop();
}

#[test]
fn no_restart_or_replay_brings_it_back_and_it_is_not_let_in() {
    let (federation, clients) = after(1.0 / 3.0, true);
    until("told", || clients[1].problems().iter().any(|problem| problem.contains("was removed")));
    let (merged, replayed) = (federation.merged(), federation.saved());
    clients.into_iter().for_each(Client::stop);
    let (address, folder, terms) =
        (federation.address(), federation.folder.clone(), federation.terms.clone());
    federation.stop();
    let owner = format!("the coordinator of federation {FEDERATION:?}");
    let (store, recovered) = Store::open(&folder.path().join("coordinator"), &owner, Sync::Memory).unwrap();
    assert!(recovered.snapshot.unwrap() == replayed, "a replay ends elsewhere");
    drop(store);
    let federation = Federation::resume(&known(), terms, folder, &address);
    assert_eq!(federation.merged(), merged);
    let refused = federation.runtime.block_on(Raw::greet(&federation.url, Raw::hello(LIAR))).err().unwrap();
    assert!(refused.contains("was removed from this federation"), "{refused}");
    // Forgotten is forgotten: nothing is taken out twice.
    federation.forget(LIAR).unwrap();
    assert_eq!(federation.merged(), merged);
    // Whoever has the number next is a member like any other, and can be forgotten like any other.
    federation.release(LIAR).unwrap();
    let elsewhere = federation.folder.path().join("new-disk");
    std::fs::create_dir(&elsewhere).unwrap();
    let heir = common::open(&federation.known, &elsewhere, &federation.url, LIAR);
    until("connected", || heir.status().connected);
    learn(&heir, [1.0, 1.0], 1.0);
    assert_eq!(federation.merged().count, merged.count + 1);
    federation.forget(LIAR).unwrap();
    assert_eq!(federation.merged(), merged);
    heir.stop();
    federation.stop();
}

#[test]
fn everyone_is_sent_the_sum_of_the_others() {
    // Nobody is ever served by the download event.
    let setting = Setting::linear(3, 2, 2).kept_apart();
    let params = "upload_ratio = 1.0\ndownload_ratio = inf";
    let federation = Federation::start(&known(), common::terms(&known(), "async-linucb", params, setting));
    let mut watcher = federation.runtime.block_on(Raw::connect(&federation.url, 2));
    let (honest, liar) = (federation.client(0), federation.client(LIAR));
    learn(&honest, [0.5, 0.25], 1.0);
    learn(&liar, [100.0, 100.0], -50.0);
    federation.forget(LIAR).unwrap();
    let view = federation.runtime.block_on(async {
        loop {
            let Some(Kind::Envelope(envelope)) = watcher.next().await else { continue };
            if let Some(Shape::View(view)) = wire::Payload::decode(&envelope.payload[..]).unwrap().shape {
                break view.stats.unwrap();
            }
        }
    });
    assert_eq!((view.count, view.gram, view.moment), (1, vec![0.25, 0.125, 0.0625], vec![0.5, 0.25]));
    until("the other has it too", || honest.status().downloads >= 2);
    honest.stop();
    liar.stop();
    federation.stop();
}

#[test]
fn where_it_is_not_kept_apart_that_is_said_and_nobody_leaves() {
    let federation = Federation::start(&known(), terms(Setting::linear(3, 2, 2)));
    let client = federation.client(LIAR);
    learn(&client, [1.0, 0.0], 1.0);
    let refused = federation.forget(LIAR).unwrap_err();
    assert!(
        refused.contains("`keep_apart = false` in [setting]") && refused.contains("Without --forget"),
        "{refused}"
    );
    assert!(federation.forget(99).unwrap_err().contains("there is no client 99"));
    learn(&client, [1.0, 0.0], 1.0);
    assert_eq!(federation.merged().count, 2);
    assert!(client.status().connected && !federation.members()[0].removed);
    client.stop();
    federation.stop();
}

/// A deployment keeps contributions apart unless its file says otherwise; a simulation does not.
#[test]
fn files_keep_contributions_apart_unless_they_say_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("serve.toml");
    let keeps = |more: &str| {
        let text = format!(
            "federation = \"f\"\nstore = \"s\"\n[setting]\nusers = 2\ndim = 2\narms = 2\n{more}\n[algorithm]\nkind = \"async-linucb\"\n"
        );
        std::fs::write(&path, text).unwrap();
        ServeFile::read(&path).unwrap().config(&known(), &path).map(|config| config.terms.setting)
    };
    assert!(keeps("").unwrap().keep_apart);
    assert!(!keeps("keep_apart = false").unwrap().keep_apart);
    assert!(!Setting::linear(2, 2, 2).keep_apart);
    let bounded = keeps("context_norm = 2.0\nreward_range = [0.0, 1.0]").unwrap();
    assert_eq!((bounded.context_norm, bounded.reward_range), (Some(2.0), Some((0.0, 1.0))));
    let refused = keeps("reward_range = [1.0, 0.0]").unwrap_err().to_string();
    assert!(refused.contains("reward_range: must be the smallest and the largest reward"), "{refused}");
}
