//! Figure 2: the balanced synthetic dataset.

use cahoots_lab::LabError;
use cahoots_lab::results::plus_minus;

use super::{bend, over_time};
use crate::reproduce::quantity::{regret, transfers};
use crate::reproduce::{ExperimentFile, Item, Measured, ReportBuilder, Seconds, Verdict};

/// Figure 2.
pub(super) const ITEM: Item = Item {
    name: "hetofed/figure-2",
    title: "Regret and communication with balanced clusters, N = 50, M = 5",
    experiments: &[ExperimentFile {
        name: "balanced",
        text: include_str!("experiments/figure-2.toml"),
        quick_seeds: 3,
    }],
    seconds: Seconds { full: 150.0, quick: 45.0 },
    check_claims,
};

const ALONE: &str = "NIndepLinUCB";
const DISLINUCB: &str = "DisLinUCB";
const DYCLU: &str = "DyClu";
const FCLUB: &str = "FCLUB_DC";
const HFB: &str = "HetoFedBandit";
const HFB_E: &str = "HetoFedBandit-E";

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("balanced")?;
    let entry = |label| part.entry(label);
    for ours in [HFB, HFB_E] {
        for baseline in [ALONE, DISLINUCB, FCLUB] {
            report.less("outperforms it", entry(ours)?, entry(baseline)?, regret);
        }
    }
    report.less("is the closest to DyClu", entry(HFB_E)?, entry(HFB)?, regret);
    report.less("the centralised DyClu has less regret still", entry(DYCLU)?, entry(HFB_E)?, regret);

    let growth = bend(entry(DISLINUCB)?, |curve, at| curve.regret[at]);
    let half = growth.ci95.unwrap_or(f64::INFINITY);
    // Linear: the second half adds what the first did, give or take a tenth.
    let verdict = if growth.mean.abs() + half < 0.1 {
        Verdict::Holds
    } else if growth.mean.abs() - half > 0.1 {
        Verdict::DoesNotHold
    } else {
        Verdict::Undecided
    };
    let seen = format!(
        "the second half adds {} of what the first does",
        plus_minus(1.0 + growth.mean, growth.ci95, false)
    );
    report.claim(
        format!("{DISLINUCB}: regret"),
        "linear: both halves add the same, to a tenth",
        seen,
        verdict,
    );
    let growth = bend(entry(ALONE)?, |curve, at| curve.regret[at]);
    let seen = format!(
        "the second half adds {} of what the first does",
        plus_minus(1.0 + growth.mean, growth.ci95, false)
    );
    report.below_zero(format!("{ALONE}: regret"), "sublinear", seen, &growth);

    for ours in [HFB, HFB_E] {
        for baseline in [DISLINUCB, FCLUB] {
            report.less("the lowest communication cost", entry(ours)?, entry(baseline)?, transfers);
        }
    }
    report.less("HetoFedBandit-E sends more", entry(HFB)?, entry(HFB_E)?, transfers);
    report.note(
        "DisLinUCB has the threshold of the authors' code, T / (N d ln T); all else is as in the paper's text. \
         Arms are those of the authors' code.",
    );
    report.figure("figure-2", over_time(part, "Balanced synthetic dataset, N = 50, M = 5"));
    Ok(())
}
