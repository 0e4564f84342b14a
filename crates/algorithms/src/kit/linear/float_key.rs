//! Floats as keys of ordered collections.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// A float in IEEE total order.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct FloatKey(pub f64);

impl Ord for FloatKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for FloatKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for FloatKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for FloatKey {}
