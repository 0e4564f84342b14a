//! The best of a list. Values that differ by rounding alone are ties, and ties
//! go to the lowest index; otherwise the last bit would decide.

use crate::ids::ArmIndex;

/// Relative to the larger of 1 and the value: some ten thousand roundings.
const TOLERANCE: f64 = 1e-12;

/// A running maximum.
#[derive(Clone, Copy, Debug)]
pub struct Best {
    arm: u32,
    value: f64,
}

impl Default for Best {
    fn default() -> Self {
        Best { arm: 0, value: f64::NEG_INFINITY }
    }
}

impl Best {
    /// Looks at the next arm; NaN never wins.
    pub fn offer(&mut self, arm: usize, value: f64) {
        if value > self.value + TOLERANCE * self.value.abs().max(1.0)
            || self.value == f64::NEG_INFINITY && value > self.value
        {
            *self = Best { arm: arm as u32, value };
        }
    }

    /// The winner: the first arm if none was offered.
    pub fn arm(self) -> ArmIndex {
        ArmIndex(self.arm)
    }
}

/// Index of the largest value.
pub fn pick(values: impl IntoIterator<Item = f64>) -> ArmIndex {
    let mut best = Best::default();
    for (arm, value) in values.into_iter().enumerate() {
        best.offer(arm, value);
    }
    best.arm()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_within_rounding_go_to_the_lowest_index() {
        assert_eq!(pick([1.0, 1.0 + 1e-15, 0.5]), ArmIndex(0));
        assert_eq!(pick([1.0, 1.0 + 1e-9, 0.5]), ArmIndex(1));
        assert_eq!(pick([f64::NAN, -3.0, -2.0]), ArmIndex(2));
        assert_eq!(pick([f64::NEG_INFINITY, f64::INFINITY]), ArmIndex(1));
        assert_eq!(pick([]), ArmIndex(0));
    }
}
