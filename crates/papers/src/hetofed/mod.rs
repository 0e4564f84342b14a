//! Blaser, Li and Wang (2024), "Federated Linear Contextual Bandits with Heterogeneous Clients".

mod asynchrony;
mod figure_2;
mod figure_3;
mod figure_4;
mod table_1;

use cahoots_figure::{Axis, Figure, Panels};
use cahoots_lab::results::Estimate;
use cahoots_lab::run::Curve;

use crate::reproduce::{MeasuredExperiment, Paper, Runs};

/// The paper's tables and figures.
pub const PAPER: Paper = Paper {
    name: "hetofed",
    title: "Federated Linear Contextual Bandits with Heterogeneous Clients",
    authors: "Blaser, Li and Wang",
    year: 2024,
    items: &[table_1::ITEM, figure_2::ITEM, figure_3::ITEM, figure_4::ITEM, asynchrony::ITEM],
};

/// Regret beside communication over time, as in Figures 2 and 4.
fn over_time(part: &MeasuredExperiment, title: &str) -> Panels {
    let panel = |title: &str, y: Axis, value: fn(&Curve, usize) -> f64| Figure {
        title: title.into(),
        x: Axis::linear("Time"),
        y,
        series: part.runs.iter().map(|runs| runs.line(runs.label.clone(), value)).collect(),
        note: Some(format!("mean over {} seeds, bands: 95% confidence", part.experiment.seeds.len())),
    };
    Panels {
        title: title.into(),
        columns: 2,
        panels: vec![
            panel("(a) Regret", Axis::log("Accumulated regret"), |curve, at| curve.regret[at]),
            panel("(b) Communication", Axis::linear("Transfers"), |curve, at| curve.transfers[at] as f64),
        ],
    }
}

/// Growth over the second half of the run beside that over the first, less one, seed by seed: zero
/// where something grows linearly, below where it flattens.
fn bend(runs: &Runs, value: fn(&Curve, usize) -> f64) -> Estimate {
    Estimate::new(runs.records.iter().map(|record| {
        let points = record.curve.tick.len();
        let (half, whole) = (value(&record.curve, points / 2 - 1), value(&record.curve, points - 1));
        (whole - half) / half - 1.0
    }))
}
