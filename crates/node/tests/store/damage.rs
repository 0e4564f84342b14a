//! Every byte of every file altered, every length cut off: never a wrong state.

use std::path::Path;

use cahoots_node::store::{Batch, Store, StoreError, Sync};

use super::{Files, OWNER, State, entry, files, folder, lay, one, open, state};

/// A store in use, with the states that it went through since its checkpoint and the log's length at each.
struct History {
    files: Files,
    states: Vec<State>,
    ends: Vec<usize>,
}

const LOG: &str = "a.store.2.log";
const MARK: &str = "a.store.mark";

fn history(path: &Path, sync: Sync) -> History {
    let (mut store, _) = Store::open(path, OWNER, sync).unwrap();
    let mut batch = one(0);
    batch.snapshot(vec![1; 100]);
    batch.set("queues", vec![2; 50]);
    store.commit(&batch).unwrap();
    let snapshot = Some(vec![1; 100]);
    let mut now = State { snapshot, log: Vec::new(), values: vec![("queues".into(), vec![2; 50])] };
    let (mut states, mut ends) = (vec![now.clone()], vec![40]);
    let mut largest = 0;
    for i in 1..6 {
        let mut batch = Batch::default();
        let before = store.written();
        for j in 0..i % 3 {
            batch.append(entry(i + j));
            now.log.push(entry(i + j));
        }
        if i % 2 == 1 {
            batch.set("tick", vec![i as u8; 8]);
            now.values.retain(|(name, _)| name != "tick");
            now.values.push(("tick".into(), vec![i as u8; 8]));
        }
        if batch.is_empty() {
            batch.append(entry(i));
            now.log.push(entry(i));
        }
        store.commit(&batch).unwrap();
        states.push(now.clone());
        let frame = (store.written() - before) as usize - 12;
        largest = largest.max(frame);
        ends.push(ends.last().unwrap() + frame);
    }
    let mut files = files(path);
    if let Some(log) = files.get_mut(LOG) {
        // Room for more is a mebibyte of zeros: a little of it will do.
        log.truncate(ends.last().unwrap() + 2 * largest);
    }
    History { files, states, ends }
}

/// The state, unless it is refused as damaged.
fn outcome(path: &Path, files: &Files, what: &str) -> Option<State> {
    lay(path, files);
    match state(path) {
        Ok(state) => Some(state),
        Err(e @ StoreError::Damaged { .. }) => {
            assert!(e.to_string().contains("To recover"), "{e}");
            for (name, bytes) in files {
                let left = std::fs::read(path.with_file_name(name)).unwrap();
                assert!(left == *bytes, "{what}: {name} was not left as it is");
            }
            None
        }
        Err(e) => panic!("{what}: {e}"),
    }
}

fn mark_of(path: &Path, commits: u64) -> Vec<u8> {
    let (_folder, other) = folder();
    let (mut store, _) = open(&other).unwrap();
    super::log(&mut store, 0..commits);
    let bytes = files(&other)[MARK].clone();
    assert_eq!(bytes.len(), 12, "{}", path.display());
    bytes
}

#[test]
fn a_killed_store_has_everything() {
    for sync in [Sync::Memory, Sync::Disk] {
        let (_folder, path) = folder();
        let History { files, states, .. } = history(&path, sync);
        assert_eq!(outcome(&path, &files, "killed").as_ref(), states.last(), "{sync:?}");
    }
}

#[test]
fn a_flipped_bit_is_refused_or_harmless() {
    for sync in [Sync::Memory, Sync::Disk] {
        let (_folder, path) = folder();
        let History { files, states, ends } = history(&path, sync);
        for (name, bytes) in &files {
            let mut refused = 0;
            for at in 0..bytes.len() {
                let mut damaged = files.clone();
                damaged.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
                let what = format!("{name}: bit flipped in byte {at} ({sync:?})");
                match outcome(&path, &damaged, &what) {
                    Some(state) => assert_eq!(Some(&state), states.last(), "{what}"),
                    None => refused += 1,
                }
            }
            let matters = match name.as_str() {
                MARK => 0,
                LOG => *ends.last().unwrap(),
                _ => bytes.len(),
            };
            assert_eq!(refused, matters, "{name}: every flip that matters is noticed ({sync:?})");
        }
    }
}

