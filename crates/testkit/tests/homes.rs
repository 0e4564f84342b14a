//! What a coordinator's log must do, wherever it lives: one suite for the store on a disk and for a stream that others keep.

use std::path::Path;
use std::time::Duration;

use cahoots_core::Setting;
use cahoots_node::coordinator::{Coordinator, CoordinatorConfig, Replicas};
use cahoots_node::identity::ServeSecurity;
use cahoots_node::inside::Platform;
use cahoots_node::limits::ServeLimits;
use cahoots_node::replica::{Beacon, Engine, Keeper, LogKey, Pulse, Replicated, Unusable};
use cahoots_node::store::{Batch, Home, Recovered, Store, StoreError, Sync};
use cahoots_node::{NodeError, Terms};
use cahoots_testkit::lockstep::ours;
use cahoots_testkit::stream::{Fault, Stream};

type Opened = Result<(Box<dyn Home>, Recovered), StoreError>;

fn key() -> LogKey {
    LogKey::new([7; 32])
}

fn lead(stream: &Stream) -> Result<(Replicated, Recovered), StoreError> {
    Replicated::lead(Path::new("the stream"), "a", key(), Box::new(stream.clone()), Platform::System)
}

fn batch(entries: &[&str], values: &[(&str, &str)]) -> Batch {
    let mut batch = Batch::default();
    entries.iter().for_each(|entry| batch.append(entry.as_bytes().to_vec()));
    values.iter().for_each(|(name, value)| batch.set(*name, value.as_bytes().to_vec()));
    batch
}

/// Runs with both homes; each is opened as often as one likes.
fn both(suite: impl Fn(&dyn Fn() -> Opened)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.store");
    suite(&|| {
        let (store, recovered) = Store::open(&path, "us", Sync::Memory)?;
        Ok((Box::new(store) as Box<dyn Home>, recovered))
    });
    let stream = Stream::default();
    suite(&|| lead(&stream).map(|(home, recovered)| (Box::new(home) as Box<dyn Home>, recovered)));
}

fn text(entries: &[Vec<u8>]) -> Vec<&str> {
    entries.iter().map(|entry| std::str::from_utf8(entry).unwrap()).collect()
}

#[test]
fn what_is_committed_is_read_again_in_its_order() {
    both(|open| {
        let (mut home, recovered) = open().unwrap();
        assert!(recovered.snapshot.is_none() && recovered.log.is_empty());
        home.commit(&batch(&["1", "2"], &[("terms", "t"), ("member/1", "m")])).unwrap();
        home.commit(&Batch::default()).unwrap();
        home.commit(&batch(&["3"], &[("member/1", ""), ("member/2", "n")])).unwrap();
        assert_eq!(home.commits(), 2);
        drop(home);
        let (home, recovered) = open().unwrap();
        assert_eq!((text(&recovered.log), home.commits(), home.entries()), (vec!["1", "2", "3"], 2, 3));
        assert_eq!(home.get("terms").unwrap().as_deref(), Some(&b"t"[..]));
        assert_eq!(home.get("member/1").unwrap(), None);
        assert_eq!(home.list("member/").unwrap(), [("member/2".to_string(), b"n".to_vec())]);
    });
}

#[test]
fn a_snapshot_takes_the_place_of_what_came_before_it() {
    both(|open| {
        let (mut home, _) = open().unwrap();
        home.commit(&batch(&["1"], &[("a", "x")])).unwrap();
        let mut second = batch(&["2"], &[("b", "y")]);
        second.snapshot(b"state".to_vec());
        home.commit(&second).unwrap();
        home.commit(&batch(&["3"], &[])).unwrap();
        drop(home);
        let (home, recovered) = open().unwrap();
        assert_eq!(recovered.snapshot.as_deref(), Some(&b"state"[..]));
        assert_eq!((text(&recovered.log), home.commits()), (vec!["3"], 3));
        assert_eq!(
            (home.get("a").unwrap(), home.get("b").unwrap()),
            (Some(b"x".to_vec()), Some(b"y".to_vec()))
        );
    });
}

#[test]
fn an_input_longer_than_a_message_is_one_all_the_same() {
    both(|open| {
        let (mut home, _) = open().unwrap();
        let mut large = Batch::default();
        large.append((0..2_500_000u32).map(|n| (n % 251) as u8).collect());
        home.commit(&large).unwrap();
        home.commit(&batch(&["next"], &[])).unwrap();
        drop(home);
        let (_, recovered) = open().unwrap();
        assert_eq!(recovered.log, [large.entries()[0].clone(), b"next".to_vec()]);
    });
}

