//! What every store must promise: what was committed is there, what was not is
//! not, and damage is refused with a word on how to go on, never lost silently.

use std::path::{Path, PathBuf};

use cahoots_node::store::{Batch, Recovered, Store, StoreError, Sync};

const OWNER: &str = "client 3 of federation test";

fn open(path: &Path) -> Result<(Store, Recovered), StoreError> {
    Store::open(path, OWNER, Sync::Memory)
}

fn entry(i: u64) -> Vec<u8> {
    (0..40 + i % 60).map(|j| (i * 31 + j) as u8).collect()
}

fn log(store: &mut Store, range: std::ops::Range<u64>) {
    for i in range {
        let mut batch = Batch::default();
        batch.append(entry(i));
        store.commit(batch).unwrap();
    }
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.store");
    (folder, path)
}

#[test]
fn what_was_committed_is_there_and_what_was_not_is_not() {
    let (_folder, path) = folder();
    let (mut store, recovered) = open(&path).unwrap();
    assert!(recovered.snapshot.is_none() && recovered.log.is_empty());
    log(&mut store, 0..5);
    let mut never = Batch::default();
    never.append(entry(99));
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
    let mut batch = Batch::default();
    batch.append(entry(5));
    batch.snapshot(b"state after six".to_vec());
    batch.set("epoch", vec![7]);
    store.commit(batch).unwrap();
    log(&mut store, 6..8);
    drop(store);
    let (store, recovered) = open(&path).unwrap();
    assert_eq!(recovered.snapshot.as_deref(), Some(&b"state after six"[..]));
    assert_eq!(recovered.log, (6..8).map(entry).collect::<Vec<_>>());
    assert_eq!(store.get("epoch").unwrap(), Some(vec![7]));
}

#[test]
fn a_store_in_use_of_someone_else_or_of_a_newer_version_is_refused() {
    let (_folder, path) = folder();
    let (mut store, _) = open(&path).unwrap();
    assert!(matches!(open(&path), Err(StoreError::Busy { .. })));
    let mut batch = Batch::default();
    batch.set("format", 9u32.to_le_bytes().to_vec());
    store.commit(batch).unwrap();
    drop(store);
    assert!(matches!(open(&path), Err(StoreError::Newer { found: 9, .. })));
    let (_folder, path) = folder();
    drop(open(&path).unwrap());
    let error = Store::open(&path, "client 4 of federation test", Sync::Memory).unwrap_err();
    assert!(error.to_string().contains("belongs to client 3"), "{error}");
    std::fs::write(&path, b"this is a letter to my aunt").unwrap();
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("damaged") && error.contains("To recover"), "{error}");
}

#[test]
fn a_store_of_the_version_before_is_refused_with_a_way_out_and_left_as_it_is() {
    let (_folder, path) = folder();
    let (mut store, _) = open(&path).unwrap();
    let mut batch = Batch::default();
    batch.set("format", 1u32.to_le_bytes().to_vec());
    batch.snapshot(b"a state of the version before".to_vec());
    store.commit(batch).unwrap();
    log(&mut store, 0..3);
    let killed = std::fs::read(&path).unwrap();
    drop(store);
    let stopped = std::fs::read(&path).unwrap();
    assert!(killed != stopped, "a kill and a stop leave different files");
    for (bytes, what) in [(stopped, "stopped"), (killed, "killed")] {
        std::fs::write(&path, &bytes).unwrap();
        let error = open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Older { found: 1, .. }), "{what}: {error}");
        let words = error.to_string();
        assert!(words.contains("left as it is") && words.contains("to upgrade, let every client"), "{words}");
        assert!(std::fs::read(&path).unwrap() == bytes, "{what}: the file was written to");
    }
}

/// The file of a store with `n` entries, as a kill leaves it.
fn killed(n: u64) -> (tempfile::TempDir, PathBuf, Vec<u8>) {
    let (folder, path) = folder();
    let (mut store, _) = open(&path).unwrap();
    let mut batch = Batch::default();
    batch.snapshot(vec![1; 3000]);
    store.commit(batch).unwrap();
    log(&mut store, 0..n);
    let bytes = std::fs::read(&path).unwrap();
    let mark = mark(&path);
    let counted = std::fs::read(&mark).unwrap();
    drop(store);
    std::fs::write(mark, counted).unwrap();
    (folder, path, bytes)
}

fn mark(path: &Path) -> PathBuf {
    format!("{}.mark", path.display()).into()
}

fn all_or_refused(path: &Path, n: u64, what: &str) -> bool {
    match open(path) {
        Ok((_, recovered)) => {
            assert!(recovered.log == (0..n).map(entry).collect::<Vec<_>>(), "{what}: a silent loss");
            assert_eq!(recovered.snapshot, Some(vec![1; 3000]), "{what}");
            true
        }
        Err(e @ StoreError::Damaged { .. }) => {
            assert!(e.to_string().contains("To recover"));
            false
        }
        Err(e) => panic!("{what}: {e}"),
    }
}

#[test]
fn a_killed_store_has_everything() {
    let (_folder, path, bytes) = killed(30);
    std::fs::write(&path, bytes).unwrap();
    assert!(all_or_refused(&path, 30, "killed"));
}

#[test]
fn a_truncated_store_is_refused_or_whole() {
    let (_folder, path, bytes) = killed(30);
    let mut refused = 0;
    for i in 0..60 {
        let length = bytes.len() * i / 60;
        std::fs::write(&path, &bytes[..length]).unwrap();
        refused += u64::from(!all_or_refused(&path, 30, &format!("cut to {length}")));
    }
    assert!(refused >= 50, "only {refused} of 60 cuts were noticed");
}

#[test]
fn a_flipped_bit_is_refused_or_harmless() {
    for clean in [false, true] {
        let (_folder, path, mut bytes) = killed(30);
        if clean {
            bytes = std::fs::read(&path).unwrap();
        }
        let used = bytes.iter().rposition(|b| *b != 0).unwrap() + 1;
        let mut state = 12345u64;
        for _ in 0..400 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = (state >> 33) as usize % used;
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (state >> 20 & 7);
            std::fs::write(&path, damaged).unwrap();
            all_or_refused(&path, 30, &format!("bit flipped in byte {at} (clean: {clean})"));
        }
    }
}

#[test]
fn an_old_copy_is_noticed() {
    let (_folder, path) = folder();
    drop(open(&path).unwrap());
    let old = std::fs::read(&path).unwrap();
    let (mut store, _) = open(&path).unwrap();
    log(&mut store, 0..3);
    drop(store);
    std::fs::write(&path, old).unwrap();
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("last 3 commits are gone"), "{error}");
}

#[test]
fn an_interrupted_creation_is_started_over() {
    let (_folder, path) = folder();
    std::fs::write(path.with_extension("unfinished"), b"half a database").unwrap();
    let (mut store, _) = open(&path).unwrap();
    log(&mut store, 0..1);
}
