//! Figure 2: regret against communication, uniform and uneven clients.

use cahoots_figure::{Axis, Figure, Panels, Series};
use cahoots_lab::LabError;
use cahoots_lab::results::{Estimate, readable};
use cahoots_lab::run::Record;

use crate::reproduce::quantity::{regret, transfers};
use crate::reproduce::trade_off::{as_percent, at_equal_communication};
use crate::reproduce::{
    AUTHORS_CODE, ExperimentFile, Item, Measured, MeasuredExperiment, Reference, ReportBuilder, Runs,
    Seconds, Verdict,
};

/// Figure 2(a).
pub(super) const UNIFORM: Item = Item {
    name: "async-linucb/figure-2a",
    title: "Async-LinUCB and Sync-LinUCB: regret against communication, uniform clients",
    experiments: &[ExperimentFile {
        name: "uniform",
        text: include_str!("experiments/figure-2a.toml"),
        quick_seeds: 3,
    }],
    seconds: Seconds { full: 180.0, quick: 60.0 },
    check_claims: check_uniform,
};

/// Figure 2(b).
pub(super) const UNEVEN: Item = Item {
    name: "async-linucb/figure-2b",
    title: "Async-LinUCB and Sync-LinUCB: regret against communication, uneven clients",
    experiments: &[ExperimentFile {
        name: "uneven",
        text: include_str!("experiments/figure-2b.toml"),
        quick_seeds: 3,
    }],
    seconds: Seconds { full: 800.0, quick: 240.0 },
    check_claims: check_uneven,
};

/// Single dots of the figure, beside what the authors' code gave.
pub(super) const AUTHORS: Item = Item {
    name: "async-linucb/authors-code",
    title: "Async-LinUCB and Sync-LinUCB beside the authors' code, threshold by threshold",
    experiments: &[ExperimentFile {
        name: "thresholds",
        text: include_str!("experiments/authors-code.toml"),
        quick_seeds: 3,
    }],
    seconds: Seconds { full: 20.0, quick: 8.0 },
    check_claims: check_authors,
};

const ASYNC: &str = "Async-LinUCB";
const SYNC: &str = "Sync-LinUCB";

fn check_uniform(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("uniform")?;
    let (asynchronous, synchronous) = families(part, "");
    smooth(report, ASYNC, &asynchronous);
    smooth(report, SYNC, &synchronous);
    compare(
        report,
        "uniform clients",
        "Sync-LinUCB needs less communication for the same regret",
        (SYNC, &synchronous),
        (ASYNC, &asynchronous),
    );
    report.note(EQUAL_COST);
    report.figure("figure-2a", Figure { title: "(a) Uniform client distribution".into(), ..panel(part, "") });
    Ok(())
}

fn check_uneven(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("uneven")?;
    for stage in part.stages() {
        let (asynchronous, synchronous) = families(part, stage);
        compare(
            report,
            stage,
            "Async-LinUCB needs less communication for the same regret",
            (ASYNC, &asynchronous),
            (SYNC, &synchronous),
        );
    }
    report.note("The paper does not print its non-uniform distribution; each law here is one of ours.");
    report.note(EQUAL_COST);
    let panels = part.stages().into_iter().map(|stage| Figure { title: stage.into(), ..panel(part, stage) });
    report.figure(
        "figure-2b",
        Panels { title: "(b) Non-uniform client distributions".into(), columns: 3, panels: panels.collect() },
    );
    Ok(())
}

/// What the authors' code gave: threshold, regret with its spread and number of instances, transfers.
const GIVEN: [(&str, f64, Reference, f64); 6] = [
    (ASYNC, 5.0, Reference { mean: 933.0, sd: Some(56.0), runs: 6 }, 17_429.0),
    (ASYNC, 100.0, Reference { mean: 1618.0, sd: Some(128.0), runs: 6 }, 10_958.0),
    (ASYNC, f64::INFINITY, Reference { mean: 7845.0, sd: Some(184.0), runs: 6 }, 0.0),
    (SYNC, 1.0, Reference { mean: 721.0, sd: Some(13.0), runs: 3 }, 1.0e6),
    (SYNC, 10.0, Reference { mean: 786.0, sd: Some(48.0), runs: 6 }, 25_815.0),
    (SYNC, 1000.0, Reference { mean: 3505.0, sd: Some(138.0), runs: 6 }, 2_000.0),
];

