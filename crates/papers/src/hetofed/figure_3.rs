//! Figure 3: listeners of LastFM.

use cahoots_figure::{Axis, Panels};
use cahoots_lab::LabError;
use cahoots_lab::results::{Estimate, plus_minus};

use crate::reproduce::quantity::transfers;
use crate::reproduce::replay::{World, in_every_world, normalised, normalised_at};
use crate::reproduce::{ExperimentFile, Item, Measured, ReportBuilder, Runs, Seconds};

/// Figure 3.
pub(super) const ITEM: Item = Item {
    name: "hetofed/figure-3",
    title: "Reward and communication on LastFM, 75 listeners, with two kinds of features",
    experiments: &[ExperimentFile {
        name: "lastfm",
        text: include_str!("experiments/figure-3.toml"),
        quick_seeds: 2,
    }],
    seconds: Seconds { full: 900.0, quick: 180.0 },
    check_claims,
};

const ALONE: &str = "NIndepLinUCB";
const DISLINUCB: &str = "DisLinUCB";
const FCLUB: &str = "FCLUB_DC";
const HFB: &str = "HetoFedBandit";
const HFB_E: &str = "HetoFedBandit-E";
const HFB_E_NOISY: &str = "HetoFedBandit-E, sigma = 0.5";

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("lastfm")?;
    in_every_world(part, report, check)?;
    report.note(
        "The paper prints no numbers. It keeps clients with \"over 350 observations\", N = 75 and T = 41,284: these are \
         the listeners with at least 300. Its order of events is all of them shuffled; its alpha, T0 and test threshold are \
         taken as printed, T0 = 5000 as interactions of all clients together; ridge 0.2 as in the authors' code.",
    );
    for stage in part.stages() {
        let world = World { part, stage };
        let seen = |block| Ok::<_, LabError>(world.entry(block)?.estimate(normalised));
        let (told, noisy) = (seen(HFB_E)?, seen(HFB_E_NOISY)?);
        report.note(format!(
            "The paper prints no sigma for this set; the test is told 0.1, as elsewhere in the paper. Told 0.5, which rewards of 0 \
             or 1 can have, it lets more clients share: HetoFedBandit-E then earns {} times random instead of {} ({stage}).",
            plus_minus(noisy.mean, noisy.ci95, false),
            plus_minus(told.mean, told.ci95, false),
        ));
    }
    let panels = part.stages().into_iter().flat_map(|stage| {
        let world = World { part, stage };
        [
            world.over_time(
                format!("Reward, {stage}"),
                Axis::linear("Reward / random choice"),
                normalised_at,
            ),
            world.over_time(format!("Communication, {stage}"), Axis::linear("Transfers"), |curve, at| {
                curve.transfers[at] as f64
            }),
        ]
    });
    let panels = Panels { title: "LastFM, N = 75".into(), columns: 2, panels: panels.collect() };
    report.figure("figure-3", panels);
    Ok(())
}

fn check(world: &World<'_>, report: &mut ReportBuilder) -> Result<(), LabError> {
    let entry = |block| world.entry(block);
    for baseline in [ALONE, DISLINUCB, FCLUB, HFB] {
        report.more("the highest normalised reward", entry(HFB_E)?, entry(baseline)?, normalised);
    }
    report.more("outperforms it", entry(ALONE)?, entry(DISLINUCB)?, normalised);
    report.more("falls short of NIndepLinUCB", entry(ALONE)?, entry(HFB)?, normalised);
    let trend = later(entry(FCLUB)?);
    let seen = format!("{} more in the second half", plus_minus(trend.mean, trend.ci95, true));
    let fell = Estimate { mean: -trend.mean, ..trend };
    report.below_zero(format!("{FCLUB}: normalised reward"), "improves over time", seen, &fell);
    for ours in [HFB, HFB_E] {
        for baseline in [DISLINUCB, FCLUB] {
            report.less("the lowest communication cost", entry(ours)?, entry(baseline)?, transfers);
        }
    }
    report.less("HetoFedBandit-E sends more", entry(HFB)?, entry(HFB_E)?, transfers);
    Ok(())
}

/// Normalised reward of the second half, less that of the first.
fn later(runs: &Runs) -> Estimate {
    Estimate::new(runs.records.iter().map(|record| {
        let curve = &record.curve;
        let (half, end) = ((curve.tick.len() / 2).saturating_sub(1), curve.tick.len() - 1);
        let (first, whole) = (normalised_at(curve, half), normalised_at(curve, end));
        let share = curve.tick[half] as f64 / curve.tick[end] as f64;
        (whole - share * first) / (1.0 - share) - first
    }))
}
