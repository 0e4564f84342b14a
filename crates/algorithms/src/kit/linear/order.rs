//! Floats as keys.

use serde::{Deserialize, Serialize};

/// A float that orders like its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Order(u64);

impl Order {
    pub(super) fn of(value: f64) -> Self {
        // IEEE total order: flip all bits of negatives, the sign bit of the rest.
        let bits = value.to_bits();
        Order(if bits >> 63 == 1 { !bits } else { bits | 1 << 63 })
    }
}
