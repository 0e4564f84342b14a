//! Figure 2: the MovieLens game of 10 clients and 40 arms.

use cahoots_figure::Panels;
use cahoots_lab::LabError;
use cahoots_lab::results::{Estimate, plus_minus, readable};

use super::common::{AUTHORS, PAPER, alpha, over_time, regret_at, settled_runs};
use crate::reproduce::quantity::regret;
use crate::reproduce::{
    ExperimentFile, Item, Measured, MeasuredExperiment, ReportBuilder, Runs, Seconds, Verdict,
};

/// Figure 2.
pub(super) const ITEM: Item = Item {
    name: "pf-ucb/figure-2",
    title: "PF-UCB: regret on MovieLens, 10 clients and 40 arms",
    experiments: &[
        ExperimentFile {
            name: "paper",
            text: include_str!("experiments/figure-2-paper.toml"),
            quick_seeds: 4,
        },
        ExperimentFile {
            name: "authors",
            text: include_str!("experiments/figure-2-authors.toml"),
            quick_seeds: 1,
        },
    ],
    seconds: Seconds { full: 200.0, quick: 50.0 },
    check_claims,
};

/// Least and largest final regret that the authors' code gave.
const GIVEN: [(f64, f64, f64); 4] =
    [(0.0, 334e3, 403e3), (0.1, 1.07e6, 1.10e6), (0.9, 1.43e6, 1.57e6), (1.0, 1.17e6, 1.22e6)];

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let (paper, authors) = (measured.experiment("paper")?, measured.experiment("authors")?);
    for (part, block) in [(paper, PAPER), (authors, AUTHORS)] {
        for runs in part.block(block) {
            sublinear(report, runs);
        }
        unfinished(report, part, block);
    }
    for (at, least, most) in GIVEN {
        if let Some(runs) = authors.block(AUTHORS).find(|runs| alpha(runs) == at) {
            within(report, runs, least, most);
        }
    }
    report.note(
        "The ranges of regret come from the authors' code: a few runs for each alpha. The game is the authors' \
         matrix of means, with normal rewards of unit variance.",
    );
    report.figure(
        "figure-2",
        Panels {
            title: "MovieLens: regret with the loss for communication, C = 1".into(),
            columns: 2,
            panels: vec![
                over_time(paper, PAPER, "As the paper says"),
                over_time(authors, AUTHORS, "As in the authors' code"),
            ],
        },
    );
    Ok(())
}

/// Less is lost in the second half than in the first.
fn sublinear(report: &mut ReportBuilder, runs: &Runs) {
    let halves = runs.records.iter().map(|record| {
        let first = regret_at(record, 0.5);
        (record.regret - first) - first
    });
    let difference = Estimate::new(halves);
    let first = runs.estimate(|record| regret_at(record, 0.5)).mean;
    let second = runs.estimate(regret).mean - first;
    report.below_zero(
        runs.label.clone(),
        "sub-linear regret",
        format!("first half {}, second half {}", readable(first), readable(second)),
        &difference,
    );
}

/// "In some cases (e.g., alpha = 0.1), the algorithm does not completely converge".
fn unfinished(report: &mut ReportBuilder, part: &MeasuredExperiment, block: &str) {
    let Some(runs) = part.block(block).find(|runs| alpha(runs) == 0.1) else { return };
    let (done, all) = (settled_runs(runs), runs.records.len());
    // The last tenth, beside a tenth of the whole.
    let excess = runs.records.iter().map(|r| (r.regret - regret_at(r, 0.9)) - 0.1 * r.regret);
    let slower = Estimate::new(excess);
    let last = runs.estimate(|record| record.regret - regret_at(record, 0.9)).mean;
    let whole = runs.estimate(regret).mean;
    let verdict = match (done, Verdict::below_zero(&slower)) {
        (0, verdict) => verdict,
        _ => Verdict::DoesNotHold,
    };
    report.claim(
        format!("{}: the end", runs.label),
        "not converged within the horizon, and regret grows slowly at the end",
        format!(
            "converged in {done} of {all} runs; the last tenth of the time has {:.1}% of the regret",
            100.0 * last / whole
        ),
        verdict,
    );
}

fn within(report: &mut ReportBuilder, runs: &Runs, least: f64, most: f64) {
    let ours = runs.estimate(regret);
    let half = ours.ci95.unwrap_or(0.0);
    let meets = ours.mean + half >= least && ours.mean - half <= most;
    report.claim(
        format!("final regret, {}", runs.label),
        format!("{} to {} [authors' code]", readable(least), readable(most)),
        plus_minus(ours.mean, ours.ci95, false),
        if meets { Verdict::Holds } else { Verdict::DoesNotHold },
    );
}
