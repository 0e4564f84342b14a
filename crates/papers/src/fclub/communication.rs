//! Communication over time.

use cahoots_figure::{Axis, Figure};
use cahoots_lab::LabError;
use cahoots_lab::results::readable;

use crate::reproduce::quantity::transfers;
use crate::reproduce::{
    AUTHORS_CODE, ExperimentFile, Item, Measured, Reference, ReportBuilder, Seconds, Verdict,
};

/// Announced as Appendix E.3.
pub(super) const ITEM: Item = Item {
    name: "fclub/communication",
    title: "Messages with statistics over time: synchronised, delayed, private",
    experiments: &[ExperimentFile {
        name: "communication",
        text: include_str!("experiments/communication.toml"),
        quick_seeds: 2,
    }],
    seconds: Seconds { full: 120.0, quick: 25.0 },
    check_claims,
};

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("communication")?;
    let (sync, delayed) = (part.entry("FCLUB")?, part.entry("FCLUB-DC")?);
    report.less("delays save communication", delayed, sync, transfers);
    report.number_from(
        AUTHORS_CODE,
        "transfers of FCLUB-DC, block",
        Reference::mean(20_459.0, 1),
        delayed,
        transfers,
    );
    // Theorem 2: d m L log T / log min(U, D); what is sent between T / 2 and T is a constant then.
    let at = |record: &cahoots_lab::run::Record, part: f64| {
        let curve = &record.curve;
        let place = (part * (curve.tick.len() - 1) as f64) as usize;
        curve.transfers[place] as f64
    };
    let growth = |from: f64, to: f64| {
        let sum: f64 = delayed.records.iter().map(|record| at(record, to) - at(record, from)).sum();
        sum / delayed.records.len() as f64
    };
    let (before, last) = (growth(0.25, 0.5), growth(0.5, 1.0));
    report.claim(
        "FCLUB-DC",
        "O(d m L log T): each doubling of T costs the same",
        format!("T/4 to T/2: {}, T/2 to T: {}", readable(before), readable(last)),
        if last < 1.5 * before { Verdict::Holds } else { Verdict::DoesNotHold },
    );
    report.note(
        "Charged: uploads, downloads, and at each phase one report per local cluster. Signals are not.",
    );
    report.figure(
        "communication",
        Figure {
            title: "Communication over time (block layout)".into(),
            x: Axis::linear("Round"),
            y: Axis::log("Transfers"),
            series: part
                .runs
                .iter()
                .map(|runs| runs.line(runs.label.clone(), |curve, point| curve.transfers[point] as f64))
                .collect(),
            note: Some(format!("mean over {} seeds, band: 95% confidence", part.experiment.seeds.len())),
        },
    );
    Ok(())
}
