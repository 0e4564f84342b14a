//! What every server of linear sums looks at before it merges an upload.

use cahoots_core::{LinearStats, Misbehaviour, Plausible, linalg};

/// Refuses an upload that is out of turn after number `merged`, that is not of this shape, or that no data can have led to.
pub(crate) fn check_upload(
    number: u64,
    merged: u64,
    stats: &LinearStats,
    shape: &LinearStats,
    plausible: &Plausible,
    ridge: f64,
) -> Result<(), Misbehaviour> {
    // Numbers between were refused; links lose none.
    if number <= merged {
        return Err(Misbehaviour::Gap { expected: merged + 1, got: number });
    }
    stats.check(shape.dim(), !shape.contexts.is_empty())?;
    plausible.check(stats)?;
    linalg::log_det(&stats.gram, ridge).map(|_| ())
}
