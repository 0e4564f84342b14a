//! The outcome of scoring, and how the best arm is picked from it.

use std::cell::RefCell;

use crate::ops::chunks;
use crate::ops::select::Highest;
use crate::simd::dispatch;
use crate::{Level, workspace};

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

    /// The arm of the highest `mean + radius width`, by the rule of [`Best`](crate::Best): product and sum
    /// are rounded, values that differ by rounding alone are ties, and ties go to the lowest index. Arms
    /// that `offered` leaves out never win; the first that is on offer does if no value exceeds minus
    /// infinity.
    ///
    /// # Panics
    /// If no arm is on offer, or `offered` speaks of another number of arms.
    pub fn highest_bound(&self, radius: f64, offered: Option<&[bool]>) -> Picked {
        self.highest_bound_with(Level::best(), radius, offered)
    }

    /// [`Scores::highest_bound`] at a given level.
    ///
    /// # Panics
    /// As [`Scores::highest_bound`], or if this host lacks the level.
    pub fn highest_bound_with(&self, level: Level, radius: f64, offered: Option<&[bool]>) -> Picked {
        self.highest(level, Some(radius), offered)
    }

    /// The arm of the highest mean, by the same rule.
    ///
    /// # Panics
    /// As [`Scores::highest_bound`].
    pub fn highest_mean(&self, offered: Option<&[bool]>) -> Picked {
        self.highest_mean_with(Level::best(), offered)
    }

    /// [`Scores::highest_mean`] at a given level.
    ///
    /// # Panics
    /// As [`Scores::highest_bound`], or if this host lacks the level.
    pub fn highest_mean_with(&self, level: Level, offered: Option<&[bool]>) -> Picked {
        self.highest(level, None, offered)
    }

    #[inline]
    fn highest(&self, level: Level, radius: Option<f64>, offered: Option<&[bool]>) -> Picked {
        let Scores { mean, width2 } = self;
        assert_eq!(mean.len(), width2.len(), "scores of different numbers of arms");
        match offered {
            None => assert!(!mean.is_empty(), "no arm to pick"),
            Some(offered) => {
                assert_eq!(offered.len(), mean.len(), "an offer of another number of arms");
                assert!(offered.contains(&true), "no arm is on offer");
            }
        }
        let widths = radius.map(|radius| (&width2[..], radius));
        let arm = workspace::with(chunks(mean.len()), |scratch| {
            dispatch(level, Highest { mean, widths, offered, scratch })
        });
        Picked { arm, mean: mean[arm], width: width2[arm].sqrt() }
    }
}

/// The arm that was picked, and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Picked {
    /// Its index.
    pub arm: usize,
    /// Its estimated reward.
    pub mean: f64,
    /// Its width, `sqrt(x' (V + ridge I)^-1 x)`: a confidence interval is the mean plus and minus a
    /// radius times this.
    pub width: f64,
}