#[test]
fn two_do_not_write_one_log() {
    both(|open| {
        let (mut first, _) = open().unwrap();
        first.commit(&batch(&["1"], &[])).unwrap();
        // A disk refuses the second; a stream lets it lead, and refuses the first from then on.
        match open() {
            Err(StoreError::Busy { .. }) => {}
            Err(error) => panic!("{error}"),
            Ok((mut second, recovered)) => {
                assert_eq!(text(&recovered.log), ["1"]);
                let mut refused = first.commit(&batch(&["by the first"], &[]));
                while let Err(StoreError::Unanswered { .. }) = refused {
                    refused = first.settle();
                }
                assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
                let again = settled(&mut *first, &batch(&["by the first, again"], &[]));
                assert!(matches!(again, Err(StoreError::Fenced { .. })), "{again:?}");
                second.commit(&batch(&["2"], &[])).unwrap();
                drop((first, second));
                assert_eq!(text(&open().unwrap().1.log), ["1", "2"]);
            }
        }
    });
}

/// Commits, whatever becomes of the answers.
fn settled(home: &mut dyn Home, batch: &Batch) -> Result<(), StoreError> {
    let mut committed = home.commit(batch);
    for _ in 0..100 {
        let Err(StoreError::Unanswered { .. }) = committed else { return committed };
        committed = home.settle();
    }
    panic!("it is never settled: {committed:?}");
}

#[test]
fn an_append_whose_answer_is_lost_is_made_once() {
    let append = [
        Fault::LostAnswer,
        Fault::LostQuestion,
        Fault::Silent,
        Fault::Late(0),
        Fault::Late(1),
        Fault::Late(2),
    ];
    let read = [None, Some(Fault::FromThePast(1)), Some(Fault::FromThePast(2)), Some(Fault::Silent)];
    for fault in append {
        for then in read {
            let stream = Stream::default();
            let (mut home, _) = lead(&stream).unwrap();
            settled(&mut home, &batch(&["1"], &[])).unwrap();
            stream.fails(fault);
            then.into_iter().for_each(|then| stream.fails(then));
            settled(&mut home, &batch(&["2"], &[("v", "2")])).unwrap();
            settled(&mut home, &batch(&["3"], &[])).unwrap();
            assert_eq!(home.get("v").unwrap(), Some(b"2".to_vec()));
            assert_eq!(text(&lead(&stream).unwrap().1.log), ["1", "2", "3"], "{fault:?} {then:?}");
        }
    }
}

#[test]
fn who_dies_in_the_middle_of_a_long_record_has_written_none_of_it() {
    let stream = Stream::default();
    let (mut home, _) = lead(&stream).unwrap();
    home.commit(&batch(&["1"], &[])).unwrap();
    let mut large = Batch::default();
    large.append(vec![1; 2_000_000]);
    home.commit(&large).unwrap();
    stream.goes_back(1);
    let (mut home, recovered) = lead(&stream).unwrap();
    assert_eq!(text(&recovered.log), ["1"]);
    home.commit(&batch(&["2"], &[])).unwrap();
    assert_eq!(text(&lead(&stream).unwrap().1.log), ["1", "2"]);
}

#[test]
fn what_was_lost_or_changed_is_said_aloud() {
    let written = || {
        let stream = Stream::default();
        let (mut home, _) = lead(&stream).unwrap();
        ["1", "2", "3"].iter().for_each(|entry| home.commit(&batch(&[entry], &[])).unwrap());
        (stream, home)
    };
    // A bit.
    let (stream, _) = written();
    stream.flips(3);
    assert!(matches!(lead(&stream), Err(StoreError::Broken { .. })));
    // Acknowledged messages, under a leader that goes on.
    let (stream, mut home) = written();
    stream.goes_back(2);
    let went_back = settled(&mut home, &batch(&["4"], &[]));
    assert!(matches!(went_back, Err(StoreError::WentBack { .. })), "{went_back:?}");
    let again = settled(&mut home, &batch(&["5"], &[]));
    assert!(matches!(again, Err(StoreError::WentBack { .. })), "{again:?}");
    // Another key.
    let (stream, _) = written();
    let other = LogKey::new([8; 32]);
    let other = Replicated::lead(Path::new("the stream"), "a", other, Box::new(stream), Platform::System);
    assert!(matches!(other, Err(StoreError::OtherKey { .. })));
}

#[test]
fn an_append_follows_the_message_that_it_names_and_no_other_of_the_same_number() {
    let stream = Stream::default();
    let (mut first, _) = lead(&stream).unwrap();
    ["1", "2"].iter().for_each(|entry| first.commit(&batch(&[entry], &[])).unwrap());
    // The log loses its end, and grows to the same length again before the first has looked.
    stream.goes_back(1);
    let (second, recovered) = lead(&stream).unwrap();
    assert_eq!((second.last(), text(&recovered.log)), (first.last(), vec!["1"]));
    let refused = settled(&mut first, &batch(&["3"], &[]));
    assert!(matches!(refused, Err(StoreError::WentBack { .. })), "{refused:?}");
    assert_eq!(stream.extent_now().last, second.last());
}

