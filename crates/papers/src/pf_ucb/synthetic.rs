//! Figure 1: the game printed in Appendix E, for five values of alpha; and the lower bounds of Section 3.

use cahoots_figure::{Axis, Figure, Panels, Series};
use cahoots_lab::LabError;
use cahoots_lab::experiment::to_json;
use cahoots_lab::results::{Estimate, LowerBounds, plus_minus, readable};

use super::bounds::{CONJECTURE_1, THEOREM_1, lower_bounds};
use super::common::{AUTHORS, PAPER, alpha, converges, over_time, seeds_note};
use crate::reproduce::quantity::regret;
use crate::reproduce::{
    AUTHORS_CODE, ExperimentFile, Item, Measured, MeasuredExperiment, Reference, ReportBuilder, Runs, Seconds,
};

/// Figure 1.
pub(super) const ITEM: Item = Item {
    name: "pf-ucb/figure-1",
    title: "PF-UCB: regret for five degrees of personalisation, 4 clients and 9 arms",
    experiments: &[ExperimentFile {
        name: "synthetic",
        text: include_str!("experiments/figure-1.toml"),
        quick_seeds: 10,
    }],
    seconds: Seconds { full: 30.0, quick: 3.0 },
    check_claims,
};

const CONSTANT_4: &str = "PF-UCB, as in the authors' code, constant 4";
const ENHANCED: &str = "enhanced";
const ENHANCED_AUTHORS: &str = "enhanced, as in the authors' code";

/// Runs behind each of the numbers below.
const GIVEN_RUNS: u32 = 200;

/// What the authors' code gave, with its own constant and with the paper's: block, regret for each alpha.
const GIVEN: [(&str, [Option<f64>; 5]); 5] = [
    (PAPER, [Some(49.1e3), Some(54.6e3), Some(122e3), Some(61.5e3), Some(25.3e3)]),
    (AUTHORS, [Some(22.7e3), Some(14.7e3), Some(32.5e3), Some(16.6e3), Some(7.5e3)]),
    (CONSTANT_4, [Some(49.1e3), Some(54.6e3), Some(122e3), Some(61.5e3), Some(25.3e3)]),
    (ENHANCED_AUTHORS, [Some(23.3e3), Some(14.5e3), Some(31.8e3), Some(16.9e3), Some(7.5e3)]),
    (ENHANCED, [None, Some(53.0e3), Some(121e3), Some(62.2e3), Some(25.3e3)]),
];

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("synthetic")?;
    for block in [PAPER, AUTHORS] {
        for runs in part.block(block) {
            converges(report, "converges to the optimal choices", runs);
        }
    }
    for (block, given) in GIVEN {
        for (runs, reference) in part.block(block).zip(given) {
            if let Some(reference) = reference {
                let what = format!("regret, {}", runs.label);
                report.number_from(AUTHORS_CODE, what, Reference::mean(reference, GIVEN_RUNS), runs, regret);
            }
        }
    }
    for runs in part.block(AUTHORS) {
        above_the_bound(part, runs, report);
    }
    let apart = part.block(PAPER).zip(part.block(CONSTANT_4)).map(|(text, code)| {
        let difference = text.difference(code, regret);
        format!("{} at alpha = {}", plus_minus(difference.mean, difference.ci95, true), alpha(text))
    });
    report.note(format!(
        "The text's reading less the authors' code at constant 4: {}. They explore in another order and eliminate \
         by another rule; which of the two it is has not been told apart. At alpha = 0 the paper's constant leaves \
         the last phase unfinished at T = 10^6.",
        apart.collect::<Vec<_>>().join(", ")
    ));
    report.note(
        "The paper prints no numbers beside Figure 1; those come from 200 runs of the authors' code, rounded. \
         Of 24 such comparisons at 95% one is expected to fail.",
    );
    report.note("Convergence is read off the regret: it counts expectations, so it stands still exactly when all are right.");
    report.figure(
        "figure-1",
        Panels {
            title: "Regret with the loss for communication, C = 1, f(p) = 2^p log T".into(),
            columns: 2,
            panels: vec![
                over_time(part, PAPER, "As the paper says"),
                over_time(part, AUTHORS, "As in the authors' code"),
            ],
        },
    );
    let panels = part.block(PAPER).zip(part.block(AUTHORS));
    report.figure(
        "lower-bounds",
        Panels {
            title: "Regret beside the lower bounds of Theorem 1 and Conjecture 1".into(),
            columns: 3,
            panels: panels.map(|(paper, authors)| with_bounds(part, paper, authors)).collect(),
        },
    );
    Ok(())
}

fn bounds(part: &MeasuredExperiment, runs: &Runs) -> Option<LowerBounds> {
    let params = to_json(&toml::Value::Table(runs.params.clone()));
    lower_bounds(&part.experiment.stages.first()?.scenario, &params)
}

/// Theorem 1 with normal rewards: no less than c log T, communication aside.
fn above_the_bound(part: &MeasuredExperiment, runs: &Runs, report: &mut ReportBuilder) {
    let Some(bounds) = bounds(part, runs) else { return };
    let horizon = part.experiment.stages[0].scenario.horizon as f64;
    let [least, conjectured] =
        [THEOREM_1, CONJECTURE_1].map(|bound| bounds.factor(bound).unwrap_or(f64::NAN) * libm::log(horizon));
    let own =
        |record: &cahoots_lab::run::Record| record.metrics.get("regret_mixed").copied().unwrap_or(f64::NAN);
    let below = Estimate::new(runs.records.iter().map(|record| least - own(record)));
    report.below_zero(
        format!("lower bound, {}", runs.label),
        format!("Theorem 1: at least {}; Conjecture 1: {}", readable(least), readable(conjectured)),
        format!("{} without communication", readable(runs.estimate(own).mean)),
        &below,
    );
}

fn with_bounds(part: &MeasuredExperiment, paper: &Runs, authors: &Runs) -> Figure {
    let line = |runs: &Runs, label: &str| runs.line(label, |curve, point| curve.regret[point]);
    let mut series = vec![line(paper, PAPER), line(authors, AUTHORS)];
    let ticks: Vec<f64> = authors.records[0].curve.tick.iter().map(|tick| *tick as f64).collect();
    series.extend(bounds(part, paper).map_or(Vec::<Series>::new(), |bounds| bounds.lines(&ticks)));
    Figure {
        title: format!("alpha = {}", alpha(paper)),
        x: Axis::log("Time"),
        y: Axis::log("Cumulative regret"),
        series,
        note: Some(format!("{}; bounds: T to infinity, C = 0", seeds_note(part, "band"))),
    }
}
