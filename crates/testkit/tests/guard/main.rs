//! Runs whose every bit is on record: curves, ordered message bytes and the final numbers of every machine, for
//! every algorithm in small fixed worlds. Whoever moves code about without meaning to change a result sees here
//! that none has changed, or where the first one did.
//!
//! The records are text files, one per algorithm, in `testdata/guard`. A change that is meant is recorded with
//!
//! ```sh
//! CAHOOTS_RECORD=1 cargo test -p cahoots-testkit --test guard
//! ```
//!
//! and its commit says why results differ. Curves and messages must be equal. Of a machine's numbers every one on
//! record must still be somewhere in the machine; further ones (a copy that is kept ready) are no difference.

mod cases;
mod golden;
mod record;

use std::fs;
use std::path::{Path, PathBuf};

use cahoots_algorithms::registry::ours;

use golden::{differences, read, write};
use record::{Record, Recorder};

/// Differences that are told, at most.
const SHOWN: usize = 80;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/guard")
}

fn records_of(name: &str) -> Vec<Record> {
    let cases = cases::of(name);
    assert!(!cases.is_empty(), "{name} fits into no world of tests/guard/cases.rs");
    let recorders = ours::<Recorder>();
    let Recorder(record) = recorders.get(name).expect("an algorithm of the list");
    cases.iter().map(record).collect()
}

#[test]
fn every_run_on_record_still_has_its_bits() {
    let arithmetic = format!("{:?}", cahoots_kernel::profile()).to_lowercase();
    assert_eq!(arithmetic, "fma", "these bits were recorded with fused multiply-add, which this host lacks");
    let recording = std::env::var_os("CAHOOTS_RECORD").is_some();
    let mut complaints = Vec::new();
    for name in ours::<Recorder>().names() {
        let file = folder().join(format!("{name}.txt"));
        let records = records_of(name);
        if recording {
            fs::write(&file, write(&records)).expect("a folder that can be written");
            continue;
        }
        let text = fs::read_to_string(&file).unwrap_or_else(|e| {
            panic!("{}: {e}; a new algorithm is recorded with CAHOOTS_RECORD=1", file.display())
        });
        complaints
            .extend(differences(&read(&text), &records).into_iter().map(|what| format!("{name}: {what}")));
    }
    let first = complaints.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(complaints.is_empty(), "{} differences, the first of them:\n{first}", complaints.len());
}

/// No file is left behind by an algorithm that has gone.
#[test]
fn records_belong_to_algorithms() {
    for entry in fs::read_dir(folder()).expect("the folder of records") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        assert!(ours::<Recorder>().get(name).is_some(), "{} is the record of no algorithm", path.display());
    }
}

/// Those of whom a record without messages would say nothing.
const TALKING: [&str; 23] = [
    "async-linucb",
    "async-linucb-am",
    "sync-linucb",
    "fed-linucb",
    "fed-igw",
    "hetofed",
    "hetofed-pq",
    "hetofed-dr",
    "hetofed-e",
    "hetofed-async",
    "fclub",
    "fclub-dc",
    "cdp-fclub-dc",
    "homo",
    "homo-dc",
    "cdp-mab",
    "ddp-mab",
    "hdp-mab",
    "pf-ucb",
    "pf-ucb-enhanced",
    "fed-elim",
    "fed2-ucb",
    "private-fed-linucb",
];

/// A record worth its name: whoever talks is heard in it, and what was learned shows.
#[test]
fn records_hold_what_they_are_for() {
    for name in ours::<Recorder>().names() {
        for record in records_of(name) {
            let what = format!("{name}: {}", record.title);
            assert!(!record.messages.is_empty() || !TALKING.contains(&name), "{what}: no messages");
            let learned = record.numbers.iter().any(|(_, numbers)| !numbers.is_empty());
            assert_eq!(learned, name != "random", "{what}: no numbers, or some where nothing is learned");
            assert!(!record.curve.is_empty(), "{what}: no curve");
        }
    }
}
