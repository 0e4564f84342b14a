//! The built command, as a shell sees it.

mod shell;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use shell::{LONG, SMALL, cahoots, command, folder, text};

#[test]
fn json_has_the_keys_that_scripts_rely_on() {
    let folder = folder(SMALL);
    let output = cahoots(folder.path(), &["run", "x.toml", "--json", "--seeds", "3", "--jobs", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines: Vec<Json> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["algorithm"], "async-linucb");
    assert_eq!(lines[1]["algorithm"], "linucb-shared");
    for key in [
        "algorithm",
        "label",
        "seeds",
        "horizon",
        "steps",
        "regret_mean",
        "regret_sd",
        "reward_mean",
        "uploads_mean",
        "downloads_mean",
        "peer_messages_mean",
        "transfers_mean",
        "scalars_mean",
        "bytes_mean",
        "cost_mean",
        "rounds_mean",
        "clusters_mean",
        "privacy",
        "ns_per_step",
        "peak_rss_bytes",
    ] {
        assert!(lines[0].get(key).is_some(), "{key}");
    }
    assert_eq!(lines[0]["seeds"], 3);
    assert_eq!(lines[0]["steps"], 100);
    assert!(lines[0]["clusters_mean"].is_null() && lines[0]["privacy"].is_null());
    assert!(lines[0]["regret_sd"].is_number());
    for name in [
        "manifest.json",
        "summary.json",
        "summary.csv",
        "curves.parquet",
        "regret.svg",
        "regret.png",
        "regret-vs-communication.svg",
        "regret-vs-communication.png",
    ] {
        assert!(folder.path().join("results/x").join(name).is_file(), "{name}");
    }
    let csv = fs::read_to_string(folder.path().join("results/x/summary.csv")).unwrap();
    assert!(csv.starts_with("algorithm,label,seeds,"));
    assert_eq!(csv.lines().count(), 3);
}

#[test]
fn one_seed_has_no_spread() {
    let folder = folder(SMALL);
    let output = cahoots(folder.path(), &["run", "x.toml", "--json", "--seeds", "1", "--quiet"]);
    let line: Json = serde_json::from_str(text(&output.stdout).lines().next().unwrap()).unwrap();
    assert!(line["regret_sd"].is_null());
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn wrong_input_is_exit_code_2_with_one_message() {
    let folder = folder(SMALL);
    fs::write(folder.path().join("bad.toml"), SMALL.replace("dim = 3", "dimm = 3")).unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (args, said) in [
        (vec!["run", "nowhere.toml"], "cahoots: there is no file nowhere.toml\n"),
        (vec!["run", "."], "cahoots: . is a folder, not a file\n"),
        (vec!["run", "x.toml", "--out", "file"], "cahoots: --out file is a file: name a folder\n"),
        (
            vec!["run", "bad.toml"],
            "cahoots: bad.toml:7:1: unknown key `dimm`\n  |\n7 | dimm = 3\n  | ^^^^ did you mean `dim`?\n",
        ),
        (
            vec!["algorithms", "async-linubc"],
            "cahoots: there is no algorithm \"async-linubc\"; did you mean `async-linucb`?\n",
        ),
        (vec!["plot", "nowhere"], "cahoots: nowhere holds no run: there is no manifest.json\n"),
    ] {
        let output = cahoots(folder.path(), &args);
        assert_eq!(text(&output.stderr), said, "{args:?}");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
    }
    for args in [vec!["run", "x.toml", "--seeds", "0"], vec!["run", "x.toml", "--jobs", "many"], vec!["walk"]]
    {
        assert_eq!(cahoots(folder.path(), &args).status.code(), Some(2), "{args:?}");
    }
    assert!(!folder.path().join("results").exists(), "nothing is written when the input is wrong");
}

#[test]
fn commands_that_moved_say_where_to() {
    let folder = folder(SMALL);
    for (args, there) in [
        (&["bench"][..], "hot-step | federation | reclustering | live"),
        (&["bench", "federation", "--json"], "hot-step | federation | reclustering | live"),
        (&["soak", "--kills", "3"], "soak"),
    ] {
        let output = cahoots(folder.path(), args);
        let message = format!(
            "cahoots: `{}` is a program of its own, in the source tree:\n  \
             cargo run --release -p cahoots-bench -- {there}\n",
            args[0]
        );
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), message));
    }
    let nowhere = cahoots(folder.path(), &["nowhere"]);
    let message = text(&nowhere.stderr);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(message.contains("unrecognized subcommand 'nowhere'") && !message.contains("cahoots-bench"));
}

