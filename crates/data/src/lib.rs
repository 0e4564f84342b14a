//! Data from outside: the papers' datasets, tables of one's own, the worlds that are made of them, and what a policy
//! would have earned on what another one logged.

pub mod datasets;
pub mod evaluate;
pub mod features;
mod place;
pub mod replay;
pub mod rows;
mod say;
pub mod sums;
pub mod table;
#[cfg(test)]
mod testing;

use cahoots_sim::worlds::Worlds;

/// Adds the worlds that are made of data.
pub fn add_worlds(worlds: &mut Worlds) {
    worlds.add::<replay::ReplayParams>();
    worlds.add::<table::TableParams>();
}
