//! Shi, Shen and Yang, "Federated Multi-armed Bandits with Personalization".

mod common;
mod enhancement;
mod lengths;
mod many_clients;
mod movielens;
mod reward;
mod synthetic;
mod table_2;

use super::Item;

/// The paper's tables and figures. Table 1 holds orders of growth; the forms of f(p) it lists are compared in
/// Figure 6.
pub const ITEMS: &[Item] = &[
    synthetic::ITEM,
    movielens::ITEM,
    reward::MOVIELENS,
    enhancement::ITEM,
    reward::SYNTHETIC,
    lengths::ITEM,
    many_clients::ITEM,
    table_2::ITEM,
];
