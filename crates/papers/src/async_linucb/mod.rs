//! Li and Wang (2022), "Asynchronous Upper Confidence Bound Algorithms for Federated Linear Bandits".

pub mod bounds;
mod figure_2;
mod figure_3;
mod table_1;
mod trade_off;

use crate::reproduce::Paper;

/// The paper's tables and figures. Figure 4 (real datasets) is not among them yet.
pub const PAPER: Paper = Paper {
    name: "async-linucb",
    title: "Asynchronous Upper Confidence Bound Algorithms for Federated Linear Bandits",
    authors: "Li and Wang",
    year: 2022,
    items: &[figure_2::UNIFORM, figure_2::UNEVEN, figure_2::AUTHORS, figure_3::ITEM, table_1::ITEM],
};
