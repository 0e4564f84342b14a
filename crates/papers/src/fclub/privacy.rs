//! When does federation still pay under real noise?

use cahoots_figure::{Axis, Figure, Panels, Series};
use cahoots_lab::LabError;
use cahoots_lab::results::readable;

use crate::reproduce::quantity::regret;
use crate::reproduce::{
    ExperimentFile, Item, Measured, MeasuredExperiment, ReportBuilder, Runs, Seconds, Verdict,
};

/// A sweep of epsilon.
pub(super) const ITEM: Item = Item {
    name: "fclub/privacy",
    title: "CDP-FCLUB-DC over epsilon: at which noise federation still pays",
    experiments: &[ExperimentFile {
        name: "sweep",
        text: include_str!("experiments/privacy.toml"),
        quick_seeds: 3,
    }],
    seconds: Seconds { full: 60.0, quick: 40.0 },
    check_claims,
};

const PRIVATE: [&str; 3] =
    ["CDP-FCLUB-DC", "CDP-FCLUB-DC, bonus x 0.1", "CDP-FCLUB-DC, bonus x 0.1, alpha_1 = 2.5"];

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("sweep")?;
    let mut panels = Vec::new();
    for stage in part.stages() {
        let of = |label: &str| -> Vec<&Runs> {
            part.runs.iter().filter(|runs| runs.block == label && runs.stage == stage).collect()
        };
        let alone = *of("LinUCB").first().ok_or_else(|| LabError::Failed("no LinUCB".into()))?;
        let without = *of("FCLUB-DC").first().ok_or_else(|| LabError::Failed("no FCLUB-DC".into()))?;
        for block in PRIVATE {
            let pays: Vec<f64> = of(block)
                .iter()
                .filter(|runs| Verdict::below_zero(&runs.difference(alone, regret)) == Verdict::Holds)
                .filter_map(|runs| runs.swept_number("dp_epsilon"))
                .collect();
            let ours = match pays.iter().copied().reduce(f64::min) {
                Some(least) => format!("less regret than LinUCB alone from epsilon = {least} on"),
                None => "more regret than LinUCB alone at every epsilon tried".into(),
            };
            let at_one = of(block).into_iter().find(|runs| runs.swept_number("dp_epsilon") == Some(1.0));
            let regrets = at_one.map_or(String::new(), |runs| {
                format!("; at epsilon = 1: {}", readable(runs.estimate(regret).mean))
            });
            report.claim(
                format!("{block}, {stage}"),
                "performs a little worse than FCLUB-DC, and better than LinUCB, at epsilon = 1",
                format!(
                    "{ours}{regrets} (FCLUB-DC {}, LinUCB {})",
                    readable(without.estimate(regret).mean),
                    readable(alone.estimate(regret).mean)
                ),
                if pays.contains(&1.0) { Verdict::Holds } else { Verdict::DoesNotHold },
            );
        }
        panels.push(panel(part, stage, &[alone, without]));
    }
    report.note(
        "Noise is in what is uploaded, with the analytic calibration and delta = 0.1. Epsilon is that of one tree; \
         renewals compose, and `summary.json` of the run says what was truly spent.",
    );
    report.figure("privacy", Panels { title: String::new(), columns: 2, panels });
    Ok(())
}

fn panel(part: &MeasuredExperiment, stage: &str, references: &[&Runs]) -> Figure {
    let dots = |block: &str| {
        let dots = part.runs.iter().filter(|runs| runs.block == block && runs.stage == stage).map(|runs| {
            let mut dot = runs.dot(|_| 0.0, regret);
            (dot.x, dot.x_low, dot.x_high) =
                (runs.swept_number("dp_epsilon").unwrap_or(f64::NAN), None, None);
            dot
        });
        Series::connected_dots(block, dots.collect())
    };
    let mut series: Vec<Series> = PRIVATE.iter().map(|block| dots(block)).collect();
    series.extend(
        references.iter().map(|runs| Series::horizontal(runs.block.clone(), runs.estimate(regret).mean)),
    );
    Figure {
        title: stage.into(),
        x: Axis::log("epsilon of one tree"),
        y: Axis::linear("Regret"),
        series,
        note: Some(format!("mean over {} seeds, bars: 95% confidence", part.experiment.seeds.len())),
    }
}
