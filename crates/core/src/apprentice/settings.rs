//! What is asked of an apprentice, and what it cannot be asked.

use serde::{Deserialize, Serialize};

/// What is asked of an apprentice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The share of decisions that are the learner's own while it is an apprentice, and the baseline's once it is in charge.
    pub explore: f64,
    /// The probability with which a better baseline may ever be displaced.
    pub error: f64,
    /// The smallest and the largest reward.
    pub range: (f64, f64),
}

impl Settings {
    /// Refuses what cannot be meant.
    pub fn check(&self) -> Result<(), String> {
        let Settings { explore, error, range: (low, high) } = *self;
        if !(explore > 0.0 && explore <= 0.5) {
            return Err(format!(
                "explore must be above 0 and at most 0.5, such as 0.1, not {explore}: without some decisions of either nothing \
                 can be compared"
            ));
        }
        if !(error > 0.0 && error <= 0.5) {
            return Err(format!("error must be above 0 and at most 0.5, such as 0.05, not {error}"));
        }
        if !(low < high && (high - low).is_finite()) {
            return Err(format!(
                "reward_range must be two numbers, the smaller one first, not [{low}, {high}]"
            ));
        }
        Ok(())
    }

    /// A reward on the scale of 0 to 1.
    pub(super) fn scaled(&self, reward: f64) -> Result<f64, OutsideRange> {
        let (low, high) = self.range;
        if !(low <= reward && reward <= high) {
            return Err(OutsideRange { value: reward, low, high });
        }
        Ok((reward - low) / (high - low))
    }

    /// How much error is left for a round.
    pub(super) fn error_of(&self, round: u64) -> f64 {
        let k = round as f64;
        if round == 1 { 0.75 * self.error } else { self.error / (4.0 * k * (k - 1.0)) }
    }
}

/// A reward that the bound does not hold for.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "a reward must be between {low} and {high} for an apprentice, not {value}: scale it, or say what rewards can be \
     ([apprentice] reward_range)"
)]
pub struct OutsideRange {
    /// What came.
    pub value: f64,
    /// The smallest reward.
    pub low: f64,
    /// The largest reward.
    pub high: f64,
}
