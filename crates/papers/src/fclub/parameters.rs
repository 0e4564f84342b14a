//! The parameter study: alpha_1, alpha_2, U = D, the number of local servers and of clusters.

use cahoots_figure::{Axis, Figure, Panels, Series};
use cahoots_lab::LabError;
use cahoots_lab::results::{plus_minus, readable};

use crate::reproduce::quantity::regret;
use crate::reproduce::{ExperimentFile, Item, Measured, ReportBuilder, Seconds, Verdict};

/// Announced as Appendix E.2.
pub(super) const ITEM: Item = Item {
    name: "fclub/parameters",
    title: "FCLUB-DC: deletion, merging, delays, local servers and clusters",
    experiments: &[
        ExperimentFile {
            name: "thresholds",
            text: include_str!("experiments/thresholds.toml"),
            quick_seeds: 2,
        },
        ExperimentFile { name: "worlds", text: include_str!("experiments/worlds.toml"), quick_seeds: 2 },
    ],
    seconds: Seconds { full: 150.0, quick: 30.0 },
    check_claims,
};

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let thresholds = measured.experiment("thresholds")?;
    let mut panels = Vec::new();
    for (block, key) in [("alpha_1", "deletion"), ("alpha_2", "merge"), ("U = D", "ratio")] {
        let runs: Vec<_> = thresholds.block(block).collect();
        let mut dots = Vec::new();
        for runs in &runs {
            let at = runs.swept_number(key).unwrap_or(f64::NAN);
            let mut dot = runs.dot(|_| 0.0, regret);
            (dot.x, dot.x_low, dot.x_high) = (at, None, None);
            let clusters = runs.estimate(|record| *record.metrics.get("clusters").unwrap_or(&0.0)).mean;
            dots.push(dot.with_label(format!("{} clusters", readable(clusters))));
        }
        panels.push(Figure {
            title: block.into(),
            x: Axis::log(block),
            y: Axis::linear("Regret"),
            series: vec![Series::connected_dots("FCLUB-DC", dots)],
            note: None,
        });
        let mean = |runs: &crate::reproduce::Runs| runs.estimate(regret);
        let all: Vec<String> = runs
            .iter()
            .map(|r| {
                format!(
                    "{}: {}",
                    r.swept_number(key).unwrap_or(f64::NAN),
                    plus_minus(mean(r).mean, mean(r).ci95, false)
                )
            })
            .collect();
        report.claim(
            format!("regret over {block}"),
            "studied in an appendix that is not part of the printed text",
            all.join("; "),
            Verdict::Undecided,
        );
    }
    let worlds = measured.experiment("worlds")?;
    for stage in worlds.stages() {
        let of = |label: &str| {
            let mut found = worlds.runs.iter().filter(|runs| runs.block == label && runs.stage == stage);
            found.next().ok_or_else(|| LabError::Failed(format!("there is no entry {label}, {stage}")))
        };
        report.less(format!("federation pays ({stage})"), of("FCLUB-DC")?, of("CLUB")?, regret);
    }
    report.note("What the authors chose: alpha_1 = 1.5, alpha_2 = 2, U = D = 1.01. Nothing here was tuned.");
    report.figure("parameters", Panels { title: String::new(), columns: 3, panels });
    Ok(())
}
