//! Shi, Shen and Yang (2021), "Federated Multi-armed Bandits with Personalization".

pub mod bounds;
mod common;
mod enhancement;
mod lengths;
mod many_clients;
mod movielens;
mod reward;
mod synthetic;
mod table_2;

use crate::reproduce::Paper;

/// The paper's tables and figures. Table 1 holds orders of growth; the forms of f(p) it lists are compared in
/// Figure 6.
pub const PAPER: Paper = Paper {
    name: "pf-ucb",
    title: "Federated Multi-armed Bandits with Personalization",
    authors: "Shi, Shen and Yang",
    year: 2021,
    items: &[
        synthetic::ITEM,
        movielens::ITEM,
        reward::MOVIELENS,
        enhancement::ITEM,
        reward::SYNTHETIC,
        lengths::ITEM,
        many_clients::ITEM,
        table_2::ITEM,
    ],
};
