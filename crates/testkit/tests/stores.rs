//! Stores that versions of the program made, as they lie in `testdata/stores`: what this one opens is what was written,
//! to the last bit, and what it does not open it refuses by the version.
//!
//! Whoever changes the layout of a machine, of a log entry or of a store's files fails here. Then raise `store::FORMAT` and
//! `snapshot`'s version, and see `testdata/stores/README.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cahoots_core::drive::Saved;
use cahoots_core::{LinearStats, NodeId, Prior};
use cahoots_node::prior::of_store;
use cahoots_node::store::{FORMAT, Look, Store, StoreError, Sync};
use cahoots_node::{Terms, inside};
use cahoots_testkit::lockstep::ours;

fn stores() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/stores")
}

/// Folders of stores of one format.
fn cases(format: u32) -> Vec<PathBuf> {
    let read = std::fs::read_dir(stores().join(format.to_string())).expect("there are stores of this format");
    let mut cases: Vec<PathBuf> =
        read.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    cases.sort();
    cases
}

/// A copy that may be opened, which writes to it.
fn copied(case: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(case).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, folder.path().join(from.file_name().unwrap())).unwrap();
    }
    folder
}

/// How a test fails that finds other states than were recorded, or none.
const CHANGED: &str = "a layout has changed, and stores' format has not: raise it";

/// The machine in a store, and what waits to be confirmed: after the snapshot and every entry of the log.
fn state(look: &Look, client: bool) -> Vec<u8> {
    let known = ours();
    let text = String::from_utf8(look.get("terms").expect("terms").to_vec()).unwrap();
    let terms = Terms::from_toml(&text).unwrap();
    let live = terms.live(&known).unwrap();
    let keys = inside::keys(&terms, look.get("secret").expect("a secret").try_into().unwrap());
    let (state, queues) = look.state();
    let saved = state.as_deref().map(|state| Saved { state, queues: &queues });
    if client {
        let mut node = live.client(&terms, NodeId(0), saved).expect(CHANGED);
        for entry in &look.log {
            node.replay(entry, &keys).expect(CHANGED);
        }
        [node.save(), node.queues().save()].concat()
    } else {
        let mut node = live.coordinator(&terms, saved).expect(CHANGED);
        for entry in &look.log {
            node.replay(entry, &keys).expect(CHANGED);
        }
        [node.save(), node.queues().save()].concat()
    }
}

fn owner(case: &Path, node: &str) -> String {
    let kind = case.file_name().unwrap().to_str().unwrap();
    let federation = kind.rsplit_once('-').unwrap().0;
    match node {
        "coordinator" => format!("the coordinator of federation {federation:?}"),
        _ => format!("client 0 of federation {federation:?}"),
    }
}

const NODES: [&str; 2] = ["coordinator", "client-0"];

/// Fingerprints of the states of all stores of a format.
fn states(format: u32) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for case in cases(format) {
        for node in NODES {
            let look = Look::at(&case.join(node)).unwrap();
            let state = state(&look, node != "coordinator");
            let name = format!("{}/{node}", case.file_name().unwrap().to_str().unwrap());
            found.insert(name, format!("{} bytes, {:016x}", state.len(), cahoots_core::fingerprint(&state)));
        }
    }
    found
}

/// What was recorded when the stores of this format were made.
fn recorded(format: u32) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(stores().join(format.to_string()).join("states.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn stores_of_this_format_open_bit_for_bit() {
    let found = states(FORMAT);
    if std::env::var_os("CAHOOTS_RECORD_STORES").is_some() {
        let text = serde_json::to_string_pretty(&found).unwrap() + "\n";
        std::fs::write(stores().join(FORMAT.to_string()).join("states.json"), text).unwrap();
    }
    assert!(found.len() >= 12, "{found:?}");
    assert_eq!(found, recorded(FORMAT), "{CHANGED}");
    for case in cases(FORMAT) {
        let folder = copied(&case);
        for node in NODES {
            let opened = Store::open(&folder.path().join(node), &owner(&case, node), Sync::Memory);
            opened.unwrap_or_else(|error| panic!("{}/{node}: {error}", case.display()));
        }
    }
}

#[test]
fn stores_of_older_formats_are_refused_by_their_version_and_left_as_they_are() {
    let older: Vec<u32> = (1..FORMAT).filter(|format| stores().join(format.to_string()).is_dir()).collect();
    assert!(older.contains(&(FORMAT - 1)), "stores of the version before are kept: {older:?}");
    for format in older {
        for case in cases(format) {
            let folder = copied(&case);
            for node in NODES {
                let path = folder.path().join(node);
                let before = std::fs::read(&path).unwrap();
                let error = Store::open(&path, &owner(&case, node), Sync::Memory).unwrap_err();
                assert!(matches!(error, StoreError::Older { found, .. } if found == format), "{error}");
                assert_eq!(std::fs::read(&path).unwrap(), before);
            }
        }
    }
}

/// What `make` has its clients see: eighths, so that sums are exact in any order.
fn observed() -> LinearStats {
    let mut all = LinearStats::empty(2);
    for turn in 0..12u32 {
        for client in 0..2u32 {
            let x = [f64::from(turn % 8 + client) / 8.0, 0.5 - f64::from(turn % 3) / 8.0];
            all.observe(&x, f64::from(turn % 5) / 8.0);
        }
    }
    all
}

/// What was merged is handed on exactly, by this version and by the one before.
#[test]
fn priors_of_old_stores_hold_every_observation() {
    for format in [FORMAT - 1, FORMAT] {
        let linear = cases(format).into_iter().filter(|case| case.to_str().unwrap().contains("sync-linucb-"));
        let mut made = 0;
        for case in linear {
            let prior = of_store(&ours(), &case.join("coordinator")).unwrap();
            assert_eq!(prior.prior, Prior::Linear(observed()), "{}", case.display());
            made += 1;
        }
        assert_eq!(made, 3, "stopped, killed, and in rounds");
    }
}
