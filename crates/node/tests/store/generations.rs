//! Checkpoints that are cut short, and copies of a store in use.

use cahoots_node::store::{Batch, Look, StoreError};

use super::{Files, State, entry, files, folder, lay, log, one, open, state};

/// The files before and after a snapshot was taken, and the states.
fn turned(path: &std::path::Path) -> ((Files, State), (Files, State)) {
    let (mut store, _) = open(path).unwrap();
    let mut batch = one(0);
    batch.snapshot(vec![1; 200]);
    batch.set("queues", vec![1; 30]);
    store.commit(&batch).unwrap();
    log(&mut store, 1..4);
    let old = files(path);
    let mut batch = one(4);
    batch.snapshot(vec![2; 300]);
    batch.set("queues", vec![2; 60]);
    store.commit(&batch).unwrap();
    let values = |value, n| vec![("queues".to_string(), vec![value; n])];
    let before =
        State { snapshot: Some(vec![1; 200]), log: (1..4).map(entry).collect(), values: values(1, 30) };
    let after = State { snapshot: Some(vec![2; 300]), log: Vec::new(), values: values(2, 60) };
    ((old, before), (files(path), after))
}

#[test]
fn a_kill_at_any_point_of_a_snapshot_is_harmless() {
    let (_folder, path) = folder();
    let ((old, before), (new, after)) = turned(&path);
    let names = ["a.store", "a.store.2.log", "a.store.3.log", "a.store.mark"];
    let [checkpoint, old_log, new_log, mark] = names;
    assert!(old.keys().eq([checkpoint, old_log, mark]), "{:?}", old.keys());
    assert!(new.keys().eq([checkpoint, new_log, mark]), "{:?}", new.keys());
    let mut cuts: Vec<(String, Files, &State)> = Vec::new();
    let mut now = old.clone();
    for length in 0..=new[new_log].len() {
        now.insert(new_log.into(), new[new_log][..length].to_vec());
        cuts.push((format!("{length} bytes of the new log"), now.clone(), &before));
    }
    for length in 0..=new[checkpoint].len() {
        now.insert("a.store.unfinished".into(), new[checkpoint][..length].to_vec());
        cuts.push((format!("{length} bytes of the new checkpoint"), now.clone(), &before));
    }
    now.remove("a.store.unfinished");
    now.insert(checkpoint.into(), new[checkpoint].clone());
    cuts.push(("renamed".into(), now.clone(), &after));
    now.remove(old_log);
    cuts.push(("the old log removed".into(), now.clone(), &after));
    now.insert(mark.into(), new[mark].clone());
    cuts.push(("all of it".into(), now, &after));
    for (what, files, expected) in cuts {
        lay(&path, &files);
        assert_eq!(state(&path).unwrap(), *expected, "{what}");
        // It goes on, over another snapshot, and leaves nothing lying about.
        let (mut store, _) = open(&path).unwrap();
        log(&mut store, 7..8);
        let mut batch = Batch::default();
        batch.snapshot(vec![3; 10]);
        store.commit(&batch).unwrap();
        log(&mut store, 8..9);
        drop(store);
        let then = state(&path).unwrap();
        assert_eq!((then.snapshot, then.log), (Some(vec![3; 10]), vec![entry(8)]), "{what}");
        assert_eq!(super::files(&path).len(), 3, "{what}: {:?}", super::files(&path).keys());
    }
}

#[test]
fn a_snapshot_that_cannot_be_written_has_not_happened_and_can_be_tried_again() {
    let (folder, path) = folder();
    let (_, (_, mut expected)) = turned(&path);
    let (mut store, _) = open(&path).unwrap();
    let in_the_way = folder.path().join("a.store.unfinished");
    std::fs::create_dir(&in_the_way).unwrap();
    let mut batch = one(50);
    batch.snapshot(vec![9; 9]);
    let error = store.commit(&batch).unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }), "{error}");
    log(&mut store, 51..52);
    std::fs::remove_dir(&in_the_way).unwrap();
    let meanwhile = files(&path);
    store.commit(&batch).unwrap();
    drop(store);
    let then = files(&path);
    lay(&path, &meanwhile);
    expected.log = vec![entry(51)];
    assert_eq!(state(&path).unwrap(), expected);
    lay(&path, &then);
    expected = State { snapshot: Some(vec![9; 9]), log: Vec::new(), ..expected };
    assert_eq!(state(&path).unwrap(), expected);
}

#[test]
fn an_interrupted_creation_is_started_over() {
    let (_folder, path) = folder();
    drop(open(&path).unwrap());
    let whole = files(&path);
    let mut cuts = Vec::new();
    for length in 0..=whole["a.store.1.log"].len() {
        cuts.push(Files::from([("a.store.1.log".into(), whole["a.store.1.log"][..length].to_vec())]));
    }
    for length in 0..=whole["a.store"].len() {
        let mut cut = cuts.last().unwrap().clone();
        cut.insert("a.store.unfinished".into(), whole["a.store"][..length].to_vec());
        cuts.push(cut);
    }
    for cut in cuts {
        lay(&path, &cut);
        let (mut store, recovered) = open(&path).unwrap();
        assert!(recovered.snapshot.is_none() && recovered.log.is_empty());
        log(&mut store, 0..1);
        drop(store);
        assert_eq!(state(&path).unwrap().log, [entry(0)]);
    }
}

