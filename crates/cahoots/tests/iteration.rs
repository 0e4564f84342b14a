//! The built command from one experiment to the next: what it will take, parts of it, and where it comes from.

mod shell;

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use shell::{LONG, SMALL, cahoots, command, folder, text};

#[test]
fn a_dry_run_says_what_it_takes_and_leaves_nothing() {
    let folder = folder(&LONG.replace("kind = \"async-linucb\"", "kind = \"async-linucb\"\nratio = [2, 5]"));
    let said = cahoots(folder.path(), &["run", "x.toml", "--dry-run", "--jobs", "2"]);
    assert_eq!(said.status.code(), Some(0), "{}", text(&said.stderr));
    let said = text(&said.stdout);
    for line in [
        "entries    2 in 1 world\n",
        "runs       120, 60 seeds of each",
        "decisions  2,400,000",
        "time       about ",
        "memory     at least ",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let json = cahoots(folder.path(), &["run", "x.toml", "--dry-run", "--json", "--jobs", "2"]);
    let json: Json = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&json["runs"], &json["decisions"], &json["threads"]),
        (&120.into(), &2_400_000.into(), &2.into())
    );
    assert!(
        json["seconds"].as_f64().unwrap() > 0.1 && json["bytes_per_run"].as_f64().unwrap() > 1e3,
        "{json}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is written");
}

#[test]
fn what_cannot_fit_is_refused_with_the_sum_and_leaves_nothing() {
    let large = |keys: &str| SMALL.replace("clients = 4\ndim = 3\narms = 3", keys);
    for (keys, said) in [
        ("clients = 4000000000\ndim = 25\narms = 25", "4000000000 clients of "),
        ("clients = 4\ndim = 4000000\narms = 3", "a model of 4000000 features takes 128 TB"),
        ("clients = 4\ndim = 300\narms = 4000000000", "this world takes at least 19.2 TB"),
    ] {
        let folder = folder(&large(keys));
        let output = cahoots(folder.path(), &["run", "x.toml"]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(said) && message.contains("free"), "{message}");
        assert!(!folder.path().join("results").exists());
    }
    // A million clients that share what they have not learned yet are no trouble.
    let folder = folder(&large("clients = 1000000\ndim = 25\narms = 25"));
    assert_eq!(cahoots(folder.path(), &["run", "x.toml", "--dry-run"]).status.code(), Some(0));
    // Neither can more runs than anyone could wait for.
    let many = LONG.replace("clients = 20\ndim = 10", "clients = { linspace = [1, 9000, 9000] }\ndim = 10");
    fs::write(folder.path().join("many.toml"), many).unwrap();
    let output = cahoots(folder.path(), &["run", "many.toml", "--seeds", "1000000"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("9,000,000,000 runs"), "{}", text(&output.stderr));
    // As much as is allowed, and no more.
    let limited =
        command(folder.path(), &["run", "x.toml"]).env("CAHOOTS_MEMORY", "1000000").output().unwrap();
    assert_eq!(limited.status.code(), Some(2));
    assert!(text(&limited.stderr).contains("1.0 MB are free"), "{}", text(&limited.stderr));
    assert!(!folder.path().join("results").exists());
}

#[test]
fn parts_are_put_together_by_name() {
    let folder = folder(SMALL);
    for task in ["10", "12", "14"] {
        let part = command(folder.path(), &["run", "x.toml", "--shard", "slurm", "--quiet"])
            .envs([
                ("SLURM_ARRAY_TASK_ID", task),
                ("SLURM_ARRAY_TASK_MIN", "10"),
                ("SLURM_ARRAY_TASK_COUNT", "3"),
                ("SLURM_ARRAY_TASK_STEP", "2"),
            ])
            .output()
            .unwrap();
        assert_eq!(part.status.code(), Some(0), "{}", text(&part.stderr));
    }
    assert!(folder.path().join("results/x/shard-3-of-3/manifest.json").is_file());
    let merged = cahoots(folder.path(), &["merge", "results/x"]);
    assert_eq!(merged.status.code(), Some(0), "{}", text(&merged.stderr));
    cahoots(folder.path(), &["run", "x.toml", "--out", "whole", "--jobs", "1"]);
    for name in ["curves.parquet", "manifest.json", "regret.svg"] {
        let read = |folder_of: &str| fs::read(folder.path().join(folder_of).join(name)).unwrap();
        assert!(read("results/x") == read("whole"), "{name}");
    }
    for (args, said) in [
        (vec!["run", "x.toml", "--shard", "4/3"], "4/3 is no part"),
        (vec!["run", "x.toml", "--shard", "slurm"], "SLURM_ARRAY_TASK_ID is not set"),
        (vec!["merge", "whole"], "holds no part of a run"),
        (vec!["merge", "nowhere"], "there is no folder nowhere"),
    ] {
        let output = cahoots(folder.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    }
}

#[test]
fn an_experiment_can_come_from_the_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(folder.path(), &["run", "-", "--json", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), SMALL.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout).lines().count(), 2);
    assert!(folder.path().join("results/stdin/summary.json").is_file());
}

