//! More clients, less regret each; and what an epoch costs.

use cahoots_figure::{Axis, Figure, Panels, Point, Series};
use cahoots_lab::LabError;
use cahoots_lab::results::{Estimate, plus_minus, readable, with_band};
use cahoots_lab::run::Record;

use crate::reproduce::quantity::transfers;
use crate::reproduce::{
    ExperimentFile, Item, Measured, MeasuredExperiment, OURS, ReportBuilder, Runs, Seconds, Verdict,
};

/// The claims on clients and communication, in a linear world.
pub(super) const ITEM: Item = Item {
    name: "fed-igw/clients",
    title: "FedIGW: regret of each client and communication, 1 to 20 clients, a linear world",
    experiments: &[ExperimentFile {
        name: "clients",
        text: include_str!("experiments/clients.toml"),
        quick_seeds: 5,
    }],
    seconds: Seconds { full: 240.0, quick: 60.0 },
    check_claims,
};

/// Clients, world by world, as in the experiment file.
const CLIENTS: [u32; 5] = [1, 2, 5, 10, 20];

const FED: &str = "FedIGW";
const ALL: &str = "FedIGW, all data";
const ALONE: &str = "IGW alone";
const LINUCB: &str = "LinUCB alone";
const ASYNC: &str = "Async-LinUCB";
const BLOCKS: [&str; 5] = [FED, ALL, ALONE, LINUCB, ASYNC];

/// The runs of a block, world by world.
fn worlds<'a>(part: &'a MeasuredExperiment, block: &'a str) -> Vec<(u32, &'a Runs)> {
    CLIENTS.into_iter().zip(part.block(block)).collect()
}

/// A number per client and seed.
fn each(clients: u32, runs: &Runs, value: fn(&Record) -> f64) -> Vec<f64> {
    runs.records.iter().map(|record| value(record) / f64::from(clients)).collect()
}

fn regret(record: &Record) -> f64 {
    record.regret
}

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("clients")?;
    let fed = worlds(part, FED);
    for pair in fed.windows(2) {
        let [(few, fewer), (many, more)] = pair else { continue };
        let (before, after) = (each(*few, fewer, regret), each(*many, more, regret));
        let difference = Estimate::new(after.iter().zip(&before).map(|(after, before)| after - before));
        let ours = against(&after, &before, &difference);
        report.below_zero(
            format!("{many} clients against {few}"),
            "the regret of each client falls with the number of clients",
            ours,
            &difference,
        );
    }
    exponent(&fed, report);
    communication(&fed, report);
    for (clients, fed) in fed.iter().skip(1) {
        let beside = |block| worlds(part, block).into_iter().find(|(other, _)| other == clients);
        let asked = |block: &str| format!("{clients} clients, FedIGW against {block}");
        for (block, says) in
            [(ALONE, "less regret than each client alone"), (ASYNC, "less regret than Async-LinUCB")]
        {
            let Some((_, other)) = beside(block) else { continue };
            let difference = fed.difference(other, regret);
            let ours = against(&each(1, fed, regret), &each(1, other, regret), &difference);
            report.claim_from(OURS, asked(block), says, ours, Verdict::below_zero(&difference));
        }
        let Some((_, other)) = beside(ASYNC) else { continue };
        let difference = fed.difference(other, transfers);
        let ours = against(&each(1, fed, transfers), &each(1, other, transfers), &difference);
        report.claim_from(OURS, asked(ASYNC), "fewer transfers", ours, Verdict::below_zero(&difference));
        if let Some((_, all)) = beside(ALL) {
            let difference = all.difference(fed, regret);
            let ours = against(&each(1, all, regret), &each(1, fed, regret), &difference);
            let what = format!("{clients} clients, all data against the epoch before");
            report.claim_from(OURS, what, "less regret", ours, Verdict::below_zero(&difference));
        }
    }
    report.note(
        "The paper's own figures are of neural networks on Bibtex and Delicious, multi-label data that are not here, with up to \
         50 clients and a constant gamma. What is judged is what it says of the number of clients and of communication, \
         in a linear world with its schedule.",
    );
    report.note(
        "Worlds with different numbers of clients share a parameter and no noise; differences between them are taken seed by seed \
         all the same. IGW alone has the same gamma for the same number of observations, and learns after every reward.",
    );
    let panels = vec![
        panel(part, "Regret of each client", regret),
        panel(part, "Transfers of each client", transfers),
    ];
    let title = "1 to 20 clients, 8190 decisions each".into();
    report.figure("clients", Panels { title, columns: 2, panels });
    Ok(())
}

