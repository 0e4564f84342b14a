//! Li and Song (2021), "Privacy-Preserving Communication-Efficient Federated Multi-Armed Bandits".

mod centralized;
mod common;
mod decentralized;
mod hybrid;
mod structures;

use crate::reproduce::Paper;

/// The paper's tables and figures with results (figures 1 to 3 are drawings of protocols).
pub const PAPER: Paper = Paper {
    name: "dp-mab",
    title: "Privacy-Preserving Communication-Efficient Federated Multi-Armed Bandits",
    authors: "Li and Song",
    year: 2021,
    items: &[
        centralized::FIGURE_4,
        centralized::FIGURE_5,
        centralized::FIGURE_6,
        centralized::FIGURE_7,
        structures::FIGURE_8,
        decentralized::FIGURE_9,
        decentralized::FIGURE_10,
        hybrid::FIGURE_11,
        structures::FIGURE_12,
        decentralized::TABLE_1,
        hybrid::TABLE_2,
    ],
};
