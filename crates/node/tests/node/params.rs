//! The record of parameters that changed: it is written with the change, whoever is killed when, and any version on it
//! can hold again.

use std::path::Path;
use std::sync::Arc;

use cahoots_core::Setting;
use cahoots_node::coordinator::Changed;
use cahoots_node::inside::{Platform, SteppedCoordinator, restore};
use cahoots_node::{Known, Terms};

use crate::common::{FEDERATION, coordinator, known, terms};

fn linear(known: &Known) -> Terms {
    terms(known, "async-linucb", "upload_ratio = 5.0\ndownload_ratio = 5.0", Setting::linear(2, 2, 2))
}

/// A coordinator that is killed when it is dropped: nothing is committed that was not before.
fn start(known: &Arc<Known>, folder: &Path) -> SteppedCoordinator {
    SteppedCoordinator::open(coordinator(known, linear(known), folder), &Platform::System).unwrap()
}

fn with(known: &Known, set: &str) -> String {
    let mut params = linear(known).params;
    params.extend(set.parse::<toml::Table>().unwrap());
    params.to_string()
}

fn ratio(node: &mut SteppedCoordinator) -> (u64, f64) {
    node.look(|machine, _| {
        let (version, params) = machine.params();
        (version, params.parse::<toml::Table>().unwrap()["upload_ratio"].as_float().unwrap())
    })
}

#[test]
fn a_version_that_was_told_of_survives_a_kill_and_so_does_its_record() {
    let (known, folder) = (known(), tempfile::tempdir().unwrap());
    let mut node = start(&known, folder.path());
    assert_eq!(node.change(&with(&known, "upload_ratio = 3.0")).unwrap(), 1);
    drop(node);
    let mut node = start(&known, folder.path());
    assert_eq!(ratio(&mut node), (1, 3.0), "whoever was told of it must find it");
    assert_eq!(node.change(&with(&known, "upload_ratio = 2.0")).unwrap(), 2);
    drop(node);

    let mut node = start(&known, folder.path());
    let versions = node.versions().unwrap();
    assert_eq!(versions.iter().map(|version| version.version).collect::<Vec<_>>(), [0, 1, 2]);
    let (from, to) = (Some("3.0".into()), Some("2.0".into()));
    assert_eq!(versions[2].changes, [Changed { key: "upload_ratio".into(), from, to }]);
    assert!(versions[1].time.is_some_and(|time| time > 1e9) && versions[1].time <= versions[2].time);

    // A clean stop, whose snapshot holds it all; then back to the one before, and to the terms.
    node.commit(true).unwrap();
    drop(node);
    let mut node = start(&known, folder.path());
    assert_eq!(node.revert(None).unwrap(), 3);
    drop(node);
    let mut node = start(&known, folder.path());
    assert_eq!(ratio(&mut node), (3, 3.0));
    assert_eq!(node.versions().unwrap()[3].reverts_to, Some(1));
    assert_eq!(node.revert(Some(0)).unwrap(), 4);
    assert_eq!(ratio(&mut node), (4, 5.0));
}

#[test]
fn what_is_not_on_record_or_holds_already_is_refused_and_changes_nothing() {
    let (known, folder) = (known(), tempfile::tempdir().unwrap());
    let mut node = start(&known, folder.path());
    let refused = |node: &mut SteppedCoordinator, version| node.revert(version).unwrap_err().to_string();
    assert!(refused(&mut node, None).contains("never changed"));
    assert!(refused(&mut node, Some(0)).contains("is what holds"));
    assert!(refused(&mut node, Some(7)).contains("not on record"));
    assert!(node.change(&with(&known, "ridge = 3.0")).unwrap_err().to_string().contains("cannot change"));
    assert_eq!((ratio(&mut node), node.versions().unwrap().len()), ((0, 5.0), 1));
}

#[test]
fn the_record_is_in_backups() {
    let (known, folder) = (known(), tempfile::tempdir().unwrap());
    let mut node = start(&known, folder.path());
    node.change(&with(&known, "upload_ratio = 3.0")).unwrap();
    let copy = folder.path().join("copy");
    node.backup(&copy).unwrap();
    node.change(&with(&known, "upload_ratio = 2.0")).unwrap();
    drop(node);
    restore(&Platform::System, &copy, &folder.path().join("coordinator"), FEDERATION).unwrap();
    let mut node = start(&known, folder.path());
    assert_eq!((ratio(&mut node), node.versions().unwrap().len()), ((1, 3.0), 2));
}

#[test]
fn the_record_is_bounded_and_the_terms_stay_on_it() {
    let (known, folder) = (known(), tempfile::tempdir().unwrap());
    let mut node = start(&known, folder.path());
    for n in 0..1005 {
        node.change(&with(&known, &format!("upload_ratio = {}.0", 2 + n % 7))).unwrap();
    }
    let versions = node.versions().unwrap();
    assert_eq!((versions.len(), versions[0].version, versions[1].version), (1001, 0, 6));
    assert!(node.revert(Some(5)).unwrap_err().to_string().contains("not on record"));
    assert_eq!(node.revert(Some(0)).unwrap(), 1006);
}
