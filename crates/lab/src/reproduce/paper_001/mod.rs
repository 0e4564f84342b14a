//! Liu, Zhao, Yu, Li and Lui, "Federated Online Clustering of Bandits".

mod communication;
mod figure_2;
mod parameters;
mod privacy;
mod running_time;

use super::Item;
use crate::run::Record;

/// The paper's figures, and the studies that its appendix announces.
pub const ITEMS: &[Item] = &[
    figure_2::SYNTHETIC,
    figure_2::MOVIELENS,
    parameters::ITEM,
    communication::ITEM,
    running_time::ITEM,
    privacy::ITEM,
];

fn regret(record: &Record) -> f64 {
    record.regret
}

fn transfers(record: &Record) -> f64 {
    record.transfers() as f64
}
