//! Models of statistics whose noise may have made them indefinite.

use cahoots_core::{Factor, LinearStats};

/// The model of `stats` with `ridge`, and what had to be added to the diagonal for there to be one.
pub(super) fn model(stats: &LinearStats, ridge: f64) -> (Factor, f64) {
    let mut shift = 0.0;
    loop {
        match Factor::of(stats.gram.packed(), &stats.moment, ridge + shift) {
            Ok(factor) => return (factor, shift),
            // Ends: finite values are dominated by a diagonal that doubles.
            Err(_) => shift = if shift == 0.0 { ridge / 16.0 } else { 2.0 * shift },
        }
    }
}
