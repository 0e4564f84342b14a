//! Figures 4 to 7: clients around a server.

use cahoots_figure::{Axis, Figure, Panels, Series};
use cahoots_lab::LabError;
use cahoots_lab::run::Record;

use super::common::{LIKE, PUBLISHED, alike, cost, falls, finishes, given, over_time, rounds};
use crate::reproduce::quantity::regret;
use crate::reproduce::{ExperimentFile, Item, Measured, MeasuredExperiment, ReportBuilder, Runs, Seconds};

/// Figure 4.
pub(super) const FIGURE_4: Item = Item {
    name: "dp-mab/figure-4",
    title: "CDP-MAB: more privacy, more regret",
    experiments: &[
        ExperimentFile { name: "raw", text: include_str!("experiments/figure-4.toml"), quick_seeds: 3 },
        ExperimentFile {
            name: "short",
            text: include_str!("experiments/figure-4-short.toml"),
            quick_seeds: 3,
        },
        ExperimentFile { name: "like", text: include_str!("experiments/figure-4-like.toml"), quick_seeds: 3 },
    ],
    seconds: Seconds { full: 400.0, quick: 40.0 },
    check_claims: check_4,
};

/// Figure 5.
pub(super) const FIGURE_5: Item = Item {
    name: "dp-mab/figure-5",
    title: "CDP-MAB: fewer participants, more regret",
    experiments: &[
        ExperimentFile { name: "raw", text: include_str!("experiments/figure-5.toml"), quick_seeds: 3 },
        ExperimentFile { name: "like", text: include_str!("experiments/figure-5-like.toml"), quick_seeds: 3 },
    ],
    seconds: Seconds { full: 150.0, quick: 15.0 },
    check_claims: check_5,
};

/// Figure 6.
pub(super) const FIGURE_6: Item = Item {
    name: "dp-mab/figure-6",
    title: "CDP-MAB: fewer rounds, more regret",
    experiments: &[
        ExperimentFile { name: "raw", text: include_str!("experiments/figure-6.toml"), quick_seeds: 3 },
        ExperimentFile { name: "like", text: include_str!("experiments/figure-6-like.toml"), quick_seeds: 3 },
    ],
    seconds: Seconds { full: 150.0, quick: 15.0 },
    check_claims: check_6,
};

/// Figure 7.
pub(super) const FIGURE_7: Item = Item {
    name: "dp-mab/figure-7",
    title: "CDP-MAB: regret against communication, participation and rounds together",
    experiments: &[
        ExperimentFile { name: "raw", text: include_str!("experiments/figure-7.toml"), quick_seeds: 2 },
        ExperimentFile { name: "like", text: include_str!("experiments/figure-7-like.toml"), quick_seeds: 2 },
    ],
    seconds: Seconds { full: 250.0, quick: 50.0 },
    check_claims: check_7,
};

const EPSILONS: [f64; 4] = [0.1, 0.3, 0.5, 1.0];

