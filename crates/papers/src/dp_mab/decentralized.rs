//! Figures 9 and 10, Table I: clients on a graph.

use cahoots_core::Topology;
use cahoots_figure::{Axis, Diagrams, Figure, Panels, Series};
use cahoots_lab::LabError;
use cahoots_lab::results::{Estimate, readable, topology_picture};
use cahoots_lab::run::Record;

use super::common::{LIKE, PUBLISHED, alike, cost, exact, given, over_time, rounds, waiting};
use crate::reproduce::quantity::regret;
use crate::reproduce::{
    ExperimentFile, Item, Measured, MeasuredExperiment, ReportBuilder, Runs, Seconds, Verdict,
};

/// Figure 9.
pub(super) const FIGURE_9: Item = Item {
    name: "dp-mab/figure-9",
    title: "Graphs of five clients",
    experiments: &[ExperimentFile {
        name: "five",
        text: include_str!("experiments/figure-9.toml"),
        quick_seeds: 1,
    }],
    seconds: Seconds { full: 2.0, quick: 1.0 },
    check_claims: check_9,
};

/// Figure 10.
pub(super) const FIGURE_10: Item = Item {
    name: "dp-mab/figure-10",
    title: "DDP-MAB on four graphs",
    experiments: &[
        ExperimentFile { name: "raw", text: include_str!("experiments/figure-10.toml"), quick_seeds: 3 },
        ExperimentFile {
            name: "like",
            text: include_str!("experiments/figure-10-like.toml"),
            quick_seeds: 3,
        },
    ],
    seconds: Seconds { full: 200.0, quick: 20.0 },
    check_claims: check_10,
};

/// Table I.
pub(super) const TABLE_1: Item = Item {
    name: "dp-mab/table-1",
    title: "DDP-MAB: communication and extra regret on typical graphs",
    experiments: &[ExperimentFile {
        name: "graphs",
        text: include_str!("experiments/table-1.toml"),
        quick_seeds: 3,
    }],
    seconds: Seconds { full: 150.0, quick: 15.0 },
    check_claims: check_table_1,
};

fn graph(part: &MeasuredExperiment, label: &str) -> Result<Topology, LabError> {
    let found = part.entry(label)?.topology(part)?;
    found.map(|(graph, _)| graph).ok_or_else(|| LabError::Failed(format!("{label} has no topology")))
}

fn check_9(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("five")?;
    let mut diagrams = Vec::new();
    for (label, edges, diameter) in [
        ("Fully-connected", Some(10), Some(1)),
        ("Star", Some(4), Some(2)),
        ("Ring", Some(5), Some(2)),
        ("Random", None, None),
    ] {
        let graph = graph(part, label)?;
        if let (Some(edges), Some(diameter)) = (edges, diameter) {
            let verdict = if (graph.edges(), graph.diameter()) == (edges, diameter) {
                Verdict::Holds
            } else {
                Verdict::DoesNotHold
            };
            let ours = format!("{} edges, diameter {}", graph.edges(), graph.diameter());
            report.claim(label, format!("{edges} edges, diameter {diameter}"), ours, verdict);
        }
        diagrams.push(topology_picture(label, &graph, &[]));
    }
    report.note("The paper's random graph is not printed; each pair is joined with probability 0.5 here.");
    report.figure("figure-9", Diagrams { title: "Graphs of five clients".into(), columns: 4, diagrams });
    Ok(())
}

const GRAPHS: [&str; 4] = ["Fully-connected", "Star", "Ring", "Random"];

fn per_round(value: &str, record: &Record) -> f64 {
    record.metrics.get(value).copied().unwrap_or(0.0) / (record.traffic.rounds as f64).max(1.0)
}

fn link_slots(record: &Record) -> f64 {
    per_round("link_slots", record)
}

fn advertising(record: &Record) -> f64 {
    per_round("advertising_link_slots", record)
}