fn check_authors(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("thresholds")?;
    for (block, threshold, reference, sent) in GIVEN {
        let key = if block == ASYNC { "ratio" } else { "sync_threshold" };
        let Some(runs) = part.block(block).find(|runs| runs.swept_number(key) == Some(threshold)) else {
            return Err(LabError::Failed(format!("no entry for {block} {threshold}")));
        };
        report.number_from(AUTHORS_CODE, format!("regret, {}", runs.label), reference, runs, regret);
        if sent > 0.0 {
            // 1.00M is all that is known of the largest: its rounding is its spread.
            let rounded = Reference::with_sd(sent, 1e4 / 12f64.sqrt(), 1);
            let reference = if sent == 1.0e6 { rounded } else { Reference::mean(sent, reference.runs) };
            report.number_from(
                AUTHORS_CODE,
                format!("transfers, {}", runs.label),
                reference,
                runs,
                transfers,
            );
        }
    }
    report.note("The paper prints no numbers beside its dots; these come from running the authors' code.");
    report.note(
        "A pool of arms of equal length ties on a client's first pull, so the order in which it is offered \
         moves regret at gamma = 5 by a fifth; it is offered in the pool's own order, as in that code.",
    );
    report.figure("authors-code", panel(part, ""));
    Ok(())
}

const EQUAL_COST: &str = "Compared at equal communication: the mean of ln(regret / regret) over the range \
    that both families reach, one value per seed. Less regret for the same communication is less \
    communication for the same regret, as both curves fall.";

fn families<'a>(part: &'a MeasuredExperiment, stage: &str) -> (Vec<&'a Runs>, Vec<&'a Runs>) {
    let of = |block| part.block(block).filter(|runs| runs.stage == stage).collect();
    (of(ASYNC), of(SYNC))
}

fn compare(
    report: &mut ReportBuilder,
    what: &str,
    paper: &str,
    one: (&str, &[&Runs]),
    other: (&str, &[&Runs]),
) {
    match at_equal_communication(one.1, other.1) {
        Some(difference) => {
            let ours = format!("regret of {} against {}: {}", one.0, other.0, as_percent(&difference));
            report.below_zero(what, paper, ours, &difference);
        }
        None => report.claim(what, paper, "no common range of communication", Verdict::Undecided),
    }
}

/// A smooth trade-off: from each threshold to the next larger one, regret grows and less is sent.
fn smooth(report: &mut ReportBuilder, name: &str, family: &[&Runs]) {
    monotone(report, format!("{name}: regret"), "grows with the threshold", family, regret, 1.0);
    monotone(report, format!("{name}: communication"), "falls with the threshold", family, transfers, -1.0);
}

/// Whether something grows (or falls, for a `sign` of -1) at every step of a family.
fn monotone(
    report: &mut ReportBuilder,
    what: String,
    paper: &str,
    family: &[&Runs],
    value: fn(&Record) -> f64,
    sign: f64,
) {
    let mut against = Vec::new();
    let mut with = 0;
    for pair in family.windows(2) {
        let step = pair[0].difference(pair[1], value);
        match Verdict::below_zero(&Estimate { mean: sign * step.mean, ..step }) {
            Verdict::Holds => with += 1,
            Verdict::Undecided => {}
            Verdict::DoesNotHold => {
                let seen = |runs: &Runs| format!("{} at {}", readable(runs.estimate(value).mean), runs.label);
                against.push(format!("{}, {}", seen(pair[0]), seen(pair[1])));
            }
        }
    }
    let steps = family.len().saturating_sub(1);
    let ours = format!("so at {with} of {steps} steps, the other way at {}", against.len());
    let ours = if against.is_empty() { ours } else { format!("{ours}: {}", against.join("; ")) };
    let verdict = if !against.is_empty() {
        Verdict::DoesNotHold
    } else if 2 * with > steps {
        Verdict::Holds
    } else {
        Verdict::Undecided
    };
    report.claim(what, paper, ours, verdict);
}

fn panel(part: &MeasuredExperiment, stage: &str) -> Figure {
    let seeds = part.experiment.seeds.len();
    let dots = |block: &str, key: &str| {
        let dot = |runs: &Runs| {
            let threshold = runs.swept_number(key).unwrap_or(f64::NAN);
            runs.dot(transfers, regret).with_label(threshold_text(threshold))
        };
        let points = part
            .block(block)
            .filter(|runs| runs.stage == stage && runs.estimate(transfers).mean > 0.0)
            .map(dot)
            .collect();
        Series::connected_dots(block, points)
    };
    Figure {
        title: String::new(),
        x: Axis::log("Communication (transfers)"),
        y: Axis::linear("Accumulated regret"),
        series: vec![dots(ASYNC, "ratio"), dots(SYNC, "sync_threshold")],
        note: Some(format!("gamma or D beside each dot; mean over {seeds} seeds, bars: 95% confidence")),
    }
}

/// At most four significant digits.
fn threshold_text(threshold: f64) -> String {
    let decimals = (3.0 - threshold.abs().log10().floor()).clamp(0.0, 4.0) as usize;
    let text = format!("{threshold:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}
