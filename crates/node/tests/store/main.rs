//! What every store must promise: what was committed is there, what was not is
//! not, and damage is refused with a word on how to go on, never lost silently.

mod damage;
mod generations;
mod processes;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cahoots_node::store::{Batch, Recovered, Store, StoreError, Sync};

const OWNER: &str = "client 3 of federation test";

fn open(path: &Path) -> Result<(Store, Recovered), StoreError> {
    Store::open(path, OWNER, Sync::Memory)
}

fn entry(i: u64) -> Vec<u8> {
    (0..40 + i % 60).map(|j| (i * 31 + j) as u8).collect()
}

fn one(i: u64) -> Batch {
    let mut batch = Batch::default();
    batch.append(entry(i));
    batch
}

fn log(store: &mut Store, range: std::ops::Range<u64>) {
    for i in range {
        store.commit(&one(i)).unwrap();
    }
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.store");
    (folder, path)
}

/// All that a store holds.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    snapshot: Option<Vec<u8>>,
    log: Vec<Vec<u8>>,
    values: Vec<(String, Vec<u8>)>,
}

fn state(path: &Path) -> Result<State, StoreError> {
    let (store, Recovered { snapshot, log }) = open(path)?;
    Ok(State { snapshot, log, values: store.list("").unwrap() })
}

/// The files of a store, its lock aside: as a kill leaves them when it is in use.
type Files = BTreeMap<String, Vec<u8>>;

fn files(path: &Path) -> Files {
    let mut files = Files::new();
    for file in std::fs::read_dir(path.parent().unwrap()).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        if !name.ends_with(".lock") {
            files.insert(name, std::fs::read(file.path()).unwrap());
        }
    }
    files
}

/// These files and no others.
fn lay(path: &Path, files: &Files) {
    let folder = path.parent().unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}

#[test]
fn what_was_committed_is_there_and_what_was_not_is_not() {
    let (_folder, path) = folder();
    let (mut store, recovered) = open(&path).unwrap();
    assert!(recovered.snapshot.is_none() && recovered.log.is_empty());
    log(&mut store, 0..5);
    let never = one(99);
    drop((never, store));
    let (store, recovered) = open(&path).unwrap();
    assert_eq!(recovered.log, (0..5).map(entry).collect::<Vec<_>>());
    assert_eq!(store.entries(), 5);
}

#[test]
fn a_snapshot_bounds_the_log_and_covers_its_own_batch() {
    let (_folder, path) = folder();
    let (mut store, _) = open(&path).unwrap();
    log(&mut store, 0..5);
    let mut batch = one(5);
    batch.snapshot(b"state after six".to_vec());
    batch.set("epoch", vec![7]);
    store.commit(&batch).unwrap();
    assert_eq!(store.entries(), 0);
    log(&mut store, 6..8);
    drop(store);
    let (store, recovered) = open(&path).unwrap();
    assert_eq!(recovered.snapshot.as_deref(), Some(&b"state after six"[..]));
    assert_eq!(recovered.log, (6..8).map(entry).collect::<Vec<_>>());
    assert_eq!(store.get("epoch").unwrap(), Some(vec![7]));
}

#[test]
fn the_last_value_under_a_name_counts_before_and_after_snapshots_and_restarts() {
    let (_folder, path) = folder();
    let (mut store, _) = open(&path).unwrap();
    let set = |store: &mut Store, pairs: &[(&str, u8)], snapshot: bool| {
        let mut batch = Batch::default();
        pairs.iter().for_each(|(name, value)| batch.set(*name, vec![*value; 3]));
        if snapshot {
            batch.snapshot(vec![pairs.len() as u8]);
        }
        store.commit(&batch).unwrap();
    };
    let holds = |store: &Store, pairs: &[(&str, u8)]| {
        for (name, value) in pairs {
            assert_eq!(store.get(name).unwrap(), Some(vec![*value; 3]), "{name}");
        }
        let all: Vec<_> = pairs.iter().map(|(name, value)| (name.to_string(), vec![*value; 3])).collect();
        assert_eq!(store.list("").unwrap(), all);
        let members: Vec<_> = all.into_iter().filter(|(name, _)| name.starts_with("m/")).collect();
        assert_eq!(store.list("m/").unwrap(), members);
    };
    set(&mut store, &[("epoch", 1), ("m/1", 1), ("epoch", 2)], false);
    holds(&store, &[("epoch", 2), ("m/1", 1)]);
    set(&mut store, &[("m/2", 1), ("queues", 1)], true);
    holds(&store, &[("epoch", 2), ("m/1", 1), ("m/2", 1), ("queues", 1)]);
    set(&mut store, &[("m/1", 3), ("z", 1)], false);
    holds(&store, &[("epoch", 2), ("m/1", 3), ("m/2", 1), ("queues", 1), ("z", 1)]);
    set(&mut store, &[("queues", 4)], true);
    drop(store);
    let (store, recovered) = open(&path).unwrap();
    assert_eq!(recovered.snapshot, Some(vec![1]));
    holds(&store, &[("epoch", 2), ("m/1", 3), ("m/2", 1), ("queues", 4), ("z", 1)]);
    assert_eq!((store.get("").unwrap(), store.get("none").unwrap()), (None, None));
}

