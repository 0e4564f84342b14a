//! What the items of this paper share.

use cahoots_figure::{Axis, Figure};
use cahoots_lab::results::{Estimate, plus_minus, readable};
use cahoots_lab::run::Record;

use crate::reproduce::{MeasuredExperiment, Reference, ReportBuilder, Runs, Verdict};

/// Who says so: the paper prints no numbers.
pub(super) const INDEPENDENT: &str = "independent simulator";

/// How many instances its numbers are means of.
pub(super) const INSTANCES: u32 = 30;

pub(super) const LIKE: &str = "Parts called \"like\" force the smallest gap of the uniform means to 1/16: of 100 raw \
    uniform means the two best are 0.0069 apart in the median (1 - 2^(-1/100)), too close to be told apart in these horizons, \
    while the paper describes runs that end after about four rounds.";

pub(super) const PUBLISHED: &str = "Noise as published, which is N epsilon and not epsilon for one client's rewards \
    against the server (N clients taking part): epsilon = 1 with 50 clients is 50.";

pub(super) fn cost(record: &Record) -> f64 {
    record.cost
}

pub(super) fn rounds(record: &Record) -> f64 {
    record.traffic.rounds as f64
}

pub(super) fn waiting(record: &Record) -> f64 {
    record.metrics.get("waiting_regret").copied().unwrap_or(0.0)
}

pub(super) fn finished(record: &Record) -> f64 {
    record.metrics.get("finished").copied().unwrap_or(0.0)
}

/// Regret over time, a line per entry.
pub(super) fn over_time(title: &str, runs: &[&Runs]) -> Figure {
    Figure {
        title: title.into(),
        x: Axis::linear("Time t"),
        y: Axis::linear("Regret of all clients"),
        series: runs.iter().map(|runs| runs.line(runs.label.clone(), |curve, at| curve.regret[at])).collect(),
        note: Some(format!("mean over {} seeds, band: 95% confidence", seeds(runs))),
    }
}

pub(super) fn seeds(runs: &[&Runs]) -> usize {
    runs.first().map_or(0, |runs| runs.records.len())
}

/// A number from the independent simulator, beside ours.
pub(super) fn given(
    report: &mut ReportBuilder,
    what: String,
    mean: f64,
    runs: &Runs,
    value: fn(&Record) -> f64,
) {
    report.number_from(INDEPENDENT, what, Reference::mean(mean, INSTANCES), runs, value);
}

/// That each entry of a list has less of something than the one before it.
pub(super) fn falls(report: &mut ReportBuilder, paper: &str, family: &[&Runs], value: fn(&Record) -> f64) {
    for pair in family.windows(2) {
        report.less(paper, pair[1], pair[0], value);
    }
}

/// That two entries have about the same: their paired difference is less than `part` of the second.
pub(super) fn alike(
    report: &mut ReportBuilder,
    paper: &str,
    one: &Runs,
    other: &Runs,
    part: f64,
    value: fn(&Record) -> f64,
) {
    let (difference, base) = (one.difference(other, value), other.estimate(value));
    let (low, high) = match difference.ci95 {
        Some(half) => (difference.mean - half, difference.mean + half),
        None => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let bound = part * base.mean.abs();
    let verdict = if low > -bound && high < bound {
        Verdict::Holds
    } else if low > bound || high < -bound {
        Verdict::DoesNotHold
    } else {
        Verdict::Undecided
    };
    let ours = format!(
        "{} against {}: {} (about the same: within {:.0}%)",
        readable(one.estimate(value).mean),
        readable(base.mean),
        plus_minus(difference.mean, difference.ci95, true),
        100.0 * part
    );
    report.claim(format!("{} against {}", one.label, other.label), paper, ours, verdict);
}

/// A number that theory gives exactly.
pub(super) fn exact(report: &mut ReportBuilder, what: String, paper: String, theory: f64, ours: &Estimate) {
    let spread = ours.sd.unwrap_or(0.0);
    let verdict = if ours.mean == theory && spread == 0.0 { Verdict::Holds } else { Verdict::DoesNotHold };
    report.claim(what, paper, readable(ours.mean), verdict);
}

/// How many runs were left with one arm.
pub(super) fn finishes(report: &mut ReportBuilder, part: &MeasuredExperiment, runs: &Runs) {
    let ended = runs.records.iter().filter(|record| finished(record) == 1.0).count();
    report.note(format!(
        "{}, {}: {ended} of {} runs were left with one arm by the end, after {} rounds on average.",
        part.name,
        runs.label,
        runs.records.len(),
        readable(runs.estimate(rounds).mean)
    ));
}
