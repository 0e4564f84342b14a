//! Federations that begin from what another has merged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cahoots_algorithms::async_linucb::AsyncLinucb;
use cahoots_algorithms::hetofed::Hetofed;
use cahoots_algorithms::sync_linucb::SyncLinucb;
use cahoots_core::{LinearStats, Prior, Setting};
use cahoots_node::client::Arms;
use cahoots_node::coordinator::{Coordinator, CoordinatorConfig};
use cahoots_node::prior::{PriorFile, WarmStart, of_store};
use cahoots_node::store::{Batch, Store, Sync};
use cahoots_node::{Known, NodeError, Terms};

use crate::common::{FEDERATION, Federation, coordinator, terms, until};

fn everyone() -> Arc<Known> {
    Arc::new(Known::default().algorithm::<AsyncLinucb>().algorithm::<SyncLinucb>().algorithm::<Hetofed>())
}

fn ours(known: &Known) -> Terms {
    terms(known, "async-linucb", "ratio = 1.0", Setting::linear(2, 2, 2).kept_apart())
}

/// A federation of one client that has learned a little; its folder and what it has merged.
fn learned(known: &Arc<Known>) -> (Arc<tempfile::TempDir>, LinearStats) {
    let federation = Federation::start(known, ours(known));
    let client = federation.client(0);
    for turn in 0..8 {
        let decided = client.decide(None, Arms::Features(&[vec![f64::from(turn) / 8.0, 0.5]])).unwrap();
        client.reward(decided.id, f64::from(turn % 3)).unwrap();
    }
    until("merged", || federation.status().received == 8);
    let merged = federation.merged();
    client.stop();
    (federation.stop(), merged)
}

fn written(folder: &Path, name: &str, prior: &PriorFile) -> PathBuf {
    let path = folder.join(name);
    prior.write(&path).unwrap();
    path
}

fn handed_on(stats: LinearStats) -> PriorFile {
    PriorFile {
        kind: Prior::LINEAR.into(),
        from: "a test".into(),
        features: Vec::new(),
        prior: Prior::Linear(stats),
    }
}

fn warm(known: &Arc<Known>, terms: Terms, folder: &Path, prior: &Path, weight: f64) -> CoordinatorConfig {
    let warm_start = Some(WarmStart { prior: prior.into(), weight });
    CoordinatorConfig { warm_start, ..coordinator(known, terms, folder) }
}

/// What a coordinator's store hands on once it has stopped.
fn of(known: &Known, folder: &Path) -> PriorFile {
    of_store(known, &folder.join("coordinator")).unwrap()
}

#[test]
fn a_federation_begins_where_another_stood_and_remembers_it() {
    let known = everyone();
    let (old, merged) = learned(&known);
    let prior = of(&known, old.path());
    assert_eq!(prior.prior, Prior::Linear(merged.clone()));
    assert_eq!(prior.from, format!("8 observations of federation {FEDERATION:?} (async-linucb)"));
    let file = written(old.path(), "prior.json", &prior);

    let folder = Arc::new(tempfile::tempdir().unwrap());
    Coordinator::start(warm(&known, ours(&known), folder.path(), &file, 1.0)).unwrap().stop().unwrap();
    assert_eq!(of(&known, folder.path()).prior, prior.prior, "begun before anyone has joined");
    // From now on the section may stay, and so may the file go.
    for gone in [false, true] {
        if gone {
            std::fs::remove_file(&file).unwrap();
        }
        let again = Coordinator::start(warm(&known, ours(&known), folder.path(), &file, 1.0)).unwrap();
        again.stop().unwrap();
    }
    let federation = Federation::resume(&known, ours(&known), folder, "127.0.0.1:0");
    let began = federation.status().began_from.expect("it is remembered");
    assert_eq!((began.observations, began.words(), began.hash), (8, prior.from.clone(), prior.hash()));
    assert_eq!(federation.merged(), merged, "the same bits");
    // Nobody has sent anything here: what it began from is no saving of this federation's.
    assert_eq!(federation.status().observations, Some(0));

    // Who joins has it at once; who is forgotten takes nothing of it along.
    let client = federation.client(1);
    until("the prior has come", || client.status().downloads == 1);
    let decided = client.decide(None, Arms::Features(&[vec![1.0, 0.0]])).unwrap();
    client.reward(decided.id, 1.0).unwrap();
    until("merged", || federation.merged().count == 9);
    assert_eq!(federation.status().observations, Some(1));
    let observations = || {
        let curves = federation.runtime.block_on(federation.coordinator().curves(None)).unwrap();
        curves.observations.last().copied().flatten()
    };
    until("the curve says so", || observations() == Some(1));
    client.stop();
    federation.forget(1).unwrap();
    assert_eq!(federation.merged(), merged);
    let folder = federation.stop();
    let next = of(&known, folder.path());
    assert!(next.from.contains("which began from 8 observations of federation"), "{}", next.from);
}