#[test]
fn a_backup_of_a_store_in_use_is_the_state_at_that_moment() {
    let (folder, path) = folder();
    let copy = folder.path().join("backups/monday");
    let (_, (_, mut expected)) = turned(&path);
    let (mut store, _) = open(&path).unwrap();
    log(&mut store, 20..25);
    let mut batch = Batch::default();
    batch.set("epoch", vec![5]);
    store.commit(&batch).unwrap();
    expected.log = (20..25).map(entry).collect();
    expected.values.insert(0, ("epoch".into(), vec![5]));
    store.backup(&copy).unwrap();
    // What comes later is not in it, be it in the log or in a new checkpoint.
    log(&mut store, 25..30);
    let mut batch = one(30);
    batch.snapshot(vec![8; 8]);
    store.commit(&batch).unwrap();
    drop(store);
    assert_eq!(state(&copy).unwrap(), expected);
    // A second one does not overwrite the first.
    let (store, _) = open(&path).unwrap();
    assert!(matches!(store.backup(&copy), Err(StoreError::Exists { .. })));
    assert!(matches!(store.backup(&path), Err(StoreError::Busy { .. })), "nor itself");
    drop(store);
    // Back in the place of the store, with all its files: it goes on from there, and the mark is its own.
    let restored = files(&copy).into_iter().map(|(name, bytes)| (name.replace("monday", "a.store"), bytes));
    let restored: Files = restored.collect();
    let elsewhere = folder.path().join("elsewhere/a.store");
    std::fs::create_dir(elsewhere.parent().unwrap()).unwrap();
    lay(&elsewhere, &restored);
    assert_eq!(state(&elsewhere).unwrap(), expected);
    let (mut store, _) = open(&elsewhere).unwrap();
    log(&mut store, 40..41);
    drop(store);
    let ahead = files(&elsewhere)["a.store.mark"].clone();
    let mut old = restored;
    old.insert("a.store.mark".into(), ahead);
    lay(&elsewhere, &old);
    let error = state(&elsewhere).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("last 1 commits are gone"), "{error}");
}

#[test]
fn a_backup_of_a_rotten_store_is_refused_and_leaves_nothing() {
    let (folder, path) = folder();
    drop(turned(&path));
    let (store, _) = open(&path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let copy = folder.path().join("copies/a");
    let error = store.backup(&copy).unwrap_err().to_string();
    assert!(error.contains("the copy is of no use"), "{error}");
    assert!(files(&copy).is_empty(), "{:?}", files(&copy).keys());
}

/// To set a value to nothing is to remove it: at once, after a restart, and from the next checkpoint; and it can come back.
#[test]
fn an_empty_value_is_no_longer_there() {
    let (_folder, path) = folder();
    let set = |values: &[(&str, &[u8])], snapshot: bool| {
        let mut batch = Batch::default();
        values.iter().for_each(|(name, value)| batch.set(*name, value.to_vec()));
        if snapshot {
            batch.snapshot(vec![1; 9]);
        }
        batch
    };
    let all = |path: &std::path::Path| {
        state(path).unwrap().values.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let (mut store, _) = open(&path).unwrap();
    // One that a checkpoint knows, one that only the log does, one that comes and goes within a batch.
    store.commit(&set(&[("kept", b"k"), ("old", b"o")], true)).unwrap();
    store
        .commit(&set(&[("old", b""), ("new", b"n"), ("brief", b"b"), ("brief", b""), ("never", b"")], false))
        .unwrap();
    let listed = |store: &cahoots_node::store::Store| {
        store.list("").unwrap().into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(listed(&store), ["kept", "new"]);
    assert_eq!(store.get("old").unwrap(), None);
    drop(store);
    assert_eq!(all(&path), ["kept", "new"]);
    let before = std::fs::read(&path).unwrap();
    assert!(before.windows(3).any(|window| window == b"old"), "the checkpoint is not changed");
    // A snapshot whose own batch removes one more.
    let (mut store, _) = open(&path).unwrap();
    store.commit(&set(&[("new", b"")], true)).unwrap();
    assert_eq!(listed(&store), ["kept"]);
    let after = std::fs::read(&path).unwrap();
    for gone in [&b"old"[..], b"new", b"brief", b"never"] {
        assert!(
            !after.windows(gone.len()).any(|window| window == gone),
            "{gone:?} is still in the checkpoint"
        );
    }
    store.commit(&set(&[("old", b"again")], false)).unwrap();
    assert_eq!(store.get("old").unwrap().as_deref(), Some(&b"again"[..]));
    drop(store);
    assert_eq!(all(&path), ["kept", "old"]);
    assert!(Look::at(&path).unwrap().values.keys().eq(["kept", "old"]));
}