fn carrying(record: &Record) -> f64 {
    per_round("data_link_slots", record)
}

/// Only runs with a round can say what a round takes.
fn with_rounds(runs: &Runs, value: fn(&Record) -> f64) -> Estimate {
    Estimate::new(runs.records.iter().filter(|record| record.traffic.rounds > 0).map(value))
}

fn check_10(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let mut panels = Vec::new();
    for name in ["like", "raw"] {
        let part = measured.experiment(name)?;
        let entries: Vec<&Runs> = GRAPHS.iter().map(|label| part.entry(label)).collect::<Result<_, _>>()?;
        let [full, star, ring, random] = entries[..] else { return Ok(()) };
        for small in [full, star, random] {
            report.less(
                format!("{name}: the ring incurs the largest regret (waiting part)"),
                small,
                ring,
                waiting,
            );
        }
        alike(
            report,
            &format!("{name}: the star is close to the centralized setting"),
            star,
            part.entry("CDP-MAB")?,
            0.02,
            regret,
        );
        for large in [full, ring, random] {
            report.less(format!("{name}: the star communicates least"), star, large, cost);
        }
        report.less(
            format!("{name}: full connection communicates hugely, more than the random graph"),
            random,
            full,
            cost,
        );
        let central = part.entry("CDP-MAB")?;
        panels.push(over_time(
            if name == "like" { "smallest gap 1/16" } else { "uniform means" },
            &entries.iter().copied().chain([central]).collect::<Vec<_>>(),
        ));
        panels.push(Figure {
            title: format!(
                "{}: what waiting and talking take",
                if name == "like" { "smallest gap 1/16" } else { "uniform means" }
            ),
            x: Axis::log("Communication cost"),
            y: Axis::log("Regret while waiting"),
            series: entries
                .iter()
                .map(|runs| Series::dots(runs.label.clone(), vec![runs.dot(cost, waiting)]))
                .collect(),
            note: Some("bars: 95% confidence".into()),
        });
    }
    let raw = measured.experiment("raw")?;
    for (label, slots, waited) in
        [("Star", 98.0, 7.0), ("Ring", 1250.0, 86.0), ("Fully-connected", 1225.0, 3.0)]
    {
        let runs = raw.entry(label)?;
        exact(
            report,
            format!("{label}: link-slots of a round"),
            format!("{slots}"),
            slots,
            &with_rounds(runs, link_slots),
        );
        given(report, format!("{label}: regret while waiting"), waited, runs, waiting);
    }
    for label in GRAPHS {
        let runs = raw.entry(label)?;
        report.note(format!(
            "{label}: of {} link-slots in a round, {} advertise and {} carry data.",
            readable(with_rounds(runs, link_slots).mean),
            readable(with_rounds(runs, advertising).mean),
            readable(with_rounds(runs, carrying).mean)
        ));
    }
    report.note("What the graph changes is the regret while waiting: some tens of some ten thousand in all. It is compared on its own.");
    report.note(PUBLISHED);
    report.note(LIKE);
    report.figure("figure-10", Panels { title: "DDP-MAB on four graphs".into(), columns: 2, panels });
    Ok(())
}

