//! More clients, less regret each; and what an epoch costs.

use cahoots_figure::{Axis, Figure, Panels, Point, Series};
use cahoots_lab::LabError;
use cahoots_lab::results::{Estimate, plus_minus, readable, with_band};
use cahoots_lab::run::Record;

use crate::reproduce::quantity::{regret, transfers};
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
    seconds: Seconds { full: 120.0, quick: 30.0 },
    check_claims,
};

/// Clients, world by world, as in the experiment file.
const CLIENTS: [u32; 5] = [1, 2, 5, 10, 20];

const FED: &str = "FedIGW";
const FED_8: &str = "FedIGW, gap_weight = 8";
const FED_CONSTANT: &str = "FedIGW, gamma = 7000";
const ALL: &str = "FedIGW, all data";
const ALONE: &str = "IGW alone";
const ALONE_14: &str = "IGW alone, 16 times the weight";
const LINUCB: &str = "LinUCB alone";
const ASYNC: &str = "Async-LinUCB";
const BLOCKS: [&str; 8] = [FED, FED_8, FED_CONSTANT, ALL, ALONE, ALONE_14, LINUCB, ASYNC];

type Value = fn(&Record) -> f64;

/// The runs of a block, world by world.
fn worlds<'a>(part: &'a MeasuredExperiment, block: &'a str) -> Vec<(u32, &'a Runs)> {
    CLIENTS.into_iter().zip(part.block(block)).collect()
}

/// A number per client and seed.
fn each(clients: u32, runs: &Runs, value: Value) -> Vec<f64> {
    runs.records.iter().map(|record| value(record) / f64::from(clients)).collect()
}

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("clients")?;
    for block in [FED, FED_8] {
        falls(block, &worlds(part, block), report);
    }
    exponent(FED, &worlds(part, FED), report);
    exponent(FED_8, &worlds(part, FED_8), report);
    communication(&worlds(part, FED), report);
    for (one, other, value, says) in [
        (FED, ALONE, regret as Value, "less regret than each client alone, with the same gamma"),
        (FED_8, ALONE_14, regret, "less regret than each client alone, with the same gamma"),
        (FED_8, FED, regret, "less regret with 16 times the weight"),
        (FED_CONSTANT, FED_8, regret, "less regret with the authors' constant gamma"),
        (ALL, FED, regret, "less regret with all data than with those of the epoch before"),
        (FED_8, ASYNC, transfers, "fewer transfers than Async-LinUCB"),
        (FED_8, ASYNC, regret, "less regret than Async-LinUCB"),
    ] {
        beside(part, [one, other], value, says, report);
    }
    report.note(
        "The paper's own figures are of neural networks on Bibtex and Delicious, multi-label data that are not here, with \
         other numbers of clients and a constant gamma. What is judged is what it says of the number of clients and of \
         communication, in a linear world.",
    );
    report.note(
        "gap_weight = 0.5 is the constant of FALCON+'s theorem, for rewards of which nothing is known but their noise. Here \
         contexts vary so much that hardly any exploration is needed, and every larger weight earns more.",
    );
    report.note(
        "Worlds with different numbers of clients share a parameter and no noise; differences between them are taken seed by \
         seed all the same. IGW alone learns after every reward, from all of its own data.",
    );
    let panels = vec![
        panel(part, "Regret of each client", regret),
        panel(part, "Transfers of each client", transfers),
    ];
    let title = "1 to 20 clients, 8190 decisions each".into();
    report.figure("clients", Panels { title, columns: 2, panels });
    Ok(())
}

/// The regret of each client falls with the number of clients.
fn falls(block: &str, fed: &[(u32, &Runs)], report: &mut ReportBuilder) {
    for pair in fed.windows(2) {
        let [(few, fewer), (many, more)] = pair else { continue };
        let (before, after) = (each(*few, fewer, regret), each(*many, more, regret));
        let difference = Estimate::new(after.iter().zip(&before).map(|(after, before)| after - before));
        let what = format!("{block}, {many} clients against {few}");
        let says = "the regret of each client falls with the number of clients";
        report.below_zero(what, says, against(&after, &before, &difference), &difference);
    }
}

/// One block beside another in each world of several clients: a question of our own.
fn beside(
    part: &MeasuredExperiment,
    [one, other]: [&'static str; 2],
    value: Value,
    says: &str,
    report: &mut ReportBuilder,
) {
    for ((clients, own), (_, others)) in worlds(part, one).into_iter().zip(worlds(part, other)).skip(1) {
        let (own, others) = (each(clients, own, value), each(clients, others, value));
        let difference = Estimate::new(own.iter().zip(&others).map(|(own, other)| own - other));
        let what = format!("{clients} clients, {one} against {other}, of each client");
        let ours = against(&own, &others, &difference);
        report.claim_from(OURS, what, says, ours, Verdict::below_zero(&difference));
    }
}

fn against(one: &[f64], other: &[f64], difference: &Estimate) -> String {
    let mean = |values: &[f64]| readable(Estimate::new(values.iter().copied()).mean);
    format!("{} against {}: {}", mean(one), mean(other), plus_minus(difference.mean, difference.ci95, true))
}

/// The regret of each client as a power of the number of clients, one value per seed: least squares on logarithms.
fn exponent(block: &str, fed: &[(u32, &Runs)], report: &mut ReportBuilder) {
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
        format!("{block}, regret of each client, 1 to 20 clients"),
        says,
        ours,
        Verdict::below_zero(&above),
    );
}

/// An upload and a download of each client in every epoch, and as many epochs as the logarithm of the horizon.
fn communication(fed: &[(u32, &Runs)], report: &mut ReportBuilder) {
    for (clients, runs) in fed {
        let horizon = runs.records.iter().filter_map(|record| record.curve.tick.last()).max();
        let logarithm = horizon.map_or(f64::NAN, |horizon| libm::log2(*horizon as f64));
        let holds = |record: &Record| {
            let rounds = record.traffic.rounds;
            rounds as f64 <= logarithm && record.traffic.transfers() == 2 * rounds * u64::from(*clients)
        };
        let rounds = runs.estimate(|record| record.traffic.rounds as f64).mean;
        let transfers = Estimate::new(each(*clients, runs, transfers)).mean;
        report.claim(
            format!("communication, {clients} clients"),
            format!(
                "at most log2 T = {logarithm:.1} epochs, in each an upload and a download of each client"
            ),
            format!("{rounds} epochs, {transfers} transfers of each client"),
            if runs.records.iter().all(holds) { Verdict::Holds } else { Verdict::DoesNotHold },
        );
    }
}

fn panel(part: &MeasuredExperiment, title: &str, value: Value) -> Figure {
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
