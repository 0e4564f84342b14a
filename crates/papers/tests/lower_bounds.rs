//! The bounds of a game, in the summary and in the figure of a run.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use cahoots_lab::experiment::Source;
use cahoots_lab::results::{Summary, Wanted, redraw};
use cahoots_lab::run::{Options, Start, run};
use cahoots_lab::{catalogue, from_text};
use cahoots_papers::lower_bounds;

const FILE: &str = r#"
    name = "mixed"
    horizon = 500
    seeds = 2
    [environment]
    kind = "arms"
arrivals = "all"
    rewards = "gaussian"
    means = [[1.0, 0.0, 0.75], [0.0, 1.0, 0.5]]
    [[algorithm]]
    kind = "pf-ucb"
    schedule = 4
"#;

fn go(text: &str, out: &Path) -> Vec<Summary> {
    let stop = AtomicBool::new(false);
    let experiment =
        from_text(&catalogue(), Source { name: "mixed.toml".into(), text: text.into() }, None).unwrap();
    let options = Options {
        jobs: 1,
        start: Start::Fresh,
        quiet: true,
        command: vec!["cahoots".into()],
        stop: &stop,
        theory: lower_bounds,
        per_client: false,
        watch: None,
    };
    run(&experiment, out, &options).unwrap().summaries
}

#[test]
fn a_known_game_is_shown_beside_its_lower_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x");
    let metrics = &go(FILE, &out)[0].metrics;
    assert!(metrics["lower_bound"] > 0.0 && metrics["conjectured_lower_bound"] >= metrics["lower_bound"]);
    let drawn = || fs::read_to_string(out.join("regret.svg")).unwrap();
    let first = drawn();
    assert!(first.contains("lower bound (Theorem 1)") && first.contains("Conjecture 1"));
    assert!(first.contains("bounds: for T to infinity, without communication"));
    redraw(&catalogue(), &out, &out, lower_bounds, &Wanted::default()).unwrap();
    assert_eq!(drawn(), first);
}

#[test]
fn entries_with_different_bounds_leave_them_out() {
    let folder = tempfile::tempdir().unwrap();
    let two = FILE.replace("schedule = 4", "personalization = [0.25, 0.5]");
    let summaries = go(&two, &folder.path().join("y"));
    assert_ne!(summaries[0].metrics["lower_bound"], summaries[1].metrics["lower_bound"]);
    assert!(!fs::read_to_string(folder.path().join("y/regret.svg")).unwrap().contains("lower bound"));
}
