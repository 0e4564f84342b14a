//! Statistics of a K-armed learner.

use serde::{Deserialize, Serialize};

use crate::error::Misbehaviour;
use crate::ids::ArmIndex;

/// More pulls than any federation can have made; below it, counts are exact as floating point too.
const MOST_PULLS: u64 = 1 << 53;

/// Pulls and summed rewards, arm by arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmStats {
    counts: Box<[u64]>,
    sums: Box<[f64]>,
}

impl ArmStats {
    /// No pulls yet.
    pub fn empty(arms: usize) -> Self {
        ArmStats { counts: vec![0; arms].into(), sums: vec![0.0; arms].into() }
    }

    /// Number of arms.
    pub fn arms(&self) -> usize {
        self.counts.len()
    }

    /// Adds one pull.
    pub fn observe(&mut self, arm: ArmIndex, reward: f64) {
        self.observe_block(arm, 1, reward);
    }

    /// Adds `pulls` pulls whose rewards sum to `sum`.
    pub fn observe_block(&mut self, arm: ArmIndex, pulls: u64, sum: f64) {
        self.counts[arm.index()] += pulls;
        self.sums[arm.index()] += sum;
    }

    /// Adds all of another's pulls.
    pub fn merge(&mut self, other: &ArmStats) {
        assert_eq!(self.arms(), other.arms(), "statistics over different arms");
        for arm in 0..self.arms() {
            self.counts[arm] += other.counts[arm];
            self.sums[arm] += other.sums[arm];
        }
    }

    /// Adds all pulls that a peer says were made, after a look at them.
    pub fn merge_received(&mut self, other: &ArmStats) -> Result<(), Misbehaviour> {
        let (expected, got) = (self.arms(), other.arms());
        if expected != got || other.sums.len() != got {
            return Err(Misbehaviour::Dimension { expected, got });
        }
        let pulls = |arm: usize| self.counts[arm].saturating_add(other.counts[arm]);
        if (0..expected).any(|arm| pulls(arm) > MOST_PULLS) {
            return Err(Misbehaviour::Unexpected("more pulls than can have been made".into()));
        }
        if (0..expected).any(|arm| !(self.sums[arm] + other.sums[arm]).is_finite()) {
            return Err(Misbehaviour::NotFinite("sums of rewards".into()));
        }
        self.merge(other);
        Ok(())
    }

    /// Pulls of one arm.
    pub fn count(&self, arm: ArmIndex) -> u64 {
        self.counts[arm.index()]
    }

    /// Sum of an arm's rewards.
    pub fn sum(&self, arm: ArmIndex) -> f64 {
        self.sums[arm.index()]
    }

    /// Pulls of all arms.
    pub fn pulls(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Mean reward of an arm, once it has been pulled.
    pub fn mean(&self, arm: ArmIndex) -> Option<f64> {
        let count = self.counts[arm.index()];
        (count > 0).then(|| self.sums[arm.index()] / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_single_pulls_add_up_alike() {
        let (mut single, mut block) = (ArmStats::empty(2), ArmStats::empty(2));
        for _ in 0..4 {
            single.observe(ArmIndex(1), 0.5);
        }
        block.observe_block(ArmIndex(1), 4, 2.0);
        assert_eq!(single, block);
        block.merge(&single);
        assert_eq!(block.count(ArmIndex(1)), 8);
        assert_eq!(block.mean(ArmIndex(1)), Some(0.5));
        assert_eq!(block.mean(ArmIndex(0)), None);
    }

    #[test]
    fn what_no_pulls_can_have_led_to_is_refused_and_changes_nothing() {
        let stats = |counts: &[u64], sums: &[f64]| ArmStats { counts: counts.into(), sums: sums.into() };
        let mut all = stats(&[1, 2], &[0.5, 1.0]);
        for bad in [
            stats(&[1], &[1.0]),
            stats(&[1, 1], &[1.0]),
            stats(&[1], &[1.0, 1.0]),
            stats(&[u64::MAX, 1], &[1.0, 1.0]),
            stats(&[1, MOST_PULLS - 1], &[1.0, 1.0]),
            stats(&[1, 1], &[f64::NAN, 1.0]),
            stats(&[1, 1], &[f64::MAX, f64::INFINITY]),
        ] {
            all.merge_received(&bad).unwrap_err();
            assert_eq!(all, stats(&[1, 2], &[0.5, 1.0]));
        }
        all.merge_received(&stats(&[3, 0], &[-1.0, 0.0])).unwrap();
        assert_eq!(all, stats(&[4, 2], &[-0.5, 1.0]));
    }
}
