//! The outcome of scoring, and the usual way to pick from it.

use std::cell::RefCell;

use crate::Level;
use crate::ops::select::Optimistic;
use crate::simd::dispatch;

/// Estimated mean and squared width of every arm; as long as there are arms.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// `(W x_k) . direction`, the estimated reward.
    pub mean: Vec<f64>,
    /// `|W x_k|^2 = x_k' (V + ridge I)^-1 x_k`, never negative.
    pub width2: Vec<f64>,
}

thread_local! {
    static SCRATCH: RefCell<Scores> = const { RefCell::new(Scores { mean: Vec::new(), width2: Vec::new() }) };
}

impl Scores {
    /// Lends buffers that belong to no state, of any content: whoever scores at every step need not
    /// allocate at every step.
    pub fn lend<T>(body: impl FnOnce(&mut Scores) -> T) -> T {
        SCRATCH.with(|scratch| match scratch.try_borrow_mut() {
            Ok(mut scores) => body(&mut scores),
            Err(_) => body(&mut Scores::default()),
        })
    }

    /// The first arm with the largest `mean + alpha sqrt(width2)`; `None` if there is none above minus
    /// infinity (NaN never is).
    pub fn optimistic(&self, alpha: f64) -> Option<usize> {
        self.optimistic_with(Level::best(), alpha)
    }

    /// [`Scores::optimistic`] at a given level.
    ///
    /// # Panics
    /// If this host lacks the level.
    pub fn optimistic_with(&self, level: Level, alpha: f64) -> Option<usize> {
        let Scores { mean, width2 } = self;
        dispatch(level, Optimistic { mean, width2, alpha })
    }
}