fn check_table_1(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("graphs")?;
    let central = part.entry("CDP-MAB")?;
    let clients = 50.0;
    for (label, formula, links) in [
        ("Star", "2 (M - 1)", 2.0 * (clients - 1.0)),
        ("Ring", "M^2 / 2", clients * clients / 2.0),
        ("Fully-connected", "M (M - 1) / 2", clients * (clients - 1.0) / 2.0),
    ] {
        let runs = part.entry(label)?;
        let paper = format!("{formula} = {links}");
        exact(report, format!("C_D per round, {label}"), paper, links, &with_rounds(runs, link_slots));
        extra(report, label, runs, central, f64::from(graph(part, label)?.diameter()) * clients);
    }
    for label in ["3-regular", "4-regular", "6-regular"] {
        let (runs, graph) = (part.entry(label)?, graph(part, label)?);
        let degree = graph.neighbours(cahoots_core::NodeId(0)).len() as f64;
        let second = second_eigenvalue(&graph) / degree;
        let hops = clients.ln() / (1.0 / second).ln();
        let bound = degree * clients / 2.0 * hops;
        let ours = with_rounds(runs, link_slots);
        let verdict = if ours.mean <= bound { Verdict::Holds } else { Verdict::DoesNotHold };
        let paper =
            format!("at most d M log M / (2 log(1/lambda_2)) = {} (lambda_2 = {second:.3})", readable(bound));
        report.claim(format!("C_D per round, {label}"), paper, readable(ours.mean), verdict);
        extra(report, label, runs, central, clients * hops);
    }
    report.note(
        "lambda_2 is the second largest eigenvalue, by absolute value, of the adjacency matrix over d: the one \
         for which log M / log(1/lambda_2) bounds the diameter (up to rounding). The paper's footnote says \
         \"of the Laplace matrix\", for which it does not.",
    );
    report.note(
        "The extra regret of a graph is what its waiting costs: the bounds hide a constant, taken to be one.",
    );
    let diagrams =
        ["Star", "Ring", "Fully-connected", "3-regular", "4-regular", "6-regular"].iter().map(|label| {
            graph(part, label).map(|graph| {
                topology_picture(
                    format!("{label}: {} edges, diameter {}", graph.edges(), graph.diameter()),
                    &graph,
                    &[],
                )
            })
        });
    let diagrams = diagrams.collect::<Result<_, _>>()?;
    report.figure("table-1", Diagrams { title: "The graphs of Table I".into(), columns: 3, diagrams });
    Ok(())
}

/// R_D - R_C, which waiting explains, against its bound.
fn extra(report: &mut ReportBuilder, label: &str, runs: &Runs, central: &Runs, bound: f64) {
    let (waited, difference) = (runs.estimate(waiting), runs.difference(central, regret));
    let verdict = if waited.mean <= bound { Verdict::Holds } else { Verdict::DoesNotHold };
    report.claim(
        format!("R_D - R_C, {label}"),
        format!("at most of the order of {}", readable(bound)),
        format!(
            "{} while waiting, over {} rounds (in all {} more than CDP-MAB)",
            readable(waited.mean),
            readable(runs.estimate(rounds).mean),
            cahoots_lab::results::plus_minus(difference.mean, difference.ci95, true)
        ),
        verdict,
    );
}

/// The second largest eigenvalue of the adjacency matrix of a regular graph, by absolute value: power
/// iteration on the square, without the constant vector.
fn second_eigenvalue(graph: &Topology) -> f64 {
    let n = graph.len();
    let centred = |mut v: Vec<f64>| {
        let mean = v.iter().sum::<f64>() / n as f64;
        v.iter_mut().for_each(|x| *x -= mean);
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.iter_mut().for_each(|x| *x /= norm);
        (v, norm)
    };
    let times = |v: &[f64]| -> Vec<f64> {
        (0..n as u32)
            .map(|i| graph.neighbours(cahoots_core::NodeId(i)).iter().map(|j| v[j.index()]).sum())
            .collect()
    };
    let (mut v, _) = centred((0..n).map(|i| ((i * i + 1) as f64).sin()).collect());
    let mut squared = 0.0;
    for _ in 0..5_000 {
        let (next, norm) = centred(times(&times(&v)));
        (v, squared) = (next, norm);
    }
    squared.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_of_known_graphs() {
        // A ring of n: 2 cos(2 pi k / n); a complete graph: -1.
        let ring = second_eigenvalue(&Topology::ring(5));
        assert!((ring - 2.0 * (std::f64::consts::PI / 5.0).cos()).abs() < 1e-9, "{ring}");
        assert!((second_eigenvalue(&Topology::complete(8)) - 1.0).abs() < 1e-9);
    }
}