#[test]
fn snapshots_are_paid_for_by_the_log_and_bound_it() {
    let (_folder, path) = folder();
    let (mut store, _) = open(&path).unwrap();
    let mut batch = Batch::default();
    batch.snapshot(vec![1; 100_000]);
    batch.set("queues", vec![2; 200_000]);
    store.commit(&batch).unwrap();
    let mut piece = Batch::default();
    piece.append(vec![3; 10_000]);
    let mut when = (None, None);
    for i in 1.. {
        store.commit(&piece).unwrap();
        when.0 = when.0.or(store.wants_snapshot(5).then_some(i));
        when.1 = when.1.or(store.wants_snapshot(u64::MAX).then_some(i));
        if when.1.is_some() {
            break;
        }
    }
    assert_eq!(when, (Some(120), Some(240)), "at four and at eight times 300 kB, queues included");
    let (_folder, path) = folder();
    let (mut store, _) = open(&path).unwrap();
    log(&mut store, 0..5);
    assert!(store.wants_snapshot(5) && !store.wants_snapshot(6), "little is cheap: entries decide");
}

#[test]
fn a_store_in_use_or_of_someone_else_or_of_a_newer_version_is_refused() {
    let (_folder, path) = folder();
    let (store, _) = open(&path).unwrap();
    assert!(matches!(open(&path), Err(StoreError::Busy { .. })));
    let link = path.with_extension("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(open(&link), Err(StoreError::Busy { .. })), "by whatever name");
    drop(store);
    let error = Store::open(&path, "client 4 of federation test", Sync::Memory).unwrap_err();
    assert!(error.to_string().contains("belongs to client 3"), "{error}");
    let mut newer = std::fs::read(&path).unwrap();
    newer[8..12].copy_from_slice(&9u32.to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(b"format");
    sum.update(&newer[..12]);
    newer[12..16].copy_from_slice(&sum.finalize().to_le_bytes());
    std::fs::write(&path, &newer).unwrap();
    assert!(matches!(open(&path), Err(StoreError::Newer { found: 9, .. })));
    std::fs::write(&path, b"this is a letter to my aunt").unwrap();
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("damaged") && error.contains("To recover"), "{error}");
}

#[test]
fn a_store_of_the_versions_before_is_refused_with_a_way_out_and_left_as_it_is() {
    let (_folder, path) = folder();
    let bytes = [&b"redb\x1a\x0a\xa9\x0d\x0a"[..], &[0; 4096]].concat();
    std::fs::write(&path, &bytes).unwrap();
    let error = open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Older { found: 2, .. }), "{error}");
    let words = error.to_string();
    assert!(words.contains("left as it is") && words.contains("to upgrade, let every client"), "{words}");
    assert!(std::fs::read(&path).unwrap() == bytes, "the file was written to");
}

#[test]
fn an_old_copy_is_noticed() {
    let (_folder, path) = folder();
    drop(open(&path).unwrap());
    let mut old = files(&path);
    let (mut store, _) = open(&path).unwrap();
    log(&mut store, 0..3);
    drop(store);
    old.insert("a.store.mark".into(), files(&path)["a.store.mark"].clone());
    lay(&path, &old);
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("last 3 commits are gone"), "{error}");
    old.remove("a.store");
    lay(&path, &old);
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("the file is gone, after 3 commits"), "{error}");
}

#[test]
fn files_are_nobody_elses_to_read() {
    let (folder, path) = folder();
    let (mut store, _) = open(&path).unwrap();
    let mut batch = one(0);
    batch.snapshot(vec![1]);
    store.commit(&batch).unwrap();
    store.backup(&folder.path().join("copy")).unwrap();
    let mut seen = 0;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
        seen += 1;
    }
    assert_eq!(seen, 8, "checkpoint, log, mark and lock, twice");
}