#[test]
fn a_snapshot_that_cannot_be_read_is_not_missed_while_the_log_has_its_beginning() {
    let stream = Stream::default();
    let (mut home, _) = lead(&stream).unwrap();
    stream.fails(Fault::FlippedObject);
    let mut with = batch(&["1"], &[]);
    with.snapshot(b"a state".to_vec());
    home.commit(&with).unwrap();
    home.commit(&batch(&["2"], &[])).unwrap();
    assert_eq!(stream.objects(), 1);
    let (_, recovered) = lead(&stream).unwrap();
    assert!(recovered.snapshot.is_none());
    assert_eq!(text(&recovered.log), ["1", "2"]);
    // A beginning that was changed is no matter of the key.
    stream.flips(1);
    let opened = lead(&stream);
    assert!(matches!(opened, Err(StoreError::Broken { .. })), "{opened:?}");
}

#[test]
fn a_stream_is_trimmed_behind_snapshots_that_can_be_read() {
    let stream = Stream::default();
    let (mut home, _) = lead(&stream).unwrap();
    let mut snapshot = |stream: &Stream, n: usize| {
        home.commit(&batch(&["before"], &[])).unwrap();
        let mut with = batch(&["with"], &[]);
        with.snapshot(format!("state {n}").into_bytes());
        home.commit(&with).unwrap();
        stream.extent_now().first
    };
    assert_eq!(snapshot(&stream, 1), 1);
    assert_eq!(snapshot(&stream, 2), 4, "behind the first, now that there is a second");
    stream.fails(Fault::FlippedObject);
    assert_eq!(snapshot(&stream, 3), 4, "one that cannot be read is no snapshot");
    assert_eq!(snapshot(&stream, 4), 6);
    assert_eq!(stream.extent_now().last, 9);
    let (_, recovered) = lead(&stream).unwrap();
    assert_eq!(recovered.snapshot.as_deref(), Some(&b"state 4"[..]));
    assert!(recovered.log.is_empty() && stream.objects() <= 3);
    // Who has another key would look for a beginning that is gone, without end.
    let other = LogKey::new([8; 32]);
    let opened = Replicated::open(Path::new("the stream"), other, Box::new(stream), Platform::System);
    assert!(matches!(opened, Err(StoreError::OtherKey { .. })));
}

/// A stream for coordinators that do not hear of each other.
struct Deaf(Stream);

impl Keeper for Deaf {
    fn engine(&mut self) -> Result<Box<dyn Engine>, Unusable> {
        Ok(Box::new(self.0.clone()))
    }

    fn beacon(&mut self) -> Result<Box<dyn Beacon>, Unusable> {
        Ok(Box::new(Silent))
    }
}

struct Silent;

impl Beacon for Silent {
    fn say(&mut self, _: Option<Pulse>) {}

    fn heard(&mut self) -> Option<Pulse> {
        None
    }
}

#[test]
fn who_finds_neither_the_beginning_nor_a_snapshot_says_so_and_ends() {
    let stream = Stream::default();
    let (mut home, _) = lead(&stream).unwrap();
    ["1", "2", "3"].iter().for_each(|entry| home.commit(&batch(&[entry], &[])).unwrap());
    let last = stream.extent_now().last;
    stream.clone().trim(last + 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let known = ours();
    let params = "ratio = 1.0".parse().unwrap();
    let terms = Terms::new(&known, "async-linucb", &params, Setting::linear(1, 1, 2), 0).unwrap();
    let config = CoordinatorConfig {
        known,
        federation: "us".into(),
        store: folder.path().join("a.store"),
        sync: Sync::Memory,
        terms,
        tick: Duration::from_secs(1),
        snapshot_every: 1000,
        limits: ServeLimits::default(),
        security: ServeSecurity::default(),
        warm_start: None,
        plan: None,
    };
    let replicas = Replicas {
        name: "a".into(),
        address: "http://127.0.0.1:1".into(),
        page: None,
        key: key(),
        lease: Duration::from_millis(200),
        accept_rollback: false,
        servers: "the stream".into(),
        keeper: Box::new(Deaf(stream)),
    };
    let coordinator = Coordinator::replicated(config, replicas).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let ended = runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(60), coordinator.ended()).await.is_ok() });
    assert!(ended, "it goes on looking for what nobody has");
    let why = coordinator.stop().unwrap_err();
    assert!(matches!(why, NodeError::Store(StoreError::WentBack { .. })), "{why}");
}
