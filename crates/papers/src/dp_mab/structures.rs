//! Figures 8 and 12: alone and together, where clients are alike and where they differ.

use cahoots_figure::Panels;
use cahoots_lab::LabError;
use cahoots_lab::results::{Estimate, plus_minus, readable};
use cahoots_lab::run::Record;

use super::common::{PUBLISHED, alike, over_time, waiting};
use crate::reproduce::quantity::regret;
use crate::reproduce::{ExperimentFile, Item, Measured, ReportBuilder, Runs, Seconds, Verdict};

/// Figure 8.
pub(super) const FIGURE_8: Item = Item {
    name: "dp-mab/figure-8",
    title: "Single-MAB and CDP-MAB, rewards alike and different",
    experiments: &[
        ExperimentFile { name: "alike", text: include_str!("experiments/figure-8.toml"), quick_seeds: 5 },
        ExperimentFile {
            name: "different",
            text: include_str!("experiments/figure-8-heterogeneous.toml"),
            quick_seeds: 5,
        },
    ],
    seconds: Seconds { full: 20.0, quick: 5.0 },
    check_claims: check_8,
};

/// Figure 12.
pub(super) const FIGURE_12: Item = Item {
    name: "dp-mab/figure-12",
    title: "Three structures where clients differ",
    experiments: &[ExperimentFile {
        name: "different",
        text: include_str!("experiments/figure-12.toml"),
        quick_seeds: 3,
    }],
    seconds: Seconds { full: 250.0, quick: 40.0 },
    check_claims: check_12,
};

/// Regret of the last tenth of the run, per tick.
fn late_slope(record: &Record) -> f64 {
    let curve = &record.curve;
    let (last, before) = (curve.tick.len() - 1, curve.tick.len() * 9 / 10);
    (curve.regret[last] - curve.regret[before]) / (curve.tick[last] - curve.tick[before]) as f64
}

fn check_8(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let (same, different) = (measured.experiment("alike")?, measured.experiment("different")?);
    for label in ["CDP-MAB", "CDP-MAB without noise"] {
        let (together, alone) = (same.entry(label)?, same.entry("Single-MAB")?);
        let share = together.records.iter().zip(&alone.records).map(|(one, other)| one.regret / other.regret);
        let share = Estimate::new(share);
        let (low, high) = match share.ci95 {
            Some(half) => (share.mean - half, share.mean + half),
            None => (0.0, f64::INFINITY),
        };
        // "1/M": within a fifth of it.
        let verdict = if low > 0.16 && high < 0.24 {
            Verdict::Holds
        } else if low > 0.24 || high < 0.16 {
            Verdict::DoesNotHold
        } else {
            Verdict::Undecided
        };
        let ours =
            format!("{} (within a fifth of 1/5: 0.16 to 0.24)", plus_minus(share.mean, share.ci95, false));
        report.claim(
            format!("{label} over Single-MAB"),
            "1/M of the single-agent regret, M = 5",
            ours,
            verdict,
        );
        let other = different.entry(label)?;
        let ratio = other.estimate(regret).mean / together.estimate(regret).mean;
        let verdict = if (0.5..2.0).contains(&ratio) { Verdict::Holds } else { Verdict::DoesNotHold };
        let ours = format!(
            "{} different, {} alike: a factor of {ratio:.2} (similar: within 2; the worlds are not the same)",
            readable(other.estimate(regret).mean),
            readable(together.estimate(regret).mean)
        );
        report.claim(label, "similar regret under both reward structures", ours, verdict);
    }
    let slopes = |runs: &Runs| runs.estimate(late_slope);
    let alone = slopes(different.entry("Single-MAB")?);
    let negative = Estimate { mean: -alone.mean, ..alone };
    let ours = format!("{} per tick in the last tenth", plus_minus(alone.mean, alone.ci95, false));
    report.below_zero(
        "Single-MAB, different rewards",
        "does not converge: regret goes on growing linearly",
        ours,
        &negative,
    );
    let together = slopes(different.entry("CDP-MAB")?);
    report.note(format!(
        "CDP-MAB with different rewards: {} per tick in the last tenth.",
        plus_minus(together.mean, together.ci95, false)
    ));
    report.note(PUBLISHED);
    report
        .note("With M = 5 that is 5, and the noise's part of the radius is wider because so few take part.");
    let panel = |part: &crate::reproduce::MeasuredExperiment, title: &str| {
        over_time(title, &part.runs.iter().collect::<Vec<_>>())
    };
    let panels = vec![panel(same, "Rewards alike"), panel(different, "Rewards different")];
    report.figure("figure-8", Panels { title: "Alone and together".into(), columns: 2, panels });
    Ok(())
}

fn check_12(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("different")?;
    let (cdp, hdp, ddp) = (part.entry("CDP-MAB")?, part.entry("HDP-MAB")?, part.entry("DDP-MAB")?);
    report.less("CDP-MAB has the smallest regret", cdp, hdp, regret);
    report.less("CDP-MAB has the smallest regret", cdp, ddp, regret);
    report.less("HDP-MAB does better than DDP-MAB", hdp, ddp, regret);
    report.less("HDP-MAB does better than DDP-MAB (waiting part)", hdp, ddp, waiting);
    alike(report, "the others are slightly affected", hdp, cdp, 0.1, regret);
    alike(report, "the others are slightly affected", ddp, cdp, 0.1, regret);
    for label in ["HDP-MAB, unequal components", "HDP-MAB, unequal components counted alike"] {
        let runs = part.entry(label)?;
        let wrong = runs.records.iter().filter(|record| late_slope(record) > 1e-9).count();
        report.note(format!(
            "{label}: {wrong} of {} runs still lose at the end (a wrong arm, or more than one left).",
            runs.records.len()
        ));
    }
    report.note("Rings of 20 (HDP-MAB) and of 100 (DDP-MAB); the paper does not print its graphs.");
    report.note(PUBLISHED);
    let figure = over_time("Rewards that differ between clients", &part.runs.iter().collect::<Vec<_>>());
    report.figure("figure-12", figure);
    Ok(())
}
