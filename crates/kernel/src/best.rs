//! The one rule by which the best of several arms is told: a running maximum in which values that
//! differ by rounding alone are ties, and ties go to the lowest index; otherwise the last bit would
//! decide.

/// Relative to the larger of 1 and the value: some ten thousand roundings.
pub(crate) const TOLERANCE: f64 = 1e-12;

/// A running maximum.
///
/// ```
/// use cahoots_kernel::Best;
/// let mut best = Best::default();
/// for (arm, value) in [1.0, 1.0 + 1e-15, f64::NAN, 0.5].into_iter().enumerate() {
///     best.offer(arm, value);
/// }
/// assert_eq!(best.arm(), 0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Best {
    arm: usize,
    value: f64,
}

impl Default for Best {
    fn default() -> Self {
        Best::or(0)
    }
}

impl Best {
    /// No arm yet: `first` wins if no value ever exceeds minus infinity.
    pub fn or(first: usize) -> Best {
        Best { arm: first, value: f64::NEG_INFINITY }
    }

    /// Looks at the next arm; NaN never wins.
    #[inline]
    pub fn offer(&mut self, arm: usize, value: f64) {
        if value > self.value + TOLERANCE * self.value.abs().max(1.0)
            || self.value == f64::NEG_INFINITY && value > self.value
        {
            *self = Best { arm, value };
        }
    }

    /// The winner so far.
    pub fn arm(self) -> usize {
        self.arm
    }
}
