//! The best of a list, by the kernel's rule: values that differ by rounding alone
//! are ties, and ties go to the lowest index.

use cahoots_kernel::Best;

use crate::contract::arms::ArmSet;
use crate::ids::ArmIndex;

/// Index of the largest value: the first if none exceeds minus infinity, as NaN never does.
pub fn pick(values: impl IntoIterator<Item = f64>) -> ArmIndex {
    let mut best = Best::default();
    for (arm, value) in values.into_iter().enumerate() {
        best.offer(arm, value);
    }
    ArmIndex(best.arm() as u32)
}

/// The arm of the largest value among those that can be chosen.
pub fn pick_open(values: impl Iterator<Item = f64>, arms: ArmSet<'_>) -> ArmIndex {
    let open = |arm: &usize| arms.is_open(ArmIndex(*arm as u32));
    let mut best = Best::or((0..arms.len()).find(open).unwrap_or(0));
    for (arm, value) in values.enumerate().filter(|(arm, _)| open(arm)) {
        best.offer(arm, value);
    }
    ArmIndex(best.arm() as u32)
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
