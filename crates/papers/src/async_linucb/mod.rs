//! Li and Wang (2022), "Asynchronous Upper Confidence Bound Algorithms for Federated Linear Bandits".

pub mod bounds;
mod figure_2;
mod figure_3;
mod figure_4;
mod table_1;
mod table_2;

use crate::reproduce::Paper;

/// The paper's tables and figures.
pub const PAPER: Paper = Paper {
    name: "async-linucb",
    title: "Asynchronous Upper Confidence Bound Algorithms for Federated Linear Bandits",
    authors: "Li and Wang",
    year: 2022,
    items: &[
        figure_2::UNIFORM,
        figure_2::UNEVEN,
        figure_2::AUTHORS,
        figure_3::ITEM,
        figure_4::LASTFM,
        figure_4::DELICIOUS,
        figure_4::MOVIELENS,
        table_1::ITEM,
        table_2::ITEM,
    ],
};
