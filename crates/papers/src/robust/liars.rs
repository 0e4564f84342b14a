//! Regret of the honest by how many lie, how they lie, and how their server merges.

use cahoots_figure::{Axis, Figure, Panels, Point, Series};
use cahoots_lab::LabError;
use cahoots_lab::results::{Estimate, plus_minus, with_band};
use cahoots_lab::run::Record;

use crate::reproduce::{
    ExperimentFile, Item, Measured, MeasuredExperiment, ReportBuilder, Runs, Seconds, Verdict,
};

/// Liars of every kind.
pub(super) const ITEM: Item = Item {
    name: "robust/liars",
    title: "Regret of the honest where 0, 10, 30 and 45 per cent of 20 clients lie, in four ways",
    experiments: &[
        ExperimentFile { name: "liars", text: include_str!("experiments/liars.toml"), quick_seeds: 3 },
        ExperimentFile { name: "uneven", text: include_str!("experiments/uneven.toml"), quick_seeds: 3 },
    ],
    seconds: Seconds { full: 120.0, quick: 20.0 },
    check_claims,
};

const ALONE: &str = "alone";
const PLAIN: &str = "everyone is believed";
const MEDIAN: &str = "geometric-median";
const LESS: &str = "trim = 0.3";
const MORE: &str = "trim = 0.45";
const ALL: [&str; 5] = [ALONE, PLAIN, LESS, MORE, MEDIAN];
const KINDS: [&str; 4] = ["flip", "scale", "forge", "promote"];
const SHARES: [f64; 4] = [0.0, 0.1, 0.3, 0.45];

/// Regret per thousand honest decisions.
fn regret(record: &Record) -> f64 {
    1000.0 * record.regret / record.steps as f64
}

/// The same in the last quarter of a run, as if decisions had been spread evenly.
fn late(record: &Record) -> f64 {
    let (regret, at) = (&record.curve.regret, 3 * record.curve.regret.len() / 4);
    let before = regret.get(at).copied().unwrap_or(f64::NAN);
    4000.0 * (record.regret - before) / record.steps as f64
}

/// The runs of one way of merging in one world.
fn runs<'a>(part: &'a MeasuredExperiment, block: &str, kind: &str, share: f64) -> Result<&'a Runs, LabError> {
    let entries = part.experiment.entries.iter().zip(&part.runs);
    let here = entries.filter(|(entry, _)| {
        let rewards = &entry.stage.scenario.rewards;
        rewards.liars == share && format!("{:?}", rewards.poison).to_lowercase() == kind
    });
    let found = here.map(|(_, runs)| runs).find(|runs| runs.block == block);
    found.ok_or_else(|| LabError::Failed(format!("no entry is {block} with {share} of {kind}")))
}

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("liars")?;
    for (block, most) in [(LESS, 1.1), (MORE, 1.6), (MEDIAN, 1.6)] {
        price(report, part, ("even clients", block), most)?;
    }
    for kind in KINDS {
        for share in [0.1, 0.3, 0.45] {
            let of = |block| runs(part, block, kind, share);
            let (alone, plain) = (of(ALONE)?, of(PLAIN)?);
            report.more("believing everyone is worse than learning alone", plain, alone, regret);
            report.asked_here();
            for block in [if share > 0.3 { MORE } else { LESS }, MEDIAN] {
                let robust = of(block)?;
                report.less("less regret than believing everyone", robust, plain, regret);
                report.asked_here();
                report.less("less regret than alone", robust, alone, regret);
                report.asked_here();
                report.less("less regret than alone in the last quarter", robust, alone, late);
                report.asked_here();
            }
        }
    }
    let uneven = measured.experiment("uneven")?;
    for block in [LESS, MORE, MEDIAN] {
        price(report, uneven, ("uneven clients", block), 2.0)?;
    }
    for block in [LESS, MEDIAN] {
        let of = |block| runs(uneven, block, "flip", 0.3);
        report.less("uneven clients: less regret than believing everyone", of(block)?, of(PLAIN)?, regret);
        report.asked_here();
        report.less("uneven clients: less regret than alone", of(block)?, of(ALONE)?, regret);
        report.asked_here();
    }
    report.note(
        "Regret is that of the honest, per thousand of their decisions. Each claim is what one would hope for of robust \
         merging, and whether it holds is a finding. What flip, scale, forge and promote are: `cahoots environments rewards`.",
    );
    report.note(
        "trim = 0.3 is drawn at 45 per cent too, past the share that it is for: nothing is promised there, and nothing claimed.",
    );
    let panels = KINDS.map(|kind| panel(part, kind)).into_iter().collect::<Result<_, _>>()?;
    let title = "Regret of the honest by how many lie".into();
    report.figure("liars", Panels { title, columns: 2, panels });
    Ok(())
}

/// What a way of merging costs where nobody lies.
fn price(
    report: &mut ReportBuilder,
    part: &MeasuredExperiment,
    (world, block): (&str, &str),
    most: f64,
) -> Result<(), LabError> {
    let (robust, plain) = (runs(part, block, "flip", 0.0)?, runs(part, PLAIN, "flip", 0.0)?);
    let mean = plain.estimate(regret).mean;
    let each = || robust.records.iter().zip(&plain.records);
    let more = Estimate::new(each().map(|(robust, plain)| 100.0 * (regret(robust) - regret(plain)) / mean));
    let above = Estimate::new(each().map(|(robust, plain)| regret(robust) - most * regret(plain)));
    let ours = format!("{}% regret", plus_minus(more.mean, more.ci95, true));
    let hope = format!("where nobody lies, at most {most} times the regret of believing everyone");
    report.claim_from(
        crate::reproduce::OURS,
        format!("price of {block}, {world}"),
        hope,
        ours,
        Verdict::below_zero(&above),
    );
    Ok(())
}

fn panel(part: &MeasuredExperiment, kind: &str) -> Result<Figure, LabError> {
    let line = |block: &str| {
        let points = SHARES.map(|share| {
            let at = runs(part, block, kind, share)?.estimate(regret);
            Ok(with_band(Point::new(100.0 * share, at.mean), &at))
        });
        let points: Result<Vec<Point>, LabError> = points.into_iter().collect();
        Ok(Series::connected_dots(block, points?))
    };
    let series: Result<Vec<Series>, LabError> = ALL.iter().map(|block| line(block)).collect();
    Ok(Figure {
        title: kind.into(),
        x: Axis::linear("Liars, per cent of the clients"),
        y: Axis::log("Regret per thousand decisions"),
        series: series?,
        note: Some(format!("mean over {} seeds, bars: 95% confidence", part.experiment.seeds.len())),
    })
}