#[test]
fn what_cannot_be_begun_from_is_refused_before_there_is_a_store() {
    let known = everyone();
    let folder = tempfile::tempdir().unwrap();
    let mut good = LinearStats::empty(2);
    (0..5).for_each(|i| good.observe(&[1.0, f64::from(i)], 1.0));
    let changed = |change: fn(&mut LinearStats)| {
        let mut stats = good.clone();
        change(&mut stats);
        handed_on(stats).to_json()
    };
    let text = handed_on(good.clone()).to_json();
    let cases = [
        (String::new(), "the file is empty"),
        (text[..100].into(), "cut short"),
        (text.replace("5.0", "6.0"), "not those that it was written with"),
        (handed_on(LinearStats::empty(2)).to_json(), "no observation"),
        (changed(|stats| stats.gram.packed_mut()[0] = -1.0), "sum of squares of -1"),
        (changed(|stats| stats.gram.packed_mut()[1] = 1e6), "Gram matrix"),
        (changed(|stats| stats.count = 1 << 41), "observations, where nobody makes more"),
        (
            PriorFile { kind: "linear-global".into(), ..handed_on(good.clone()) }.to_json(),
            "of kind \"linear-global\", and async-linucb begins from \"linear\"",
        ),
        (
            handed_on({
                let mut other = LinearStats::empty(3);
                other.observe(&[1.0, 2.0, 3.0], 1.0);
                other
            })
            .to_json(),
            "about 3 features, and this federation's arms have 2",
        ),
    ];
    let file = folder.path().join("prior.json");
    let refused = |terms: Terms, words: &str| {
        let error = Coordinator::start(warm(&known, terms, folder.path(), &file, 1.0)).err().expect(words);
        assert!(matches!(error, NodeError::Config(_)), "the input is wrong: {error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
        assert!(!folder.path().join("coordinator").exists(), "{words}: a store was made");
    };
    refused(ours(&known), "`cahoots prior` makes one");
    for (text, words) in cases {
        std::fs::write(&file, text).unwrap();
        refused(ours(&known), words);
    }
    std::fs::write(&file, handed_on(good.clone()).to_json()).unwrap();
    let setting = || Setting::linear(2, 2, 2).with_reward_noise(0.5);
    refused(terms(&known, "hetofed", "", setting()), "hetofed neither hands on a prior nor begins from one");
    refused(terms(&known, "async-linucb", "", setting().within(1.0, (-1.0, 1.0))), "a trace of");
    refused(terms(&known, "async-linucb", "policy = \"linphe\"", setting()), "sum of all features");
    // And the same file is taken where it fits, by another algorithm of the same kind too.
    let sync = terms(&known, "sync-linucb", "", setting());
    Coordinator::start(warm(&known, sync, folder.path(), &file, 0.5)).unwrap().stop().unwrap();
    assert_eq!(of(&known, folder.path()).prior, Prior::Linear(good).weighed(0.5));
}

#[test]
fn a_federation_begins_once() {
    let known = everyone();
    let folder = tempfile::tempdir().unwrap();
    let mut stats = LinearStats::empty(2);
    stats.observe(&[1.0, 0.5], 1.0);
    let file = written(folder.path(), "prior.json", &handed_on(stats.clone()));
    stats.observe(&[0.5, 1.0], 1.0);
    let other = written(folder.path(), "other.json", &handed_on(stats));
    let start = |folder: &Path, prior: &Path, weight| {
        let begun = Coordinator::start(warm(&known, ours(&known), folder, prior, weight));
        begun.and_then(Coordinator::stop).map_err(|e| e.to_string())
    };
    let warmed = tempfile::tempdir().unwrap();
    start(warmed.path(), &file, 1.0).unwrap();
    for (prior, weight, words) in
        [(&other, 1.0, "other.json says something else now"), (&file, 0.5, "`weight` says")]
    {
        let said = start(warmed.path(), prior, weight).unwrap_err();
        assert!(said.contains(words) && said.contains("Remove [warm_start]"), "{said}");
    }
    start(warmed.path(), &file, 1.0).unwrap();
    let cold = tempfile::tempdir().unwrap();
    Coordinator::start(coordinator(&known, ours(&known), cold.path())).unwrap().stop().unwrap();
    let said = start(cold.path(), &file, 1.0).unwrap_err();
    assert!(said.contains("began without a prior") && said.contains("remove it"), "{said}");

    // A start that was interrupted after its terms were written and before it began.
    let half = tempfile::tempdir().unwrap();
    let owner = format!("the coordinator of federation {FEDERATION:?}");
    let (mut store, _) = Store::open(&half.path().join("coordinator"), &owner, Sync::Memory).unwrap();
    let mut batch = Batch::default();
    batch.set("terms", ours(&known).to_toml().into_bytes());
    store.commit(&batch).unwrap();
    drop(store);
    std::fs::write(&file, "").unwrap();
    assert!(start(half.path(), &file, 1.0).unwrap_err().contains("the file is empty"));
    start(half.path(), &other, 1.0).unwrap();
    assert_eq!(of(&known, half.path()).prior.observations(), 2);
}

#[test]
fn a_prior_is_made_of_a_coordinators_store_that_nobody_uses() {
    let known = everyone();
    let federation = Federation::start(&known, ours(&known));
    let path = federation.folder.path().join("coordinator");
    let said = |path: &Path| of_store(&known, path).unwrap_err().to_string();
    assert!(said(&path).contains("runs: copy it with `cahoots backup FILE --to COPY`"));
    let copy = federation.folder.path().join("copy");
    federation.backup(&copy);
    assert!(said(&copy).contains("nothing is merged yet"));
    let client = federation.client(0);
    let decided = client.decide(None, Arms::Features(&[vec![1.0, 0.5]])).unwrap();
    client.reward(decided.id, 1.0).unwrap();
    until("merged", || federation.status().received == 1);
    client.stop();
    assert!(
        said(&federation.folder.path().join("client-0")).contains("a prior is made of a coordinator's store")
    );
    let copy = federation.folder.path().join("later");
    federation.backup(&copy);
    let before = files(federation.folder.path(), "later");
    assert_eq!(of_store(&known, &copy).unwrap().prior, Prior::Linear(federation.merged()));
    assert_eq!(files(federation.folder.path(), "later"), before, "it was only looked at");
    let mut bytes = std::fs::read(&copy).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&copy, bytes).unwrap();
    assert!(said(&copy).contains("damaged"));
    assert!(said(Path::new("nowhere")).contains("nowhere"));
}

fn files(folder: &Path, name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(name))
        .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
        .collect();
    all.sort();
    all
}
