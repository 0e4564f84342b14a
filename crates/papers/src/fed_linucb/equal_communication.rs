//! FedLinUCB and Async-LinUCB at equal communication, clients drawn evenly and unevenly.

use cahoots_figure::{Axis, Figure, Panels, Series};
use cahoots_lab::LabError;

use super::{ASYNC, FED, OURS};
use crate::reproduce::quantity::{regret, transfers};
use crate::reproduce::trade_off::{as_percent, at_equal_communication};
use crate::reproduce::{
    ExperimentFile, Item, Measured, MeasuredExperiment, ReportBuilder, Runs, Seconds, Verdict,
};

/// A comparison of our own.
pub(super) const ITEM: Item = Item {
    name: "fed-linucb/equal-communication",
    title: "FedLinUCB and Async-LinUCB: regret against communication, even and uneven clients",
    experiments: &[ExperimentFile {
        name: "thresholds",
        text: include_str!("experiments/equal-communication.toml"),
        quick_seeds: 3,
    }],
    seconds: Seconds { full: 120.0, quick: 40.0 },
    check_claims,
};

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("thresholds")?;
    for stage in part.stages() {
        let family = |block| -> Vec<&Runs> { part.block(block).filter(|runs| runs.stage == stage).collect() };
        let asked = "FedLinUCB has less regret than Async-LinUCB at equal communication";
        match at_equal_communication(&family(FED), &family(ASYNC)) {
            Some(difference) => {
                let verdict = Verdict::below_zero(&difference);
                report.claim_from(OURS, stage, asked, as_percent(&difference), verdict);
            }
            None => {
                let found = "no common range of communication";
                report.claim_from(OURS, stage, asked, found, Verdict::Undecided);
            }
        }
    }
    report.note(
        "The paper compares the two at one threshold each; whether the order holds at equal communication is our \
         question. Compared: the mean of ln(regret / regret) over the range of communication that both families reach, \
         one value per seed, the same worlds for both.",
    );
    let panels = part.stages().into_iter().map(|stage| panel(part, stage)).collect();
    let title = "Regret against communication".into();
    report.figure("equal-communication", Panels { title, columns: 2, panels });
    Ok(())
}

fn panel(part: &MeasuredExperiment, stage: &str) -> Figure {
    let dots = |block: &str, key: &str| {
        let dot = |runs: &Runs| {
            let threshold = runs.swept_number(key).unwrap_or(f64::NAN);
            runs.dot(transfers, regret).with_label(format!("{threshold}"))
        };
        let of_stage = part.block(block).filter(|runs| runs.stage == stage);
        Series::connected_dots(block, of_stage.map(dot).collect())
    };
    Figure {
        title: stage.into(),
        x: Axis::log("Communication (transfers)"),
        y: Axis::linear("Accumulated regret"),
        series: vec![dots(FED, "upload_ratio"), dots(ASYNC, "ratio")],
        note: Some(format!(
            "1 + alpha or gamma beside each dot; mean over {} seeds, bars: 95% confidence",
            part.experiment.seeds.len()
        )),
    }
}