/// Regret at each epsilon, and without noise.
type Row = (&'static str, [f64; 4]);

const LONG: ([Row; 3], f64, f64) = (
    [
        ("published", [68.1e3, 60.4e3, 58.3e3, 57.2e3]),
        ("central", [195e3, 106e3, 83e3, 70e3]),
        ("local", [590e3, 254e3, 182e3, 124e3]),
    ],
    57.4e3,
    5.7,
);

const SHORT: ([Row; 3], f64, f64) = (
    [
        ("published", [49.5e3, 44.5e3, 43.6e3, 42.7e3]),
        ("central", [117e3, 69e3, 57e3, 50e3]),
        ("local", [246e3, 154e3, 116e3, 80e3]),
    ],
    42.1e3,
    4.0,
);

fn check_4(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let mut panels = Vec::new();
    for name in ["like", "raw"] {
        let part = measured.experiment(name)?;
        let family: Vec<&Runs> = part.block("published").collect();
        falls(report, &format!("{name}: regret falls as epsilon grows"), &family, regret);
        let (last, none) = (family[family.len() - 1], part.entry("no noise")?);
        alike(report, &format!("{name}: epsilon = 1 is the non-private case"), last, none, 0.02, regret);
        let shown: Vec<&Runs> = family.into_iter().chain([none]).collect();
        panels.push(over_time(&title(name), &shown));
        finishes(report, part, none);
    }
    for (name, (rows, none, used)) in [("short", SHORT), ("raw", LONG)] {
        let part = measured.experiment(name)?;
        let horizon = part.experiment.stages[0].scenario.horizon;
        for (block, values) in rows {
            for (epsilon, value) in EPSILONS.into_iter().zip(values) {
                let found = part.block(block).find(|runs| runs.swept_number("dp_epsilon") == Some(epsilon));
                let Some(runs) = found else { continue };
                given(
                    report,
                    format!("T = {horizon}, {block}, epsilon = {epsilon}: regret"),
                    value,
                    runs,
                    regret,
                );
            }
        }
        let runs = part.entry("no noise")?;
        given(report, format!("T = {horizon}, no noise: regret"), none, runs, regret);
        given(report, format!("T = {horizon}, no noise: rounds"), used, runs, rounds);
    }
    let raw = measured.experiment("raw")?;
    for block in ["central", "local"] {
        let family: Vec<&Runs> = raw.block(block).collect();
        panels.push(over_time(&format!("{}, {block} calibration", title("raw")), &family));
    }
    report.note(PUBLISHED);
    report.note(
        "Calibrated to hold what epsilon says against the server (local), or against who sees only sums \
         (central), the same epsilon costs far more than the figure shows.",
    );
    report.note(LIKE);
    report.figure("figure-4", Panels { title: "Regret of CDP-MAB".into(), columns: 2, panels });
    Ok(())
}

fn title(part: &str) -> String {
    if part == "like" { "smallest gap 1/16".into() } else { "uniform means".into() }
}

/// One figure for each part: the last regret over a swept key.
fn sweep(part: &MeasuredExperiment, block: &str, key: &'static str, axis: &str) -> Figure {
    let points = part.block(block).map(|runs| {
        let at = runs.estimate(regret);
        let x = runs.swept_number(key).unwrap_or_default();
        cahoots_lab::results::with_band(cahoots_figure::Point::new(x, at.mean), &at)
    });
    Figure {
        title: title(part.name),
        x: Axis::linear(axis),
        y: Axis::linear("Regret of all clients at T"),
        series: vec![Series::connected_dots(block, points.collect())],
        note: Some("bars: 95% confidence".into()),
    }
}

fn check_5(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let mut panels = Vec::new();
    for name in ["like", "raw"] {
        let part = measured.experiment(name)?;
        let family: Vec<&Runs> = part.block("CDP-MAB").collect();
        falls(report, &format!("{name}: regret falls as p grows"), &family, regret);
        panels.push(over_time(&title(name), &family));
        panels.push(sweep(part, "CDP-MAB", "participation", "Participation p"));
    }
    let raw = measured.experiment("raw")?;
    let told = [(259e3, 1142.0), (138e3, 2617.0), (93e3, 4225.0), (72e3, 5667.0), (57e3, 7083.0)];
    for (runs, (value, price)) in raw.block("CDP-MAB").zip(told) {
        let p = runs.swept_number("participation").unwrap_or_default();
        given(report, format!("p = {p}: regret"), value, runs, regret);
        given(report, format!("p = {p}: communication cost"), price, runs, cost);
    }
    report.note(PUBLISHED);
    report.note(LIKE);
    report.figure("figure-5", Panels { title: "Participation".into(), columns: 2, panels });
    Ok(())
}

fn check_6(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let mut panels = Vec::new();
    for name in ["like", "raw"] {
        let part = measured.experiment(name)?;
        let family: Vec<&Runs> = part.block("CDP-MAB").collect();
        falls(report, &format!("{name}: regret falls as R grows"), &family, regret);
        let paper = format!("{name}: the regrets at R = 4 and 5 are almost the same");
        alike(report, &paper, family[3], family[2], 0.1, regret);
        let free = part.entry("no limit")?;
        panels.push(over_time(&title(name), &family.iter().copied().chain([free]).collect::<Vec<_>>()));
        finishes(report, part, free);
    }
    let raw = measured.experiment("raw")?;
    let told = [(1.36e6, 1167.0), (416e3, 2667.0), (184e3, 3917.0), (114e3, 4958.0)];
    for (runs, (value, price)) in raw.block("CDP-MAB").zip(told) {
        let limit = runs.swept_number("rounds").unwrap_or_default();
        given(report, format!("R = {limit}: regret"), value, runs, regret);
        given(report, format!("R = {limit}: communication cost"), price, runs, cost);
    }
    report.note(
        "Lengths follow the smallest gap, which an oracle tells; each world's own is used. The paper's \
         log(T), about 4, is the number of rounds that a smallest gap of 1/16 needs, not a logarithm of T.",
    );
    report.note(PUBLISHED);
    report.note(LIKE);
    report.figure("figure-6", Panels { title: "Rounds".into(), columns: 2, panels });
    Ok(())
}

fn check_7(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let mut panels = Vec::new();
    for name in ["like", "raw"] {
        let part = measured.experiment(name)?;
        let of = |limit: f64| -> Vec<&Runs> {
            part.block("CDP-MAB").filter(|runs| runs.swept_number("rounds") == Some(limit)).collect()
        };
        let mut series = Vec::new();
        for limit in [2.0, 3.0, 4.0, 5.0] {
            let family = of(limit);
            falls(report, &format!("{name}, R = {limit}: more communication, less regret"), &family, regret);
            let points = family.iter().map(|runs| runs.dot(cost, regret)).collect();
            series.push(Series::connected_dots(format!("R = {limit}"), points));
        }
        let (five, free) = (of(5.0), part.entry("no limit")?);
        let paper = format!("{name}: R = 5, p = 1 is close to no limit at all");
        if let Some(most) = five.last() {
            alike(report, &paper, most, free, 0.2, regret);
            let spent: fn(&Record) -> f64 = cost;
            alike(report, &format!("{paper} (cost)"), most, free, 0.2, spent);
        }
        series.push(Series::dots("no limit", vec![free.dot(cost, regret)]));
        panels.push(Figure {
            title: title(name),
            x: Axis::log("Communication cost"),
            y: Axis::log("Regret of all clients at T"),
            series,
            note: Some("dots from left to right: p = 0.2 to 1; bars: 95% confidence".into()),
        });
    }
    report.note(PUBLISHED);
    report.note(LIKE);
    report.figure("figure-7", Panels { title: "Participation and rounds".into(), columns: 2, panels });
    Ok(())
}
