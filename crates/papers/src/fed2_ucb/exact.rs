//! Figure 3: Fed1-UCB, in the exact model, for one, five and ten clients and three lengths of its phases.

use cahoots_figure::{Axis, Figure, Panels, Point, Series};
use cahoots_lab::LabError;
use cahoots_lab::results::{Estimate, with_band};
use cahoots_lab::run::Record;

use super::{APART, apart, note_on_sources, regret, regret_alone};
use crate::reproduce::{ExperimentFile, Item, Measured, Reference, ReportBuilder, Runs, Seconds};

/// Figure 3.
pub(super) const ITEM: Item = Item {
    name: "fed2-ucb/figure-3",
    title: "Fed1-UCB: regret of 1, 5 and 10 clients whose average is the global model, three lengths f(p)",
    experiments: &[
        ExperimentFile { name: "1", text: include_str!("experiments/figure-3-m1.toml"), quick_seeds: 10 },
        ExperimentFile { name: "5", text: include_str!("experiments/figure-3-m5.toml"), quick_seeds: 10 },
        ExperimentFile { name: "10", text: include_str!("experiments/figure-3-m10.toml"), quick_seeds: 10 },
    ],
    seconds: Seconds { full: 60.0, quick: 6.0 },
    check_claims,
};

const LOG: &str = "f(p) = 10 log T";
const TEN: &str = "f(p) = 10";
const ONE: &str = "f(p) = 1";

/// Clients, and what the rules written apart gave for 10 log T and for 10.
const GIVEN: [(&str, Reference, Reference); 3] = [
    ("1", apart(13287.0, 1531.3), apart(26182.2, 3712.0)),
    ("5", apart(13567.3, 1612.8), apart(25795.5, 3457.6)),
    ("10", apart(13806.3, 1669.9), apart(26090.3, 3802.8)),
];

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let of = |clients: &str, label: &str| measured.experiment(clients)?.entry(label);
    for (clients, log, ten) in GIVEN {
        for (label, given) in [(LOG, log), (TEN, ten)] {
            report.number_from(
                APART,
                format!("regret, M = {clients}, {label}"),
                given,
                of(clients, label)?,
                regret,
            );
        }
    }
    let alone = of("1", LOG)?;
    for clients in ["5", "10"] {
        let together = of(clients, LOG)?;
        let pairs = together.records.iter().zip(&alone.records);
        let above = Estimate::new(pairs.map(|(own, one)| regret(own) - 1.25 * regret(one)));
        let ours = format!("{:.2} times", together.estimate(regret).mean / alone.estimate(regret).mean);
        let paper = "independent of the number of clients: at most 1.25 times that of one";
        report.below_zero(format!("regret, M = {clients}, {LOG}"), paper, ours, &above);
    }
    for clients in ["1", "5", "10"] {
        let [log, ten, one] = [of(clients, LOG)?, of(clients, TEN)?, of(clients, ONE)?];
        report.less(
            format!("M = {clients}: the update periodicity matters, less regret than with f(p) = 10"),
            log,
            ten,
            regret,
        );
        report.less(format!("M = {clients}: and less than with f(p) = 1"), log, one, regret);
    }
    report.note(note_on_sources());
    report.note("Clients' means are those of the authors' code: each client has arms of its own, and the averages are alike.");
    let panel = |title: &str, value: fn(&Record) -> f64| {
        let line = |label: &str| -> Result<Series, LabError> {
            let point = |clients: f64, runs: &Runs| {
                let at = runs.estimate(value);
                with_band(Point::new(clients, at.mean), &at)
            };
            let points = [("1", 1.0), ("5", 5.0), ("10", 10.0)];
            let points: Result<Vec<Point>, LabError> =
                points.into_iter().map(|(name, clients)| Ok(point(clients, of(name, label)?))).collect();
            Ok(Series::connected_dots(label, points?))
        };
        let series: Result<Vec<Series>, LabError> = [LOG, TEN, ONE].into_iter().map(line).collect();
        Ok::<Figure, LabError>(Figure {
            title: title.into(),
            x: Axis::linear("clients"),
            y: Axis::log(title),
            series: series?,
            note: Some(format!("mean over {} seeds, bars: 95% confidence", alone.records.len())),
        })
    };
    report.figure(
        "figure-3",
        Panels {
            title: "Fed1-UCB, K = 10, T = 10^6, C = 1".into(),
            columns: 2,
            panels: vec![panel("Regret", regret)?, panel("Regret without communication", regret_alone)?],
        },
    );
    Ok(())
}