#[test]
fn what_an_experiment_can_say_is_described() {
    let folder = tempfile::tempdir().unwrap();
    for (name, words) in [
        ("network", vec!["offline", "duplicate", "at least 0 and below 1"]),
        ("rewards", vec!["patience", "gives up on a reward", "delay", "poison"]),
        (
            "arrivals",
            vec![
                "\"all\"",
                "{ zipf = ... }",
                "(when nothing is said)",
                "every: a whole number of at least 1",
            ],
        ),
    ] {
        let output = cahoots(folder.path(), &["environments", name]);
        let said = text(&output.stdout);
        assert!(output.status.success() && words.iter().all(|word| said.contains(word)), "{said}");
    }
    let all = text(&cahoots(folder.path(), &["environments"]).stdout);
    assert!(all.contains("linear") && all.contains("network") && all.contains("arrivals"), "{all}");
    let near = cahoots(folder.path(), &["environments", "arr"]);
    assert!(text(&near.stderr).contains("did you mean `arrivals`?"));
    let help = text(&cahoots(folder.path(), &["audit", "--help"]).stdout);
    assert!(["tree", "dubey-pentland-2020"].iter().all(|name| help.contains(name)), "{help}");
    let help = text(&cahoots(folder.path(), &["run", "--help"]).stdout);
    assert!(help.contains("The horizon counts ticks"), "{help}");
}

#[test]
fn shells_and_manuals_are_served_and_the_version_names_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let said = text(&cahoots(folder.path(), &["completions", shell]).stdout);
        assert!(said.contains("cahoots") && said.contains("dry-run"), "{shell}");
    }
    let page = text(&cahoots(folder.path(), &["man"]).stdout);
    assert!(page.contains(".TH cahoots 1") && page.contains("reproduce"), "{page}");
    assert!(cahoots(folder.path(), &["man", "pages"]).status.success());
    let page = fs::read_to_string(folder.path().join("pages/cahoots-run.1")).unwrap();
    assert!(page.contains("dry\\-run") && page.contains("cahoots\\-run"), "{page}");
    let version = text(&cahoots(folder.path(), &["--version"]).stdout);
    let git = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    match git.ok().filter(|git| git.status.success()) {
        // The commit that it was built from: not always the one that is checked out by now.
        Some(_) => {
            let commit =
                version.trim().strip_prefix("cahoots 0.1.0 (").and_then(|rest| rest.strip_suffix(')'));
            let commit = commit.unwrap_or_else(|| panic!("{version}"));
            assert!(commit.len() >= 7 && commit.chars().all(|digit| digit.is_ascii_hexdigit()), "{version}");
        }
        None => assert_eq!(version, "cahoots 0.1.0\n"),
    }
}

#[test]
fn off_a_terminal_progress_is_a_line_now_and_then() {
    let folder =
        folder(&LONG.replace("horizon = 20000", "horizon = 4000000").replace("seeds = 60", "seeds = 2"));
    let mut child =
        command(folder.path(), &["run", "x.toml", "--jobs", "2"]).stderr(Stdio::piped()).spawn().unwrap();
    let stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let lines: Vec<String> = std::io::BufRead::lines(stderr).map(Result::unwrap).take(2).collect();
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(
        lines.iter().all(|line| line.contains("decisions per second") && line.contains("s left")),
        "{lines:?}"
    );
}

#[cfg(unix)]
#[test]
fn whatever_is_interrupted_says_so_by_its_code() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["audit", "tree", "--trials", "1000000000"];
    let mut child = command(folder.path(), &args).stderr(Stdio::null()).spawn().unwrap();
    // Long enough for it to have begun, and far from its end.
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(child.try_wait().unwrap().is_none());
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
