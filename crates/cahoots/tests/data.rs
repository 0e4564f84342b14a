//! `cahoots data`, and experiments on data, as a shell sees them. The sets are made up.

mod shell;

use std::fs;
use std::path::Path;
use std::process::Output;

use cahoots_data::datasets::{Kind, synthetic};
use serde_json::Value as Json;
use shell::{command, text};

const REPLAY: &str = r#"
seeds = 2
[environment]
kind = "replay"
data = "music"
dim = 4
arms = 5
[[algorithm]]
kind = "linucb-alone"
[[algorithm]]
kind = "async-linucb"
"#;

/// A folder with an experiment and a set in `music`.
fn folder(experiment: &str) -> tempfile::TempDir {
    let folder = shell::folder(experiment);
    synthetic::write(Kind::Lastfm, &folder.path().join("music")).unwrap();
    folder
}

/// The command, with its cache in the folder.
fn cahoots(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).env("CAHOOTS_CACHE", folder.join("cache")).output().unwrap()
}

fn rows(output: &Output) -> Vec<Json> {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_check_counts_and_names_licence_and_source() {
    let folder = folder("");
    let output = cahoots(folder.path(), &["data", "check", "music"]);
    // A made-up set has other counts than the published one.
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stdout);
    for part in [
        "music: lastfm, HetRec 2011 Last.fm",
        "expected: 1,892",
        "licence: non-commercial use",
        "not there, and not needed: artists.dat, user_artists.dat, user_friends.dat",
        "https://files.grouplens.org/",
        "kind = \"replay\"",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    assert!(text(&output.stderr).starts_with("cahoots: music: users, "), "{}", text(&output.stderr));
    let movies = folder.path().join("movies");
    synthetic::write(Kind::Movielens, &movies).unwrap();
    let report = &rows(&cahoots(folder.path(), &["data", "check", "movies", "--json"]))[0];
    assert_eq!(report["dataset"], "movielens");
    assert_eq!(report["counts"][0]["what"], "users");
    assert_eq!(report["counts"][0]["found"], 12);
}

#[test]
fn what_is_wrong_with_data_is_exit_code_2_with_file_and_line() {
    let folder = folder(REPLAY);
    let tags = folder.path().join("music/tags.dat");
    let whole = fs::read_to_string(&tags).unwrap();
    fs::write(&tags, whole.replacen("\tjazz", "", 1)).unwrap();
    let said = "tags.dat, line 3: 2 columns were expected, not 1";
    let output = cahoots(folder.path(), &["data", "check", "music"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), format!("cahoots: {said}\n")));
    let output = cahoots(folder.path(), &["run", "x.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(&format!("data: {said}")), "{}", text(&output.stderr));
    fs::write(&tags, whole).unwrap();
    for (args, said) in [
        (vec!["data", "check", "nowhere"], "there is no folder nowhere"),
        (
            vec!["data", "prepare", "lastfmm", "music"],
            "there is no dataset \"lastfmm\"; did you mean `lastfm`?",
        ),
        (vec!["data", "prepare", "delicious", "music"], "tags.dat, line 1: expected the header"),
    ] {
        let output = cahoots(folder.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let problem = text(&output.stderr);
        assert!(problem.contains(said), "{args:?}: {problem}");
    }
}

#[test]
fn features_are_prepared_once_and_the_same_everywhere() {
    let folder = folder("");
    let prepare = |more: &[&str]| {
        let args = [&["data", "prepare", "lastfm", "music", "--dim", "4", "--json"], more].concat();
        rows(&cahoots(folder.path(), &args))
    };
    let first = prepare(&[]);
    assert_eq!(first.len(), 2);
    let file = |row: &Json| fs::read(row["file"].as_str().unwrap()).unwrap();
    let bytes: Vec<Vec<u8>> = first.iter().map(file).collect();
    assert!(first.iter().all(|row| row["computed"] == true && row["residual"].as_f64().unwrap() <= 1e-11));
    assert!(prepare(&[]).iter().all(|row| row["computed"] == false));
    let anew = prepare(&["--anew", "--features", "svd"]);
    assert_eq!((anew.len(), &anew[0]["computed"], file(&anew[0])), (1, &Json::from(true), bytes[1].clone()));
    // One that is damaged is made anew, and it is said.
    fs::write(first[0]["file"].as_str().unwrap(), &bytes[0][..100]).unwrap();
    let args = ["data", "prepare", "lastfm", "music", "--dim", "4"];
    let output = cahoots(folder.path(), &args);
    assert!(text(&output.stderr).contains("is damaged or of another version, and made anew"));
    assert!(text(&output.stdout).contains("lastfm svd: 83 items"), "{}", text(&output.stdout));
    assert_eq!(file(&first[0]), bytes[0]);
}

#[test]
fn rewards_stand_beside_a_random_choice_and_the_horizon_is_that_of_the_data() {
    let folder = folder(REPLAY);
    let all = rows(&cahoots(folder.path(), &["run", "x.toml", "--json"]));
    assert_eq!(all[0]["steps"], all[0]["horizon"]);
    let expected = all[0]["reward_mean"].as_f64().unwrap() / (all[0]["horizon"].as_f64().unwrap() / 5.0);
    assert!((all[0]["normalised_reward_mean"].as_f64().unwrap() - expected).abs() < 1e-9);
    assert!(all[0]["normalised_reward_ci95"].as_f64().unwrap() > 0.0);
    let table = text(&cahoots(folder.path(), &["run", "x.toml", "--out", "again"]).stdout);
    assert!(table.lines().nth(2).unwrap().contains("times random"), "{table}");
    for file in ["summary.csv", "columns.md"] {
        let file = fs::read_to_string(folder.path().join("again").join(file)).unwrap();
        assert!(file.contains("normalised_reward_mean") && file.contains("normalised_reward_ci95"));
    }
    let horizon = all[0]["horizon"].as_u64().unwrap();
    let long = format!("horizon = {}\n{REPLAY}", horizon + 1);
    fs::write(folder.path().join("long.toml"), long).unwrap();
    let output = cahoots(folder.path(), &["run", "long.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains(&format!("long.toml:1:11: horizon: there are {horizon} events")), "{said}");
    fs::write(folder.path().join("none.toml"), shell::SMALL.replace("horizon = 100\n", "")).unwrap();
    let output = cahoots(folder.path(), &["run", "none.toml"]);
    assert!(text(&output.stderr).contains("`horizon` is missing"), "{}", text(&output.stderr));
    let linear = text(&cahoots(folder.path(), &["run"]).stdout);
    assert!(!linear.contains("times random"), "worlds that do not say it have no such column");
}

#[test]
fn a_folder_that_was_moved_is_the_same_run() {
    let folder = folder(REPLAY);
    let first = cahoots(folder.path(), &["run", "x.toml", "--out", "out"]);
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let names = || -> Vec<String> {
        let entries = fs::read_dir(folder.path().join("out/seeds")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let before = names();
    fs::rename(folder.path().join("music"), folder.path().join("elsewhere")).unwrap();
    fs::write(folder.path().join("x.toml"), REPLAY.replace("\"music\"", "\"elsewhere\"")).unwrap();
    let again = cahoots(folder.path(), &["run", "x.toml", "--out", "out", "--resume", "--seeds", "3"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    let after = names();
    assert_eq!(after.len(), before.len() / 2 * 3, "only the third seed was run: {after:?}");
    assert!(before.iter().all(|name| after.contains(name)));
}
