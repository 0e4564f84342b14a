//! Results as tables: every parameter a column, every column explained, clients that add up.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cahoots_lab::LabError;
use cahoots_lab::run::{Options, Outcome, Start, run};
use common::{FILE, experiment, options};

fn go(text: &str, out: &Path, start: Start, jobs: usize) -> Result<Outcome, LabError> {
    run(&experiment(text), out, &options(start, jobs))
}

/// The columns of a Parquet file and its rows, as text.
fn parquet(path: &Path) -> (Vec<String>, Vec<BTreeMap<String, String>>) {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let names = schema.columns().iter().map(|column| column.name().to_string()).collect();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        row.get_column_iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
    });
    (names, rows.collect())
}

fn csv_names(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().next().unwrap().split(',').map(String::from).collect()
}

/// Two worlds that differ in the network, rewards that are late, an infinite and a nested parameter.
const WIDE: &str = r#"
name = "wide"
horizon = 80
seeds = 2
[environment]
kind = "linear"
clients = 4
dim = 3
arms = 3
arrivals = { zipf = 1.2 }
[network]
delay = [0, 3]
[rewards]
delay = 2
[[algorithm]]
kind = "async-linucb"
ratio = [1.5, inf]
radius = { fixed = 0.3 }
[[algorithm]]
kind = "linucb-alone"
"#;

#[test]
fn every_parameter_is_a_column_of_its_own_and_every_column_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x");
    run(&experiment(WIDE), &out, &Options { per_client: true, ..options(Start::Fresh, 2) }).unwrap();
    let (summary, rows) = parquet(&out.join("summary.parquet"));
    assert_eq!(summary, csv_names(&out.join("summary.csv")), "two forms of one table");
    for column in [
        "environment.kind",
        "environment.clients",
        "environment.arrivals.zipf",
        "environment.reward_noise",
        "network.delay",
        "rewards.delay",
        "params.ratio",
        "params.radius.fixed",
        "params.ridge",
        "regret_mean",
    ] {
        assert!(summary.iter().any(|name| name == column), "{column} in {summary:?}");
    }
    assert!(!summary.iter().any(|name| name.contains("ns_per") || name.contains("rss")));
    // By entry: the value that was run with, as a number.
    let ratios: Vec<&str> = rows.iter().map(|row| row["params.ratio"].as_str()).collect();
    assert_eq!(ratios, ["1.5", "inf", "null", "1.5", "inf", "null"]);
    let delays: Vec<&str> = rows.iter().map(|row| row["network.delay"].as_str()).collect();
    assert_eq!(delays, ["0", "0", "0", "3", "3", "3"]);
    let (curves, points) = parquet(&out.join("curves.parquet"));
    let parameters = summary.iter().filter(|name| {
        ["params.", "environment.", "network.", "rewards."].iter().any(|section| name.starts_with(section))
    });
    for name in parameters {
        assert!(curves.contains(name), "{name} is not in curves.parquet");
    }
    let last = points.last().unwrap();
    assert_eq!((last["network.delay"].as_str(), last["environment.arrivals.zipf"].as_str()), ("3", "1.2"));

    let said = fs::read_to_string(out.join("columns.md")).unwrap();
    let (clients, _) = parquet(&out.join("clients.parquet"));
    assert_eq!(clients, csv_names(&out.join("clients.csv")));
    for name in summary.iter().chain(&curves).chain(&clients).chain(&csv_names(&out.join("timing.csv"))) {
        let line = said.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let meaning = line.unwrap_or_else(|| panic!("{name} is not explained")).rsplit(" | ").next().unwrap();
        assert!(meaning.trim_matches([' ', '|']).len() > 5, "{name} is not explained: {line:?}");
    }
}

#[test]
fn clients_add_up_to_the_run_and_are_counted_on_request_only() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x");
    let plain = go(FILE, &out, Start::Fresh, 2).unwrap();
    assert!(!out.join("clients.csv").exists());
    // Asked for afterwards, runs are made again, with the same results.
    let before = fs::read(out.join("summary.csv")).unwrap();
    let asked = Options { per_client: true, ..options(Start::Resume, 2) };
    let outcome = run(&experiment(FILE), &out, &asked).unwrap();
    assert_eq!(fs::read(out.join("summary.csv")).unwrap(), before);
    let (_, rows) = parquet(&out.join("clients.parquet"));
    assert_eq!(rows.len(), 6 * 3 * 5);
    for (entry, summary) in outcome.summaries.iter().enumerate() {
        let own = || rows.iter().filter(|row| row["entry"] == entry.to_string());
        let sum = |name: &str| own().map(|row| row[name].parse::<f64>().unwrap()).sum::<f64>() / 3.0;
        assert!((sum("regret") - summary.regret().mean).abs() < 1e-9);
        assert!((sum("reward") - summary.reward().mean).abs() < 1e-9);
        assert!((sum("sent") + sum("received") - summary.transfers().mean).abs() < 1e-9);
        assert!((sum("steps") - 120.0).abs() < 1e-9);
        let bytes = summary.over(|run| run.traffic.bytes as f64).mean;
        assert!((sum("sent_bytes") + sum("received_bytes") - bytes).abs() < 1e-6);
        assert_eq!(summary.runs, plain.summaries[entry].runs, "counting changes nothing");
    }
    go(FILE, &out, Start::Force, 2).unwrap();
    assert!(!out.join("clients.csv").exists() && !out.join("clients.parquet").exists());
}