#[test]
fn a_file_that_is_cut_or_gone_is_refused_or_harmless() {
    let (_folder, path) = folder();
    let History { files, states, ends } = history(&path, Sync::Disk);
    for (name, bytes) in &files {
        for length in (0..bytes.len()).map(Some).chain([None]) {
            let mut damaged = files.clone();
            match length {
                Some(length) => damaged.get_mut(name).unwrap().truncate(length),
                None => drop(damaged.remove(name)),
            }
            let what = format!("{name} cut to {length:?}");
            let harmless = match name.as_str() {
                MARK => true,
                LOG => length.is_some_and(|length| length >= *ends.last().unwrap()),
                _ => false,
            };
            let found = outcome(&path, &damaged, &what);
            assert_eq!(found.as_ref(), states.last().filter(|_| harmless), "{what}");
        }
    }
}

#[test]
fn a_commit_that_was_cut_short_is_as_if_it_had_never_begun() {
    let (_folder, path) = folder();
    let History { files, states, ends } = history(&path, Sync::Memory);
    let (last, before) = (ends[ends.len() - 1], ends[ends.len() - 2]);
    // One commit made the checkpoint; nobody was told of the last.
    let counted = mark_of(&path, ends.len() as u64 - 1);
    for length in 40..=last {
        let mut torn = files.clone();
        torn.insert(MARK.into(), counted.clone());
        torn.get_mut(LOG).unwrap().truncate(length);
        let what = format!("cut to {length}");
        let expected = match length {
            _ if length == last => states.last(),
            _ if length >= before => states.get(states.len() - 2),
            _ => None,
        };
        assert_eq!(outcome(&path, &torn, &what).as_ref(), expected, "{what}");
        if expected.is_some() && length < last {
            // It goes on from there, however long the remains were.
            let (mut store, _) = open(&path).unwrap();
            let mut next = Batch::default();
            next.append(vec![9]);
            store.commit(&next).unwrap();
            drop(store);
            let mut then = states[states.len() - 2].clone();
            then.log.push(vec![9]);
            assert_eq!(state(&path).unwrap(), then, "{what}");
        }
    }
    // After a power cut, pages of the last commit may be missing in any order.
    for from in before..last {
        for to in [from + 1, from + 8, last].map(|to| to.min(last)) {
            let mut torn = files.clone();
            torn.insert(MARK.into(), counted.clone());
            let log = torn.get_mut(LOG).unwrap();
            let unchanged = log[from..to].iter().all(|byte| *byte == 0);
            log[from..to].fill(0);
            let what = format!("zeros from {from} to {to}");
            let expected = if unchanged { states.last() } else { states.get(states.len() - 2) };
            assert_eq!(outcome(&path, &torn, &what).as_ref(), expected, "{what}");
        }
    }
}

#[test]
fn without_its_mark_only_the_last_commit_is_in_doubt() {
    let (_folder, path) = folder();
    let History { mut files, states, ends } = history(&path, Sync::Disk);
    files.remove(MARK);
    let (last, before) = (ends[ends.len() - 1], ends[ends.len() - 2]);
    for at in 0..last {
        let mut damaged = files.clone();
        damaged.get_mut(LOG).unwrap()[at] ^= 1 << (at % 8);
        let what = format!("bit flipped in byte {at}");
        let found = outcome(&path, &damaged, &what);
        assert_eq!(found.as_ref(), states.get(states.len() - 2).filter(|_| at >= before), "{what}");
    }
}

#[test]
fn files_of_copies_that_went_separate_ways_are_not_mixed_up() {
    let (_folder, path) = folder();
    let History { files: common, .. } = history(&path, Sync::Memory);
    let branch = |value: u8| {
        lay(&path, &common);
        let (mut store, _) = open(&path).unwrap();
        let mut batch = Batch::default();
        batch.snapshot(vec![value; 100]);
        store.commit(&batch).unwrap();
        super::log(&mut store, 0..2);
        drop(store);
        files(&path)
    };
    let (mut one, other) = (branch(1), branch(2));
    assert!(outcome(&path, &one, "one").is_some() && outcome(&path, &other, "other").is_some());
    one.insert("a.store.3.log".into(), other["a.store.3.log"].clone());
    assert_eq!(outcome(&path, &one, "mixed"), None);
}
