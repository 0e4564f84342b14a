//! Files that an experiment names are part of what it is: a byte of difference is another run.

mod common;

use std::fs;
use std::path::Path;

use cahoots_lab::run::{Outcome, Start, run};
use cahoots_lab::{LabError, catalogue, load};
use common::options;
use serde_json::Value as Json;

const FILE: &str = r#"
horizon = 100
seeds = 2
[environment]
kind = "arms"
arrivals = "all"
means = { file = "data/means.csv" }
[[algorithm]]
kind = "ddp-mab"
topology = { file = "ring.txt" }
[[algorithm]]
kind = "ucb-alone"
"#;

const RING: &str = "0 1\n1 2\n2 0\n";

fn go(file: &Path, out: &Path, start: Start) -> Result<Outcome, LabError> {
    run(&load(&catalogue(), file, None)?, out, &options(start, 1))
}

fn refused(result: Result<Outcome, LabError>) -> String {
    match result {
        Err(LabError::Input(message)) => message,
        other => panic!("{:?}", other.map(|outcome| outcome.folder)),
    }
}

/// A folder with an experiment and its files, which are named relative to it and not to where the test runs.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("x.toml"), FILE).unwrap();
    fs::write(folder.path().join("data/means.csv"), "0.9,0.1\n0.2,0.8\n0.5,0.4\n").unwrap();
    fs::write(folder.path().join("ring.txt"), RING).unwrap();
    folder
}

#[test]
fn every_file_stands_in_the_manifest_with_its_hash() {
    let folder = folder();
    let out = folder.path().join("out");
    go(&folder.path().join("x.toml"), &out, Start::Fresh).unwrap();
    let manifest: Json = serde_json::from_slice(&fs::read(out.join("manifest.json")).unwrap()).unwrap();
    let inputs = manifest["inputs"].as_array().unwrap();
    let paths: Vec<&str> = inputs.iter().map(|input| input["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["data/means.csv", "ring.txt"]);
    assert_eq!(inputs[1]["text"], RING);
    // As `sha256sum` says it.
    assert_eq!(inputs[1]["sha256"], "b2d516ac2fbfdf330a3807ea2448b0f4c0e9f82abd7a9eefdb1522aa364ec48e");
}

#[test]
fn one_byte_of_difference_is_refused_by_manifest_and_resume() {
    for (name, edited) in
        [("data/means.csv", "0.9,0.1\n0.2,0.8\n0.5,0.3\n"), ("ring.txt", "0 1\n1 2\n2 0\n\n")]
    {
        let folder = folder();
        let (file, out) = (folder.path().join("x.toml"), folder.path().join("out"));
        go(&file, &out, Start::Fresh).unwrap();
        let curves = fs::read(out.join("curves.parquet")).unwrap();
        go(&out.join("manifest.json"), &folder.path().join("same"), Start::Fresh).unwrap();
        fs::write(folder.path().join(name), edited).unwrap();

        let message = refused(go(&out.join("manifest.json"), &folder.path().join("again"), Start::Fresh));
        assert!(
            message.contains(name) && message.contains("it has changed since that run (sha256 "),
            "{message}"
        );
        assert!(!folder.path().join("again").exists());
        let message = refused(go(&file, &out, Start::Resume));
        assert!(message.contains(&format!("{name} has changed: sha256 ")), "{message}");
        assert!(message.contains("choose another --out, or --force"), "{message}");
        assert_eq!(fs::read(out.join("curves.parquet")).unwrap(), curves, "what was there is left alone");

        // What is gone is taken from the manifest.
        fs::remove_file(folder.path().join(name)).unwrap();
        go(&out.join("manifest.json"), &folder.path().join("again"), Start::Fresh).unwrap();
        assert_eq!(fs::read(folder.path().join("again/curves.parquet")).unwrap(), curves);
    }
}

#[test]
fn what_changes_during_a_run_changes_nothing_in_it() {
    let folder = folder();
    let file = folder.path().join("x.toml");
    let experiment = load(&catalogue(), &file, None).unwrap();
    go(&file, &folder.path().join("before"), Start::Fresh).unwrap();
    fs::write(folder.path().join("data/means.csv"), "0.1,0.9\n0.2,0.8\n0.5,0.4\n").unwrap();
    run(&experiment, &folder.path().join("after"), &options(Start::Fresh, 1)).unwrap();
    let curves = |name: &str| fs::read(folder.path().join(name).join("curves.parquet")).unwrap();
    assert_eq!(curves("before"), curves("after"));
}

#[test]
fn preferences_and_their_line_are_named_too() {
    let folder = tempfile::tempdir().unwrap();
    let text = "horizon = 20\nseeds = 1\n[environment]\nkind = \"users\"\nusers = 4\nservers = 2\nclusters = 2\ndim = 3\n\
        preferences = { file = \"tastes.csv\" }\n[[algorithm]]\nkind = \"fclub\"\n";
    let file = folder.path().join("x.toml");
    fs::write(&file, text).unwrap();
    let message = refused(go(&file, &folder.path().join("out"), Start::Fresh));
    assert!(message.contains("paths are relative to the file that names them"), "{message}");
    fs::write(folder.path().join("tastes.csv"), "0.5,0,0.70710678\n0,0.5\n").unwrap();
    let message = refused(go(&file, &folder.path().join("out"), Start::Fresh));
    assert!(message.contains("line 2 of tastes.csv has 2 numbers, not dim (3)"), "{message}");
    fs::write(folder.path().join("tastes.csv"), "0.5,0,0.70710678\n0,0.5,0.70710678\n").unwrap();
    let outcome = go(&file, &folder.path().join("out"), Start::Fresh).unwrap();
    assert_eq!(outcome.summaries.len(), 1);
    let manifest: Json =
        serde_json::from_slice(&fs::read(folder.path().join("out/manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["inputs"][0]["path"], "tastes.csv");
}
