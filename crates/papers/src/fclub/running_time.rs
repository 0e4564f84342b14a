//! Time per step.

use cahoots_lab::LabError;
use cahoots_lab::results::plus_minus;
use cahoots_lab::run::Record;

use crate::reproduce::{AUTHORS_CODE, ExperimentFile, Item, Measured, ReportBuilder, Seconds, Verdict};

/// Announced as Appendix E.4.
pub(super) const ITEM: Item = Item {
    name: "fclub/running-time",
    title: "Microseconds per step, beside the authors' Python",
    experiments: &[ExperimentFile {
        name: "time",
        text: include_str!("experiments/running-time.toml"),
        quick_seeds: 2,
    }],
    seconds: Seconds { full: 30.0, quick: 10.0 },
    check_claims,
};

fn microseconds(record: &Record) -> f64 {
    record.effort.nanoseconds as f64 / 1000.0 / record.steps.max(1) as f64
}

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("time")?;
    for runs in &part.runs {
        let (reference, least) =
            if runs.label == "FCLUB" { ("3,415 us", 3415.0) } else { ("130 to 410 us", 130.0) };
        let ours = runs.estimate(microseconds);
        report.claim_from(
            AUTHORS_CODE,
            format!("time per step, {}", runs.label),
            reference,
            format!("{} us", plus_minus(ours.mean, ours.ci95, false)),
            if ours.mean < least { Verdict::Holds } else { Verdict::DoesNotHold },
        );
    }
    report.note(
        "Holds: no slower. Both on other machines and other loads, so no more than an order of magnitude.",
    );
    Ok(())
}
