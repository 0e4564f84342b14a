//! The paper's open question: clients that are served when they ask, beside clusters whose members wait for each other.

use cahoots_figure::{Axis, Figure, Series};
use cahoots_lab::LabError;

use super::over_time;
use crate::reproduce::quantity::{regret, transfers};
use crate::reproduce::trade_off::{as_percent, at_equal_communication};
use crate::reproduce::{
    ExperimentFile, Item, Measured, MeasuredExperiment, OURS, ReportBuilder, Runs, Seconds, Verdict,
};

/// No figure of the paper's.
pub(super) const ITEM: Item = Item {
    name: "hetofed/asynchrony",
    title: "The open question: clients served when they ask, beside a queue of clusters (not in the paper)",
    experiments: &[
        ExperimentFile {
            name: "reachable",
            text: include_str!("experiments/asynchrony.toml"),
            quick_seeds: 3,
        },
        ExperimentFile {
            name: "away",
            text: include_str!("experiments/asynchrony-away.toml"),
            quick_seeds: 3,
        },
    ],
    seconds: Seconds { full: 60.0, quick: 20.0 },
    check_claims,
};

const ALONE: &str = "alone";
const BY_RATIO: &str = "when asking, by ratio";

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("reachable")?;
    let entry = |label| part.entry(label);
    let (queue, asking) = (entry("queue, D_k")?, entry("when asking, D_k")?);
    less(
        report,
        "everyone reachable, the paper's D_k: less regret than alone",
        asking,
        entry(ALONE)?,
        regret,
    );
    less(report, "everyone reachable, the paper's D_k: less regret than the queue", asking, queue, regret);
    less(report, "everyone reachable, the paper's D_k: less is sent", asking, queue, transfers);
    let priority = entry("priority queue, D_k")?;
    less(
        report,
        "everyone reachable, the paper's D_k: less regret than the priority queue",
        asking,
        priority,
        regret,
    );
    let all = entry("when asking, D_k, all clusters")?;
    less(
        report,
        "everyone reachable, the paper's D_k: one cluster is better than all of them",
        asking,
        all,
        regret,
    );
    at_equal(report, part, "everyone reachable", "when asking", "queue");
    at_equal(report, part, "everyone reachable", BY_RATIO, "queue");
    at_equal(report, part, "everyone reachable", BY_RATIO, "when asking");
    report
        .figure("reachable", trade_off(part, "Everyone can be reached", &["queue", "when asking", BY_RATIO]));

    let part = measured.experiment("away")?;
    let entry = |label| part.entry(label);
    let asking = entry("when asking")?;
    less(report, "some away, the paper's D_k: less regret than alone", asking, entry(ALONE)?, regret);
    for other in ["queue, waits", "queue, deadline", "priority queue, deadline"] {
        less(report, "some away, the paper's D_k: less regret", asking, entry(other)?, regret);
        less(report, "some away, the paper's D_k: less is sent", asking, entry(other)?, transfers);
    }
    let deadline = "queue with a deadline";
    at_equal(report, part, "some away", "when asking, any D", deadline);
    at_equal(report, part, "some away", BY_RATIO, deadline);
    let families = [deadline, "when asking, any D", BY_RATIO];
    report.figure("away", trade_off(part, "A quarter of the clients away for long", &families));
    report.figure("away-over-time", over_time(part, "A quarter of the clients away for long"));
    report.note(
        "Nothing here is in the paper, which leaves the question open: each claim is what one would hope for, and \
         whether it holds is a finding. Differences are taken seed by seed, in the same worlds. Requests, signals and \
         the sizes of clusters are shown and never charged, here as everywhere; the queue needs a request and a call \
         for uploads where hetofed-async needs neither.",
    );
    report.note(
        "Where the test takes clients of different clusters for similar (in some of these worlds), cliques overlap by \
         mistake: a client that is served from a queue has now one clique's sum and now another's. That is most of the \
         spread of the queue's regret, and widens every interval in which it stands.",
    );
    Ok(())
}

/// `ReportBuilder::less`, for what no paper says.
fn less(
    report: &mut ReportBuilder,
    what: &str,
    one: &Runs,
    other: &Runs,
    value: fn(&cahoots_lab::run::Record) -> f64,
) {
    report.less(what, one, other, value);
    report.asked_here();
}

/// Whether one family of thresholds has less regret than another where both send as much.
fn at_equal(report: &mut ReportBuilder, part: &MeasuredExperiment, world: &str, one: &str, other: &str) {
    let family = |label| part.block(label).collect::<Vec<&Runs>>();
    let (what, hope) = (format!("{one} against {other}, {world}"), "less regret at equal communication");
    match at_equal_communication(&family(one), &family(other)) {
        Some(difference) => {
            report.below_zero(what, hope, format!("regret {}", as_percent(&difference)), &difference);
            report.asked_here();
        }
        None => report.claim_from(OURS, what, hope, "no common range of communication", Verdict::Undecided),
    }
}

fn trade_off(part: &MeasuredExperiment, title: &str, families: &[&str]) -> Figure {
    let line = |label: &&str| {
        let points = part.block(label).map(|runs| runs.dot(transfers, regret)).collect();
        Series::line(*label, points)
    };
    Figure {
        title: title.into(),
        x: Axis::log("Transfers"),
        y: Axis::log("Accumulated regret"),
        series: families.iter().map(line).collect(),
        note: Some(format!("mean over {} seeds, bands: 95% confidence", part.experiment.seeds.len())),
    }
}
