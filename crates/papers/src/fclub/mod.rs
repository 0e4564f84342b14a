//! Liu, Zhao, Yu, Li and Lui (2022), "Federated Online Clustering of Bandits".

mod communication;
mod figure_2;
mod parameters;
mod privacy;
mod running_time;

use crate::reproduce::Paper;

/// The paper's figures, and the studies that its appendix announces.
pub const PAPER: Paper = Paper {
    name: "fclub",
    title: "Federated Online Clustering of Bandits",
    authors: "Liu, Zhao, Yu, Li and Lui",
    year: 2022,
    items: &[
        figure_2::SYNTHETIC,
        figure_2::MOVIELENS,
        parameters::ITEM,
        communication::ITEM,
        running_time::ITEM,
        privacy::ITEM,
    ],
};
