//! Figures 3 and 5: reward per step against alpha, MovieLens and the printed game.

use cahoots_figure::{Axis, Figure, Panels, Point, Series};
use cahoots_lab::LabError;
use cahoots_lab::results::{Estimate, readable, with_band};
use cahoots_lab::run::Record;

use super::common::{PAPER, alpha, seeds_note};
use crate::reproduce::{
    ExperimentFile, Item, Measured, MeasuredExperiment, ReportBuilder, Runs, Seconds, Verdict,
};

/// Figure 3.
pub(super) const MOVIELENS: Item = Item {
    name: "pf-ucb/figure-3",
    title: "PF-UCB: local, global and mixed reward against alpha, MovieLens",
    experiments: &[ExperimentFile {
        name: "reward",
        text: include_str!("experiments/figure-3.toml"),
        quick_seeds: 2,
    }],
    seconds: Seconds { full: 30.0, quick: 6.0 },
    check_claims: check_movielens,
};

/// Figure 5.
pub(super) const SYNTHETIC: Item = Item {
    name: "pf-ucb/figure-5",
    title: "PF-UCB: local, global and mixed reward against alpha, 4 clients and 9 arms",
    experiments: &[ExperimentFile {
        name: "reward",
        text: include_str!("experiments/figure-5.toml"),
        quick_seeds: 5,
    }],
    seconds: Seconds { full: 8.0, quick: 1.0 },
    check_claims: check_synthetic,
};

const CONSTANT_1: &str = "PF-UCB, constant 1";

fn check_movielens(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    check_claims(measured, report, "figure-3", "MovieLens")
}

fn check_synthetic(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    report.note("The paper says of this figure that it \"shows a similar trend as in Fig. 3\".");
    report.note(
        "Near alpha = 0.7 the best arm of every client changes from one that all like somewhat to its own: \
         the two are equal at 0.68 or 0.704, and telling them apart takes longer than T = 10^6.",
    );
    check_claims(measured, report, "figure-5", "The printed game")
}

fn metric(record: &Record, name: &str) -> f64 {
    record.metrics.get(name).copied().unwrap_or(f64::NAN) / record.steps as f64
}

fn local(record: &Record) -> f64 {
    metric(record, "reward_local")
}

fn global(record: &Record) -> f64 {
    metric(record, "reward_global")
}

fn mixed(record: &Record) -> f64 {
    metric(record, "reward_mixed")
}

fn best_local(record: &Record) -> f64 {
    local(record) + metric(record, "regret_local")
}

fn best_global(record: &Record) -> f64 {
    global(record) + metric(record, "regret_global")
}

/// Between the two best rewards: the scale of the figure.
fn distance(record: &Record) -> f64 {
    best_local(record) - best_global(record)
}

fn check_claims(
    measured: &Measured,
    report: &mut ReportBuilder,
    name: &str,
    title: &str,
) -> Result<(), LabError> {
    let part = measured.experiment("reward")?;
    for block in [PAPER, CONSTANT_1] {
        let family: Vec<&Runs> = part.block(block).collect();
        let (Some(first), Some(last)) = (family.first(), family.last()) else { continue };
        let paper = "mixed and global reward almost meet the best global one";
        meets(report, format!("{block}, alpha = 0"), paper, first, |r| best_global(r) - global(r));
        let far = Estimate::new(first.records.iter().map(|r| 0.5 * distance(r) - (best_local(r) - local(r))));
        report.below_zero(
            format!("{block}, alpha = 0"),
            "local reward is highly sub-optimal",
            missing(first, |r| best_local(r) - local(r)),
            &far,
        );
        let paper = "mixed and local reward almost meet the best local one";
        meets(report, format!("{block}, alpha = 1"), paper, last, |r| best_local(r) - local(r));
        trend(report, format!("{block}: local reward"), "trends up with alpha", &family, local, 1.0);
        trend(report, format!("{block}: mixed reward"), "trends up with alpha", &family, mixed, 1.0);
        trend(report, format!("{block}: global reward"), "trends down with alpha", &family, global, -1.0);
    }
    report.note(
        "\"Almost meets\": what is missing is less than a tenth of the distance between the best global and the \
         best local reward; \"highly sub-optimal\": more than half of it. A trend holds where the ends differ that \
         way and more steps go that way than the other, all by 95% intervals.",
    );
    report.figure(
        name,
        Panels {
            title: format!("{title}: average reward of a step"),
            columns: 2,
            panels: vec![
                panel(part, PAPER, "Constant 4, as the paper says"),
                panel(part, CONSTANT_1, "Constant 1, as in the authors' code"),
            ],
        },
    );
    Ok(())
}

/// Whether what is missing is less than a tenth of the distance between the two best rewards.
fn meets(report: &mut ReportBuilder, what: String, paper: &str, runs: &Runs, lacks: fn(&Record) -> f64) {
    let difference = Estimate::new(runs.records.iter().map(|record| lacks(record) - 0.1 * distance(record)));
    report.below_zero(what, paper, missing(runs, lacks), &difference);
}

fn missing(runs: &Runs, lacks: fn(&Record) -> f64) -> String {
    let [lacks, distance] = [lacks, distance].map(|value| runs.estimate(value).mean);
    format!("{} per step missing, {:.0}% of the distance", readable(lacks), 100.0 * lacks / distance)
}

fn trend(
    report: &mut ReportBuilder,
    what: String,
    paper: &str,
    family: &[&Runs],
    value: fn(&Record) -> f64,
    sign: f64,
) {
    let compare = |one: &Runs, other: &Runs| {
        let records = one.records.iter().zip(&other.records);
        Verdict::below_zero(&Estimate::new(records.map(|(a, b)| sign * (value(a) - value(b)))))
    };
    let steps: Vec<Verdict> = family.windows(2).map(|pair| compare(pair[0], pair[1])).collect();
    let count = |wanted: Verdict| steps.iter().filter(|verdict| **verdict == wanted).count();
    let (with, against) = (count(Verdict::Holds), count(Verdict::DoesNotHold));
    let verdict = match compare(family[0], family[family.len() - 1]) {
        Verdict::Holds if with > against => Verdict::Holds,
        Verdict::Holds => Verdict::Undecided,
        other => other,
    };
    let ends = [0, family.len() - 1].map(|place| readable(family[place].estimate(value).mean));
    let ours =
        format!("{} to {}; {with} of {} steps with it, {against} against", ends[0], ends[1], steps.len());
    report.claim(what, paper, ours, verdict);
}

fn panel(part: &MeasuredExperiment, block: &str, title: &str) -> Figure {
    let line = |label: &str, value: fn(&Record) -> f64| {
        let point = |runs: &Runs| {
            let at = runs.estimate(value);
            with_band(Point::new(alpha(runs), at.mean), &at)
        };
        Series::connected_dots(label, part.block(block).map(point).collect())
    };
    let best = |label: &str, value: fn(&Record) -> f64| {
        part.block(block).next().map(|runs| Series::horizontal(label, runs.estimate(value).mean))
    };
    let mut series = vec![line("mixed", mixed), line("global", global), line("local", local)];
    series.extend(best("best global", best_global));
    series.extend(best("best local", best_local));
    Figure {
        title: title.into(),
        x: Axis::linear("alpha"),
        y: Axis::linear("Reward per step and client"),
        series,
        note: Some(seeds_note(part, "bars")),
    }
}
