//! Li and Wang, "Asynchronous Upper Confidence Bound Algorithms for Federated Linear Bandits".

mod figure_2;
mod figure_3;
mod table_1;
mod trade_off;

use super::Item;

/// The paper's tables and figures. Figure 4 (real datasets) is not among them yet.
pub const ITEMS: &[Item] =
    &[figure_2::UNIFORM, figure_2::UNEVEN, figure_2::AUTHORS, figure_3::ITEM, table_1::ITEM];
