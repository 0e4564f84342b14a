//! Stores with altered files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use cahoots_node::inside::{self, Platform};
use cahoots_node::store::{Batch, Recovered};

use crate::disk::Disk;

const OWNER: &str = "a test";
/// Commits before the snapshot of the sound store, and after it.
const COMMITS: (u8, u8) = (3, 5);

/// A sound store: its files, after a snapshot and some commits.
static SOUND: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let disk = Arc::new(Disk::default());
    let (mut store, _) =
        inside::store(&Platform::Simulated(disk.clone()), Path::new(PATH), OWNER).expect("an empty disk");
    for i in 0..COMMITS.0 + COMMITS.1 {
        let mut batch = Batch::default();
        batch.append(entry(i));
        batch.set("value", vec![i; 5]);
        if i + 1 == COMMITS.0 {
            batch.snapshot(vec![0xaa; 50]);
        }
        store.commit(&batch).expect("there is room");
    }
    drop(store);
    disk.files()
});

const PATH: &str = "node";

fn entry(i: u8) -> Vec<u8> {
    vec![i; 10 + usize::from(i)]
}

/// The input is a list of alterations, five bytes each: which file, where, and what is done there. Whatever they are,
/// the store is refused, or holds what it held: all of it, or without its last commits where the count of commits is
/// gone too or has been altered to less.
pub fn store(bytes: &[u8]) {
    let mut files = SOUND.clone();
    let mut counted = true;
    for alteration in bytes.chunks_exact(5).take(20) {
        let [which, high, low, what, value] = *alteration else { unreachable!("five bytes") };
        let number = usize::from(which) % files.len();
        let (path, content) = &mut files[number];
        counted &= path.extension().is_none_or(|extension| extension != "mark");
        let at = usize::from(u16::from_be_bytes([high, low])) % (content.len() + 1);
        match what % 6 {
            0 => content.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= value.max(1)),
            1 => content.truncate(at),
            2 => content.insert(at, value),
            3 => drop(content.drain(at..(at + usize::from(value)).min(content.len()))),
            4 => content.extend(std::iter::repeat_n(value, at % 512)),
            _ => drop(files.remove(number)),
        }
        if files.is_empty() {
            return;
        }
    }
    let platform = Platform::Simulated(Arc::new(Disk::with(files)));
    let Ok((store, Recovered { snapshot, log })) = inside::store(&platform, Path::new(PATH), OWNER) else {
        return;
    };
    if snapshot.is_none() && log.is_empty() && !counted {
        // Without its checkpoint and its count, there is no store: a new one was made.
        return;
    }
    assert_eq!(snapshot, Some(vec![0xaa; 50]), "another snapshot");
    let all: Vec<_> = (COMMITS.0..COMMITS.0 + COMMITS.1).map(entry).collect();
    assert!(all.starts_with(&log), "other entries: {log:?}");
    assert!(!counted || log.len() == all.len(), "entries are gone, and nobody was told");
    let last = COMMITS.0 + log.len() as u8 - 1;
    assert_eq!(store.get("value").expect("it was checked"), Some(vec![last; 5]));
}
