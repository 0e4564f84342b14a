//! Checks against the real files, which no licence allows in this repository: set CAHOOTS_DATA to the folder that holds
//! `lastfm-2k`, `delicious-2k-reduced` and `ml-latest-small-2018`, and run with `--nocapture` to see what is measured.

use std::path::PathBuf;

use cahoots_algorithms::registry::ours;
use cahoots_data::datasets::{Folder, Kind, load};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::driver::Options;
use cahoots_sim::files::Here;
use cahoots_sim::run::Scenario;
use serde_json::{Value, json};

/// The folder of a set; says so where there is none.
fn folder(name: &str) -> Option<String> {
    let Some(data) = std::env::var_os("CAHOOTS_DATA") else {
        eprintln!("NOT CHECKED: {name}: CAHOOTS_DATA does not say where real files are");
        return None;
    };
    let folder = PathBuf::from(data).join(name);
    assert!(folder.is_dir(), "CAHOOTS_DATA has no {name}");
    Some(folder.to_string_lossy().into_owned())
}

/// Reward beside that of a random choice, seed by seed, and how many decisions there were.
fn normalised(environment: &Value, algorithm: &str, seeds: u64) -> (Vec<f64>, u64) {
    let mut catalogue = Catalogue::new(ours());
    cahoots_data::add_worlds(&mut catalogue.worlds);
    let environment = serde_json::from_value(environment.clone()).unwrap();
    let environment = catalogue.worlds.read_files(&environment, &Here).unwrap();
    let horizon = catalogue.worlds.ticks(&environment).unwrap().unwrap();
    let scenario: Scenario =
        serde_json::from_value(json!({ "horizon": horizon, "environment": environment })).unwrap();
    let params = json!({ "ridge": 0.2, "radius": { "fixed": 0.3 } });
    let run = |seed| {
        let params = cahoots_sim::run::Params::try_from(&params).unwrap();
        let report = catalogue
            .simulate(algorithm, &params, &scenario, seed, Options::default(), &mut |_| true)
            .unwrap();
        assert_eq!(report.ledger.steps, horizon);
        report.ledger.normalised_reward().unwrap()
    };
    ((0..seeds).map(run).collect(), horizon)
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (square / (values.len() as f64 - 1.0).max(1.0)).sqrt())
}

#[test]
fn scratch() {
    let Ok(environment) = std::env::var("SCRATCH") else { return };
    for environment in environment.split(';') {
        let environment: Value = serde_json::from_str(environment).unwrap();
        let seeds = std::env::var("SEEDS").map_or(2, |seeds| seeds.parse().unwrap());
        for algorithm in ["linucb-alone", "linucb-shared"] {
            let begun = std::time::Instant::now();
            let (values, steps) = normalised(&environment, algorithm, seeds);
            let (mean, deviation) = mean_and_deviation(&values);
            eprintln!(
                "{environment} {algorithm} {steps}: {mean:.3} sd {deviation:.3} {values:.2?} ({:.1?})",
                begun.elapsed()
            );
        }
    }
}
