//! `cahoots evaluate`, as a shell sees it.

mod shell;

use std::fs;
use std::path::Path;

use serde_json::Value as Json;
use shell::{cahoots, text};

const CONTEXT: [&str; 2] = ["--context", "evening,mobile,returning"];

/// A folder with the example's log in it.
fn folder(rows: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let output = cahoots(folder.path(), &["evaluate", "--example", "log.csv", "--rows", rows]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("columns:target_"), "{}", text(&output.stdout));
    folder
}

fn evaluated(folder: &Path, args: &[&str]) -> Vec<Json> {
    let output = cahoots(folder, &[&["evaluate", "log.csv", "--json"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What is said of a log that cannot answer: exit code 2, and one message.
fn refused(folder: &Path, args: &[&str]) -> String {
    let output = cahoots(folder, &[&["evaluate"], args].concat());
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stdout));
    assert_eq!(text(&output.stdout), "", "{args:?}");
    text(&output.stderr)
}

#[test]
fn the_example_is_estimated_near_its_truth() {
    let folder = folder("10000");
    let lines = evaluated(
        folder.path(),
        &[&["--policy", "columns:target_", "--policy", "logged"], &CONTEXT[..]].concat(),
    );
    assert_eq!(lines.len(), 2);
    let printed = text(&cahoots(folder.path(), &["evaluate", "--example", "again.csv"]).stdout);
    let truth = |policy: &str| {
        let line = printed.lines().find(|line| line.starts_with(policy)).unwrap();
        line.split_whitespace().last().unwrap().parse::<f64>().unwrap()
    };
    for (line, policy) in lines.iter().zip(["columns:target_", "logged"]) {
        assert_eq!(line["policy"], policy);
        for estimate in line["estimates"].as_array().unwrap().iter().filter(|e| e["estimator"] != "dm") {
            let (value, error) =
                (estimate["value"].as_f64().unwrap(), estimate["standard_error"].as_f64().unwrap());
            // Four standard errors, and what is lost by printing four digits.
            assert!((value - truth(policy)).abs() < 4.0 * error + 1e-4, "{policy}: {estimate}");
            for interval in ["normal", "bootstrap"] {
                assert!(estimate[interval][0].as_f64().unwrap() < estimate[interval][1].as_f64().unwrap());
            }
        }
        assert!(line["diagnostics"]["effective"].as_f64().unwrap() > 1000.0);
    }
    let table = cahoots(folder.path(), &["evaluate", "log.csv", "--policy", "uniform"]);
    let table = text(&table.stdout);
    for word in ["ips", "snips", "dm", "dr", "switch", "effective", "What they assume", "at any time"] {
        assert!(table.contains(word), "{word} in {table}");
    }
    // What has no interval at any time is said.
    assert!(table.contains("switch has one with a stated --tau alone that keeps every weight"), "{table}");
    let clipped = ["evaluate", "log.csv", "--policy", "uniform", "--clip", "2", "--tau", "1000"];
    let clipped = text(&cahoots(folder.path(), &clipped).stdout);
    assert!(clipped.contains("Under --clip, snips and dr have none"), "{clipped}");
    assert!(!clipped.contains("switch has one with"), "{clipped}");
}

#[test]
fn fitted_policies_say_what_they_were_made_from() {
    let folder = folder("4000");
    let args = ["evaluate", "log.csv", "--policy", "epsilon-greedy:0.2", CONTEXT[0], CONTEXT[1]];
    let output = text(&cahoots(folder.path(), &args).stdout);
    assert!(output.contains("made from ") && output.contains("evaluated on the other"), "{output}");
}

#[test]
fn algorithms_learn_from_what_they_would_have_done() {
    let folder = folder("20000");
    let args = [&["--policy", "linucb-alone", "--param", "ridge=0.2"], &CONTEXT[..]].concat();
    let line = evaluated(folder.path(), &args).remove(0);
    assert_eq!((line["method"].as_str(), line["events"].as_u64()), (Some("rejection"), Some(20_000)));
    assert!(line["taken"].as_u64().unwrap() > 500, "{line}");
    assert_eq!(line["clients_in_log"], 20);
    let plain = evaluated(folder.path(), &["--policy", "ucb-alone"]).remove(0);
    assert!(plain["taken"].as_u64().unwrap() > 500, "{plain}");
    let shown = text(&cahoots(folder.path(), &["evaluate", "log.csv", "--policy", "ucb-alone"]).stdout);
    assert!(shown.contains("transfers are not those of a real run"), "{shown}");
    assert!(shown.contains("of a log are, if every arm is at least that likely"), "{shown}");
    // A linear algorithm without features, and a parameter that is none.
    let without = refused(folder.path(), &["log.csv", "--policy", "linucb-alone"]);
    assert!(without.contains("--context COLUMNS"), "{without}");
    let wrong = ["log.csv", "--policy", "linucb-alone", "--param", "rigde=1", CONTEXT[0], CONTEXT[1]];
    assert!(refused(folder.path(), &wrong).contains("no parameter `rigde`; did you mean `ridge`?"));
}

#[test]
fn what_a_log_cannot_answer_is_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    let rows = |header: &str, row: &dyn Fn(usize) -> String| {
        (0..200).fold(header.to_string(), |text, number| text + "\n" + &row(number))
    };
    let arm = |number: usize| ["a", "b"][number % 2];
    write("bare.csv", rows("arm,reward", &|n| format!("{},{}", arm(n), n % 3)));
    write("certain.csv", rows("arm,reward,propensity", &|n| format!("{},{},1", arm(n), n % 3)));
    write(
        "zero.csv",
        rows("arm,reward,propensity", &|n| format!("{},1,{}", arm(n), if n == 7 { 0.0 } else { 0.5 })),
    );
    write(
        "thin.csv",
        rows("arm,reward,propensity", &|n| match n {
            0..4 => "b,1,0.02".into(),
            _ => "a,1,0.98".into(),
        }),
    );
    write("beyond.csv", rows("arm,reward,propensity,to_a,to_c", &|n| format!("{},1,0.5,0.5,0.5", arm(n))));
    let says = |args: &[&str], words: &[&str]| {
        let said = refused(folder.path(), args);
        words.iter().for_each(|word| assert!(said.contains(word), "{word} in {said}"));
    };
    says(&["bare.csv", "--policy", "uniform"], &["--propensity COLUMN", "--uniform-logging"]);
    says(&["certain.csv", "--policy", "uniform"], &["every propensity is 1", "exploration"]);
    says(&["certain.csv", "--policy", "ucb-alone"], &["every propensity is 1"]);
    says(&["zero.csv", "--policy", "uniform"], &["line 9", "propensity of 0", "above 0"]);
    says(&["thin.csv", "--policy", "constant:b"], &["200 decisions", "4.0", "floor of 50", "--force"]);
    says(&["beyond.csv", "--policy", "columns:to_"], &["50.0%", "(c)", "--force"]);
    says(&["beyond.csv", "--policy", "columns:xx_"], &["no column begins like that"]);
    says(&["beyond.csv", "--policy", "constant:z"], &["no such arm", "a, b"]);
    says(&["beyond.csv", "--policy", "unifrom"], &["did you mean `uniform`"]);
    says(&["beyond.csv", "--policy", "uniform", "--param", "ridge=1"], &["--param is for algorithms"]);
    says(&["beyond.csv", "--policy", "ucb-alone", "--clip", "3"], &["--clip is for policies"]);
    says(&["none.csv", "--policy", "uniform"], &["none.csv"]);
    says(
        &["beyond.csv", "--policy", "uniform", "--context", "reward"],
        &["column `reward` is the reward", "a context must not hold it"],
    );
    says(&["beyond.csv", "--policy", "uniform", "--arm", "arms"], &["did you mean `arm`"]);
    let uniform =
        cahoots(folder.path(), &["evaluate", "bare.csv", "--policy", "constant:a", "--uniform-logging"]);
    assert_eq!(uniform.status.code(), Some(0), "{}", text(&uniform.stderr));
    let forced = cahoots(folder.path(), &["evaluate", "thin.csv", "--policy", "constant:b", "--force"]);
    assert_eq!(forced.status.code(), Some(0));
    assert!(text(&forced.stdout).contains("warning: by --force"), "{}", text(&forced.stdout));
}

#[test]
fn an_example_replaces_no_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("log.csv"), "mine").unwrap();
    let said = refused(folder.path(), &["--example", "log.csv"]);
    assert!(said.contains("log.csv is there already: name another file"), "{said}");
    assert_eq!(fs::read_to_string(folder.path().join("log.csv")).unwrap(), "mine");
}

#[test]
fn numbers_that_cannot_be_added_up_are_refused_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    for (reward, feature, said) in [("1", "1e200", "a feature is 1000"), ("1e160", "1", "the reward is 1000")]
    {
        let mut log = "arm,reward,propensity,x\n".to_owned();
        for row in 0..200 {
            log += if row % 2 == 0 { "a,0,0.5,1\n" } else { "b,1,0.5,2\n" };
        }
        log += &format!("a,{reward},0.5,{feature}\n");
        fs::write(folder.path().join("log.csv"), log).unwrap();
        for policy in ["uniform", "linucb-alone"] {
            let message = refused(folder.path(), &["log.csv", "--policy", policy, "--context", "x"]);
            assert!(message.contains("line 202") && message.contains(said), "{policy}: {message}");
            assert!(message.contains("which is no number that can be added up"), "{policy}: {message}");
        }
    }
}
