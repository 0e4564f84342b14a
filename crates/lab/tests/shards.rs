//! Parts of an experiment, run apart and put together: what one machine would have written.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use cahoots_lab::results::no_theory;
use cahoots_lab::run::{Shard, Start, merge, run, run_shard};
use cahoots_lab::{LabError, catalogue};
use common::{experiment, options};

/// Eighteen runs: seven parts of two or three.
static FILE: LazyLock<String> = LazyLock::new(|| common::FILE.replace("seeds = 3", "seeds = [5, 1, 2]"));

fn part(text: &str, out: &Path, number: u32, of: u32) -> PathBuf {
    run_shard(&experiment(text), out, Shard::new(number, of).unwrap(), &options(Start::Fresh, 2)).unwrap().0
}

fn refused<T>(result: Result<T, LabError>) -> String {
    match result {
        Err(LabError::Input(message)) => message,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("not refused"),
    }
}

/// Every file of a folder, its parts left out, without what was timed.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(at) = todo.pop() {
        for path in fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(folder).unwrap().to_path_buf();
            if path.is_dir() {
                if !name.to_string_lossy().starts_with("shard-") {
                    todo.push(path);
                }
            } else if name != Path::new("timing.csv") {
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

#[test]
fn seven_uneven_parts_are_what_one_machine_would_have_written() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    run(&experiment(&FILE), &whole, &options(Start::Fresh, 2)).unwrap();
    let mut sizes = Vec::new();
    for number in [3, 1, 7, 2, 6, 5, 4] {
        let path = part(&FILE, &parts, number, 7);
        sizes.push(fs::read_dir(path.join("seeds")).unwrap().count());
        assert!(!path.join("summary.json").exists(), "a part has no results");
    }
    sizes.sort();
    assert_eq!(sizes, [2, 2, 2, 3, 3, 3, 3]);
    let merged = merge(&catalogue(), std::slice::from_ref(&parts), None, no_theory).unwrap();
    assert_eq!(merged.folder, parts);
    let (one, other) = (contents(&whole), contents(&parts));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        assert!(bytes == &other[name], "{} differs", name.display());
    }
    assert!(one.len() > 18 + 6, "{:?}", one.keys());

    // Once more, and from parts that lie apart.
    merge(&catalogue(), std::slice::from_ref(&parts), None, no_theory).unwrap();
    let apart = folder.path().join("elsewhere");
    fs::create_dir(&apart).unwrap();
    fs::rename(parts.join("shard-2-of-7"), apart.join("shard-2-of-7")).unwrap();
    let (from, to) = ([parts.clone(), apart], folder.path().join("together"));
    assert!(refused(merge(&catalogue(), &from, None, no_theory)).contains("--out"));
    merge(&catalogue(), &from, Some(&to), no_theory).unwrap();
    assert!(contents(&to) == one);
}

#[test]
fn a_part_that_was_killed_is_named_and_finished() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("parts");
    let paths: Vec<PathBuf> = (1..=7).map(|number| part(&FILE, &parts, number, 7)).collect();
    let lost = fs::read_dir(paths[4].join("seeds")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(lost).unwrap();
    let cut = fs::read_dir(paths[5].join("seeds")).unwrap().next().unwrap().unwrap().path();
    fs::write(&cut, &fs::read(&cut).unwrap()[..50]).unwrap();
    fs::rename(&paths[6], folder.path().join("shard-7-of-7")).unwrap();

    let message = refused(merge(&catalogue(), std::slice::from_ref(&parts), None, no_theory));
    assert!(message.starts_with("4 runs are missing:"), "{message}");
    assert!(message.contains("lacks 1: run it again with --shard 5/7 --resume"), "{message}");
    assert!(message.contains("lacks 1: run it again with --shard 6/7 --resume"), "{message}");
    assert!(message.contains("part 7/7 is not among these (2 runs)"), "{message}");
    assert!(!parts.join("manifest.json").exists(), "nothing is written of what is not whole");

    for number in [5, 6] {
        let shard = Shard::new(number, 7).unwrap();
        run_shard(&experiment(&FILE), &parts, shard, &options(Start::Resume, 2)).unwrap();
    }
    let both = [parts.clone(), folder.path().join("shard-7-of-7")];
    merge(&catalogue(), &both, Some(&parts), no_theory).unwrap();
    let whole = folder.path().join("whole");
    run(&experiment(&FILE), &whole, &options(Start::Fresh, 2)).unwrap();
    assert!(contents(&whole) == contents(&parts));
}

#[test]
fn what_does_not_belong_together_is_not_put_together() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    part(&FILE, &one, 1, 2);
    part(&FILE.replace("clients = 5", "clients = 6"), &other, 2, 2);
    let message =
        refused(merge(&catalogue(), &[one.clone(), other], Some(&folder.path().join("x")), no_theory));
    assert!(
        message.contains("parts of different runs: stages[0].environment.clients is 5 there, 6 here"),
        "{message}"
    );
    part(&FILE, &one, 2, 3);
    assert!(refused(merge(&catalogue(), &[one], None, no_theory)).contains("all must be of equally many"));
    let message = refused(merge(&catalogue(), &[folder.path().join("nowhere")], None, no_theory));
    assert!(message.contains("there is no folder"), "{message}");
    assert!(!folder.path().join("x").exists());
}

#[test]
fn more_parts_than_runs_leave_some_empty() {
    let folder = tempfile::tempdir().unwrap();
    let small = FILE.replace("[5, 1, 2]", "1").replace("arms = [3, 4]", "arms = 3");
    let parts = folder.path().join("parts");
    for number in 1..=5 {
        part(&small, &parts, number, 5);
    }
    let merged = merge(&catalogue(), &[parts], None, no_theory).unwrap();
    assert_eq!(merged.summaries.len(), 3);
}