fn against(one: &[f64], other: &[f64], difference: &Estimate) -> String {
    let mean = |values: &[f64]| readable(Estimate::new(values.iter().copied()).mean);
    format!("{} against {}: {}", mean(one), mean(other), plus_minus(difference.mean, difference.ci95, true))
}

/// The regret of each client as a power of the number of clients, one value per seed: least squares on logarithms.
fn exponent(fed: &[(u32, &Runs)], report: &mut ReportBuilder) {
    let logarithms: Vec<f64> = fed.iter().map(|(clients, _)| libm::log(f64::from(*clients))).collect();
    let centre = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    let square: f64 = logarithms.iter().map(|x| (x - centre).powi(2)).sum();
    let seeds = fed.iter().map(|(_, runs)| runs.records.len()).min().unwrap_or_default();
    let slope = |seed: usize| -> f64 {
        let points = fed.iter().zip(&logarithms);
        let of = |((clients, runs), x): (&(u32, &Runs), &f64)| {
            (x - centre) * libm::log(runs.records[seed].regret / f64::from(*clients))
        };
        points.map(of).sum::<f64>() / square
    };
    let found = Estimate::new((0..seeds).map(slope));
    let above = Estimate { mean: found.mean + 0.5, ..found };
    let ours = format!("a power of {}", plus_minus(found.mean, found.ci95, false));
    let says = "falls at least as fast as the paper's bound, the number of clients to the power of -1/2";
    report.claim_from(
        OURS,
        "regret of each client, 1 to 20 clients",
        says,
        ours,
        Verdict::below_zero(&above),
    );
}

/// An upload and a download of each client in every epoch, and as many epochs as the logarithm of the horizon.
fn communication(fed: &[(u32, &Runs)], report: &mut ReportBuilder) {
    for (clients, runs) in fed {
        let transfers = each(*clients, runs, transfers);
        let rounds: Vec<f64> = runs.records.iter().map(|record| record.traffic.rounds as f64).collect();
        let (least, most) = (lowest(&rounds), -lowest(&rounds.iter().map(|r| -r).collect::<Vec<_>>()));
        let horizon = runs.records.iter().filter_map(|record| record.curve.tick.last()).max();
        let logarithm = horizon.map_or(f64::NAN, |horizon| libm::log2(*horizon as f64));
        let twice = transfers.iter().zip(&rounds).all(|(transfers, rounds)| *transfers == 2.0 * rounds);
        let holds = twice && most <= logarithm;
        report.claim(
            format!("communication, {clients} clients"),
            format!(
                "at most log2 T = {} epochs, with one exchange of each client in each",
                readable(logarithm)
            ),
            format!(
                "{} to {} epochs, {} transfers of each client",
                readable(least),
                readable(most),
                readable(Estimate::new(transfers.iter().copied()).mean)
            ),
            if holds { Verdict::Holds } else { Verdict::DoesNotHold },
        );
    }
}

fn lowest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn panel(part: &MeasuredExperiment, title: &str, value: fn(&Record) -> f64) -> Figure {
    let line = |block: &'static str| {
        let point = |(clients, runs): (u32, &Runs)| {
            let at = Estimate::new(each(clients, runs, value));
            (at.mean > 0.0).then(|| with_band(Point::new(f64::from(clients), at.mean), &at))
        };
        let points: Vec<Point> = worlds(part, block).into_iter().filter_map(point).collect();
        (!points.is_empty()).then(|| Series::connected_dots(block, points))
    };
    let series = BLOCKS.into_iter().filter_map(line).collect();
    Figure {
        title: title.into(),
        x: Axis::log("Clients"),
        y: Axis::log(title),
        series,
        note: Some(format!("mean over {} seeds, bars: 95% confidence", part.experiment.seeds.len())),
    }
}
