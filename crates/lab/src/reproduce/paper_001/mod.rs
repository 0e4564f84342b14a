//! Liu, Zhao, Yu, Li and Lui, "Federated Online Clustering of Bandits".

mod communication;
mod figure_2;
mod parameters;
mod privacy;
mod running_time;

use super::Item;

/// The paper's figures, and the studies that its appendix announces.
pub const ITEMS: &[Item] = &[
    figure_2::SYNTHETIC,
    figure_2::MOVIELENS,
    parameters::ITEM,
    communication::ITEM,
    running_time::ITEM,
    privacy::ITEM,
];
