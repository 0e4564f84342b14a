//! Stores on which other processes, and a full disk, have a say.

use std::path::PathBuf;
use std::process::Command;

use cahoots_node::store::{Batch, StoreError, Sync};

use super::{OWNER, entry, folder, log, one, open, state};

/// Where a test that is run as a process of its own finds its store.
const STORE: &str = "CAHOOTS_TEST_STORE";

fn store_of_parent() -> Option<PathBuf> {
    std::env::var_os(STORE).map(PathBuf::from)
}

/// This test as a process of its own, after some words to the shell.
fn again(test: &str, before: &str, store: &std::path::Path) {
    let script = format!("{before} exec \"$0\" --exact {test} --nocapture");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(std::env::current_exe().unwrap()).env(STORE, store);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{output:?}");
}

#[test]
fn a_second_process_is_refused() {
    if let Some(path) = store_of_parent() {
        assert!(matches!(open(&path), Err(StoreError::Busy { .. })));
        return;
    }
    let (_folder, path) = folder();
    let (mut store, _) = open(&path).unwrap();
    log(&mut store, 0..1);
    again("processes::a_second_process_is_refused", "", &path);
    log(&mut store, 1..2);
    drop(store);
    assert_eq!(state(&path).unwrap().log, [entry(0), entry(1)]);
}

/// A full disk, for this process and its files: a limit on their size, which it may lift.
fn lift() {
    let me = std::process::id().to_string();
    let lifted = Command::new("prlimit").args(["--pid", &me, "--fsize=unlimited:"]).status().unwrap();
    assert!(lifted.success());
}

#[test]
fn after_a_full_disk_the_same_store_goes_on_with_the_same_batch() {
    let Some(path) = store_of_parent() else {
        for sync in ["memory", "disk"] {
            let (_folder, path) = folder();
            let path = path.with_extension(sync);
            // An ignored signal stays ignored over `exec`: a write beyond the limit fails and does not kill.
            let before = "trap '' XFSZ; ulimit -S -f 64;";
            again("processes::after_a_full_disk_the_same_store_goes_on_with_the_same_batch", before, &path);
        }
        return;
    };
    let sync = if path.extension().unwrap() == "disk" { Sync::Disk } else { Sync::Memory };
    let (mut store, _) = cahoots_node::store::Store::open(&path, OWNER, sync).unwrap();
    let mut done = 0;
    let full = loop {
        match store.commit(&one(done)) {
            Ok(()) => done += 1,
            Err(error) => break error,
        }
        assert!(done < 100_000, "it never filled up");
    };
    assert!(matches!(full, StoreError::Full { .. }), "{full}");
    assert!(matches!(store.commit(&one(done)), Err(StoreError::Full { .. })), "it stays full");
    // No snapshot fits either; what fits still goes in, behind what was cut off.
    let mut large = Batch::default();
    large.snapshot(vec![7; 100_000]);
    assert!(matches!(store.commit(&large), Err(StoreError::Full { .. })));
    let mut little = Batch::default();
    little.append(vec![1]);
    let fits = store.commit(&little).is_ok();
    lift();
    store.commit(&one(done)).unwrap();
    let mut expected: Vec<_> = (0..done).map(entry).collect();
    expected.extend(fits.then(|| vec![1]));
    expected.push(entry(done));
    drop(store);
    assert_eq!(state(&path).unwrap().log, expected);
    let (mut store, _) = open(&path).unwrap();
    store.commit(&large).unwrap();
    drop(store);
    assert_eq!(state(&path).unwrap().snapshot, Some(vec![7; 100_000]));
}
