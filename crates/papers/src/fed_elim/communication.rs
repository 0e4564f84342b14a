//! Figure 2: pulls and cost of communication at powers of two, beside communication after every H steps.

use cahoots_figure::{Axis, Figure, Panels, Point, Series};
use cahoots_lab::LabError;
use cahoots_lab::results::{Estimate, readable, with_band};
use cahoots_lab::run::Record;
use cahoots_privacy::audit::clopper_pearson;

use crate::reproduce::{
    ExperimentFile, Item, Measured, MeasuredExperiment, ReportBuilder, Runs, Seconds, Verdict,
};

/// Figure 2.
pub(super) const ITEM: Item = Item {
    name: "fed-elim/figure-2",
    title: "FedElim: pulls and cost beside communication after every H steps, 3 clients and 4 arms",
    experiments: &[ExperimentFile {
        name: "synthetic",
        text: include_str!("experiments/figure-2.toml"),
        quick_seeds: 10,
    }],
    seconds: Seconds { full: 120.0, quick: 12.0 },
    check_claims,
};

const RARELY: &str = "FedElim";
const ALWAYS: &str = "H = 1";
const EVERY: [&str; 4] = [ALWAYS, "H = 10", "H = 100", "H = 1000"];

/// The clients' own best arms, and the one that is best on average.
const TRUTH: [(&str, f64); 4] =
    [("local_best_0", 0.0), ("local_best_1", 1.0), ("local_best_2", 2.0), ("global_best", 3.0)];

fn metric(record: &Record, name: &str) -> f64 {
    record.metrics.get(name).copied().unwrap_or(f64::NAN)
}

fn pulls(record: &Record) -> f64 {
    metric(record, "exploration_pulls")
}

fn total(record: &Record) -> f64 {
    pulls(record) + record.cost
}

/// Whether an answer is missing or wrong.
fn errs(record: &Record) -> bool {
    metric(record, "settled") != 1.0 || TRUTH.iter().any(|(name, arm)| metric(record, name) != *arm)
}

fn delta(runs: &Runs) -> f64 {
    runs.swept_number("failure_prob").unwrap_or(f64::NAN)
}

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("synthetic")?;
    for runs in [RARELY, ALWAYS].into_iter().flat_map(|block| part.block(block)) {
        let (errors, all) = (runs.records.iter().filter(|record| errs(record)).count(), runs.records.len());
        // So few runs tell little of a small probability: the interval is exact.
        let (low, high) = clopper_pearson(errors, all);
        let verdict = match delta(runs) {
            delta if high <= delta => Verdict::Holds,
            delta if low > delta => Verdict::DoesNotHold,
            _ => Verdict::Undecided,
        };
        let paper = format!("an answer is wrong in at most {} of all runs", readable(delta(runs)));
        let ours =
            format!("wrong or missing in {errors} of {all} runs: {} to {}", readable(low), readable(high));
        report.claim(runs.label.clone(), paper, ours, verdict);
    }
    for (rarely, always) in part.block(RARELY).zip(part.block(ALWAYS)) {
        let most = always.records.iter().map(pulls).fold(f64::NEG_INFINITY, f64::max);
        for (what, times, value) in [("pulls", 2.0, pulls as fn(&Record) -> f64), ("total cost", 3.0, total)]
        {
            let above = Estimate::new(rarely.records.iter().map(|record| value(record) - times * most));
            let ours = format!("{:.2} times", rarely.estimate(value).mean / most);
            let paper = format!("at most {times} times the most pulls with communication at every step");
            report.below_zero(format!("{what}, {}", rarely.label), paper, ours, &above);
        }
        report.less("communication at every step costs more in all", rarely, always, total);
        report.more("communication at every step needs fewer pulls", rarely, always, pulls);
    }
    report.note(
        "\"The most pulls\" are the most of all runs at that failure_prob; the paper means its bound for them, which \
         is larger. It claims the factors for small enough failure_prob.",
    );
    report.note(
        "H = 10000 and 100000 of the paper's figure are left out: they only wait longer than any elimination needs.",
    );
    report.figure(
        "figure-2",
        Panels {
            title: "Communication at powers of two and after every H steps, C = 10".into(),
            columns: 2,
            panels: vec![panel(part, "Arm selections to find all", pulls), panel(part, "Total cost", total)],
        },
    );
    Ok(())
}

fn panel(part: &MeasuredExperiment, title: &str, value: fn(&Record) -> f64) -> Figure {
    let line = |block: &str| {
        let point = |runs: &Runs| {
            let at = runs.estimate(value);
            with_band(Point::new(-libm::log(delta(runs)), at.mean), &at)
        };
        Series::connected_dots(block, part.block(block).map(point).collect())
    };
    Figure {
        title: title.into(),
        x: Axis::linear("log(1 / failure_prob)"),
        y: Axis::log(title),
        series: std::iter::once(RARELY).chain(EVERY).map(line).collect(),
        note: Some(format!("mean over {} seeds, bars: 95% confidence", part.experiment.seeds.len())),
    }
}
