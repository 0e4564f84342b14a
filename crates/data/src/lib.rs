//! Data from outside: the papers' datasets, tables of one's own, the worlds that are made of them, and what a policy
//! would have earned on what another one logged.

pub mod evaluate;
pub mod rows;

use cahoots_sim::worlds::Worlds;

/// Adds the worlds that are made of data.
pub fn add_worlds(_worlds: &mut Worlds) {}