#[test]
fn a_second_run_says_how_to_go_on() {
    let folder = folder(SMALL);
    assert_eq!(cahoots(folder.path(), &["run", "x.toml"]).status.code(), Some(0));
    let output = cahoots(folder.path(), &["run", "x.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--resume"), "{}", text(&output.stderr));
    for more in ["--resume", "--force"] {
        assert_eq!(cahoots(folder.path(), &["run", "x.toml", more]).status.code(), Some(0));
    }
    let output = cahoots(folder.path(), &["plot", "results/x"]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_table_is_readable() {
    let folder = folder(SMALL);
    let output = cahoots(folder.path(), &["run", "x.toml"]);
    let out = text(&output.stdout);
    for word in ["regret", "vs first", "async-linucb", "±", "results/x", "curves.parquet"] {
        assert!(out.contains(word), "{word} in {out}");
    }
}

#[test]
fn help_teaches() {
    let folder = folder("");
    for args in
        [vec![], vec!["--help"], vec!["run", "--help"], vec!["algorithms"], vec!["environments", "linear"]]
    {
        let output = cahoots(folder.path(), &args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stdout.len() > 200, "{args:?}");
    }
    let about = text(&cahoots(folder.path(), &["algorithms", "async-linucb"]).stdout);
    for word in ["upload_ratio", "failure_prob", "0.1", "Algorithms 1 and 2"] {
        assert!(about.contains(word), "{word}");
    }
    let json = text(&cahoots(folder.path(), &["algorithms", "--json"]).stdout);
    let first: Json = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first["parameters"][0]["name"], "ridge");
    let schema: Json = serde_json::from_slice(&cahoots(folder.path(), &["run", "--schema"]).stdout).unwrap();
    assert!(schema["properties"]["environment"]["oneOf"].is_array());
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let folder = folder("");
    let mut child = command(folder.path(), &["run", "--schema"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

fn finished_runs(folder: &Path) -> usize {
    let entries = fs::read_dir(folder.join("results/x/seeds")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "json")).count()
}

/// Starts a long run, sends it a signal once some runs are done, and waits for its end.
fn signalled(folder: &Path, signal: &str) -> Output {
    let child = command(folder, &["run", "x.toml", "--jobs", "2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while finished_runs(folder) < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no run was ever finished");
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    child.wait_with_output().unwrap()
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_finished_runs_and_says_how_to_resume() {
    let folder = folder(LONG);
    let output = signalled(folder.path(), "-INT");
    assert_eq!(output.status.code(), Some(130));
    let said = text(&output.stderr);
    assert!(said.contains("--resume") && said.contains("of 60 runs are kept"), "{said}");
    let kept = finished_runs(folder.path());
    assert!((2..60).contains(&kept));
    assert!(!folder.path().join("results/x/summary.json").exists());

    let output = cahoots(folder.path(), &["run", "x.toml", "--resume"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(&format!("{kept} of 60 runs are there already")));
}

#[cfg(unix)]
#[test]
fn killed_and_resumed_equals_never_killed() {
    let folder = folder(LONG);
    signalled(folder.path(), "-KILL");
    assert!(finished_runs(folder.path()) < 60);
    let strip = |output: Output| {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let mut line: Json = serde_json::from_slice(&output.stdout).unwrap();
        for key in ["ns_per_step", "peak_rss_bytes"] {
            line.as_object_mut().unwrap().remove(key);
        }
        line
    };
    let resumed = strip(cahoots(folder.path(), &["run", "x.toml", "--resume", "--json"]));
    let whole = strip(cahoots(folder.path(), &["run", "x.toml", "--out", "whole", "--json", "--jobs", "1"]));
    assert_eq!(resumed, whole);
    let curves = |name: &str| fs::read(folder.path().join(name).join("curves.parquet")).unwrap();
    assert!(curves("results/x") == curves("whole"));
}

#[test]
fn reproductions_are_listed_and_unknown_ones_refused() {
    let folder = tempfile::tempdir().unwrap();
    let listed = cahoots(folder.path(), &["reproduce", "--list", "--json"]);
    assert!(listed.status.success());
    let listed = text(&listed.stdout);
    let items: Vec<Json> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let item = items.iter().find(|item| item["item"] == "async-linucb/figure-2a").unwrap();
    assert_eq!((&item["state"], &item["paper"]["year"]), (&"not run".into(), &2022.into()));
    let refused = cahoots(folder.path(), &["reproduce", "async-linucb/figure-9"]);
    assert_eq!(refused.status.code(), Some(2));
    let message = text(&refused.stderr);
    assert!(message.contains("did you mean async-linucb/figure-"), "{message}");
}

#[test]
fn the_list_names_papers_and_their_old_numbers_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let listed = text(&cahoots(folder.path(), &["reproduce", "hetofed", "--list"]).stdout);
    let heading =
        "hetofed: Federated Linear Contextual Bandits with Heterogeneous Clients (Blaser, Li and Wang, 2024)";
    assert!(listed.contains(heading) && !listed.contains("async-linucb"), "{listed}");
    for (old, new) in [("004/figure-3", "async-linucb/figure-3"), ("002", "dp-mab")] {
        let refused = cahoots(folder.path(), &["reproduce", old]);
        assert_eq!(refused.status.code(), Some(2));
        let message = text(&refused.stderr);
        assert!(message.contains(&format!("{old} is now {new}\n")), "{message}");
    }
}

#[test]
fn a_reproduction_ends_in_claims_and_is_not_run_twice() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["reproduce", "async-linucb/authors-code", "--quick", "--json", "--out", "out"];
    let first = cahoots(folder.path(), &args);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let report: Json = serde_json::from_str(&text(&first.stdout)).unwrap();
    assert_eq!(report["item"], "async-linucb/authors-code");
    let claims = report["claims"].as_array().unwrap();
    assert!(claims.iter().any(|claim| claim["verdict"] == "holds"));
    for name in ["report.md", "report.json", "authors-code.svg", "authors-code.png"] {
        assert!(folder.path().join("out/async-linucb/authors-code").join(name).exists(), "{name}");
    }
    let again = cahoots(folder.path(), &args);
    assert!(text(&again.stderr).contains("18 of 18 runs are there already"), "{}", text(&again.stderr));
    let second: Json = serde_json::from_str(&text(&again.stdout)).unwrap();
    assert_eq!(second["claims"], report["claims"]);
    let listed = cahoots(folder.path(), &["reproduce", "--list", "--out", "out"]);
    assert!(text(&listed.stdout).contains("claims hold"), "{}", text(&listed.stdout));
}

#[test]
fn a_plan_names_thresholds_and_wants_a_budget() {
    let folder = tempfile::tempdir().unwrap();
    let size = ["plan", "-n", "30", "-d", "4", "-t", "1000"];
    let planned = cahoots(folder.path(), &[&size[..], &["--transfers", "500", "--json"]].concat());
    assert!(planned.status.success(), "{}", text(&planned.stderr));
    let plan: Json = serde_json::from_str(&text(&planned.stdout)).unwrap();
    assert_eq!(plan["plan"]["rows"].as_array().unwrap().len(), 4);
    assert!(plan["plan"]["rows"][0]["params"]["upload_ratio"].as_f64().unwrap() > 1.0);
    assert_eq!(cahoots(folder.path(), &size).status.code(), Some(2));
}
