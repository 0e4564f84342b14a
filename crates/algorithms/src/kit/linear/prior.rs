//! Servers that begin from what others have merged.

use std::sync::Arc;

use cahoots_core::{LinearStats, Plausible, Prior, View};

/// A federation that has begun is not begun again.
pub(crate) const BEGUN: &str = "the federation has begun already";

/// The first view of a federation whose server keeps sums of this shape, if data within its terms can have led to it.
pub(crate) fn begin_from(
    prior: &Prior,
    shape: &LinearStats,
    plausible: &Plausible,
    ridge: f64,
) -> Result<Arc<View>, String> {
    let stats = prior.linear(shape)?;
    plausible.check(&stats).map_err(|e| e.to_string())?;
    let view = View::new(1, stats);
    view.check(ridge).map_err(|e| e.to_string())?;
    Ok(view)
}
