//! Figure 6: how often PF-UCB communicates for three f(p), horizon by horizon.

use cahoots_figure::{Axis, Figure, Panels, Point, Series};
use cahoots_lab::LabError;
use cahoots_lab::results::with_band;

use super::common::{AUTHORS, PAPER, communications, seeds_note};
use crate::reproduce::{ExperimentFile, Item, Measured, MeasuredExperiment, ReportBuilder, Runs, Seconds};

/// Figure 6.
pub(super) const ITEM: Item = Item {
    name: "pf-ucb/figure-6",
    title: "PF-UCB: number of communications for three lengths f(p)",
    experiments: &[ExperimentFile {
        name: "lengths",
        text: include_str!("experiments/figure-6.toml"),
        quick_seeds: 5,
    }],
    seconds: Seconds { full: 30.0, quick: 2.0 },
    check_claims,
};

const LENGTHS: [&str; 3] = ["10 log T", "2^p", "2^p log T"];

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("lengths")?;
    let stages: Vec<(usize, f64)> = part
        .experiment
        .stages
        .iter()
        .enumerate()
        .map(|(place, stage)| (place, stage.scenario.horizon as f64))
        .collect();
    for block in [PAPER, AUTHORS] {
        for (stage, horizon) in stages.iter().filter(|(_, horizon)| *horizon >= 1e5) {
            let of = |length| find(part, block, length, *stage);
            let [constant, power, both] = [of(LENGTHS[0])?, of(LENGTHS[1])?, of(LENGTHS[2])?];
            let at = format!("T = {horizon:.0e}");
            for other in [power, both] {
                let paper = format!("{at}: 10 log T communicates more, for large T");
                report.less(paper, other, constant, communications);
            }
            report.less(format!("{at}: 2^p log T is the most efficient"), both, power, communications);
        }
    }
    report.note(
        "The paper does not say which horizons it shows, nor what its third choice is besides 10 log T and \
         2^p log T: 2^p is taken. At small T there is no time for many phases of 10 log T.",
    );
    report.figure(
        "figure-6",
        Panels {
            title: "Communications (2 M for each phase), alpha = 0.5, the printed game".into(),
            columns: 2,
            panels: vec![
                panel(part, PAPER, "As the paper says", &stages),
                panel(part, AUTHORS, "As in the authors' code", &stages),
            ],
        },
    );
    Ok(())
}

fn find<'a>(
    part: &'a MeasuredExperiment,
    block: &str,
    length: &str,
    stage: usize,
) -> Result<&'a Runs, LabError> {
    let wanted = |runs: &&Runs| {
        let own = runs.swept.iter().find(|(key, _)| key == "schedule");
        runs.block == block
            && runs.stage == part.experiment.stages[stage].label
            && own.and_then(|(_, value)| value.as_str()) == Some(length)
    };
    let missing = || LabError::Failed(format!("no entry {block} with f(p) = {length}"));
    part.runs.iter().find(wanted).ok_or_else(missing)
}

fn panel(part: &MeasuredExperiment, block: &str, title: &str, stages: &[(usize, f64)]) -> Figure {
    let line = |length: &str| {
        let point = |(stage, horizon): &(usize, f64)| {
            let at = find(part, block, length, *stage).ok()?.estimate(communications);
            (at.mean > 0.0).then(|| with_band(Point::new(*horizon, at.mean), &at))
        };
        Series::connected_dots(format!("f(p) = {length}"), stages.iter().filter_map(point).collect())
    };
    Figure {
        title: title.into(),
        x: Axis::log("T"),
        y: Axis::log("Communications"),
        series: LENGTHS.map(line).into(),
        note: Some(seeds_note(part, "bars")),
    }
}
