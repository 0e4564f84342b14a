//! How long to explore, how sure to be, whom to eliminate: Lines 3 to 5 and 12 to 15 of Algorithm 1,
//! which all three structures share.

use cahoots_core::policy::pick;
use cahoots_core::{ArmIndex, Claim, Misbehaviour, plausible};
use serde::{Deserialize, Serialize};

use super::REWARDS;
use super::noise::{MeanNoise, Protection};
use cahoots_privacy::aggregation::LaplaceShares;

/// Everything that lengths and radii depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rules {
    /// K.
    pub(super) arms: u32,
    /// T.
    pub(super) horizon: f64,
    /// R and the smallest gap Delta, where rounds are limited.
    pub(super) limit: Option<Limit>,
    pub(super) noise: MeanNoise,
    /// How sums over all who report are added up without anybody seeing a part of them, where they are.
    pub(super) group: Option<LaplaceShares>,
    /// Leave out the factor that the concentration of the noise needs where few take part.
    pub(super) as_printed: bool,
}

/// At most so many rounds (Section IV-B).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Limit {
    /// R.
    pub(super) rounds: u64,
    /// Delta: known to an oracle alone.
    pub(super) gap: f64,
}

impl Rules {
    /// All arms.
    pub(super) fn all_arms(&self) -> Vec<ArmIndex> {
        (0..self.arms).map(ArmIndex).collect()
    }

    /// What is claimed.
    pub(super) fn claim(&self) -> Option<Claim> {
        self.noise.claim(self.group.is_some())
    }

    /// Line 3: the gap that epoch `r` aims at.
    pub(super) fn target(&self, r: u64) -> f64 {
        match self.limit {
            None => libm::pow(2.0, -(r as f64)),
            Some(Limit { rounds, gap }) => libm::pow(gap, r as f64 / rounds as f64),
        }
    }

    /// log(8 |I| r^2 T).
    fn log(&self, arms: usize, r: u64) -> f64 {
        libm::log(8.0 * arms as f64 * (r * r) as f64 * self.horizon)
    }

    /// Line 4: S(r), the pulls of each of `active` arms up to the end of epoch `r`; whole, and more
    /// than before.
    pub(super) fn pulls(&self, r: u64, active: usize, before: u64) -> u64 {
        let (n, target) = (f64::from(self.noise.participants), self.target(r));
        let sampling = 8.0 * self.log(active, r) / (n * target * target);
        // The second term makes the noise's part of C(r) a quarter of the target, like the first.
        let noise = 4.0 * self.noise_radius(r) / target;
        let pulls = sampling.max(noise).ceil();
        // Saturates where it exceeds any horizon.
        (pulls as u64).max(before.saturating_add(1))
    }

    /// Line 5: C(r), after S(r) = `pulls`.
    pub(super) fn radius(&self, r: u64, active: usize, pulls: u64) -> f64 {
        let (n, pulls) = (f64::from(self.noise.participants), pulls as f64);
        (self.log(active, r) / (2.0 * n * pulls)).sqrt() + self.noise_radius(r) / pulls
    }

    /// C(r) of an average over `clients` of the N: as wide as that is where they are fewer. Its first term goes by the root of
    /// N over them, its second by no more than N over them. None where the noise's part is as printed, which does not hold
    /// where few take part.
    pub(super) fn radius_over(&self, r: u64, active: usize, pulls: u64, clients: f64) -> Option<f64> {
        let fewer = (f64::from(self.noise.participants) / clients).max(1.0);
        (!self.as_printed).then(|| fewer * self.radius(r, active, pulls))
    }

    /// The probability with which a mean lies within C(r), in any round r. Hoeffding: the mean of rewards is beyond the first
    /// term with probability 2 e^-L, L = log(8 |I| r^2 T). The noise is beyond the second only if that of one of r epochs is
    /// beyond its r-th part, which has probability 2 e^-L each. (2 + 2 r) / (8 |I| r^2 T) is at most 1 / (2 T).
    pub(super) fn sure(&self) -> f64 {
        1.0 - 0.5 / self.horizon
    }

    /// The second term of C(r), times S(r).
    fn noise_radius(&self, r: u64) -> f64 {
        let n = f64::from(self.noise.participants);
        let (log, round, epsilon) = (self.log(self.arms as usize, r), r as f64, self.noise.epsilon);
        // The sum of N Laplace draws concentrates like a normal one only where log < N.
        let few = if self.as_printed { 1.0 } else { (log / n).sqrt().max(1.0) };
        match self.noise.protection {
            Protection::Published => round * (8.0 * log).sqrt() * few / (n * n.sqrt() * epsilon),
            Protection::Local => round * (8.0 * log).sqrt() * few / (n.sqrt() * epsilon),
            Protection::Central => {
                let spread = self.group.map_or(1.0, |shares| shares.spread(self.noise.participants));
                round * log * spread / (n * epsilon)
            }
            Protection::None => 0.0,
        }
    }

    /// C(r) of sums that were added up round by round: over `pulls` pulls of each arm, with `noise` times the noise that
    /// is promised in all of them.
    pub(super) fn radius_of_sums(&self, r: u64, active: usize, pulls: u64, noise: f64) -> f64 {
        let (pulls, log) = (pulls as f64, self.log(self.arms as usize, r));
        (self.log(active, r) / (2.0 * pulls)).sqrt() + noise * log / (self.noise.epsilon * pulls)
    }

    /// Refuses sums of one round that rewards between 0 and 1 cannot have, or more pulls than its members made.
    pub(super) fn check_sums(&self, pulls: u64, noise: f64, sums: &[(u64, f64)]) -> Result<(), Misbehaviour> {
        let scale = self.group.map_or(0.0, |shares| shares.scale());
        let reach = 1.001 * plausible::laplace_reach(scale, noise.ceil() as u64, sums.len() as f64);
        for &(count, sum) in sums {
            if count == 0 || count > pulls {
                return Err(Misbehaviour::Unexpected(format!(
                    "{count} pulls where at most {pulls} were made"
                )));
            }
            plausible::check_values("a sum", &[sum], (-reach, count as f64 + reach))?;
        }
        Ok(())
    }

    /// Refuses protected means that rewards between 0 and 1 cannot have after epoch `r` and S(r) = `pulls`, but for
    /// noise of the scale that all know. Eq. (6) weighs epoch s by its share of the pulls, (S(s) - S(s-1)) / S(r), and
    /// its noise has scale 1 / (epsilon (S(s) - S(s-1))): together r draws of scale 1 / (epsilon S(r)).
    pub(super) fn check_means(&self, r: u64, pulls: u64, means: &[f64]) -> Result<(), Misbehaviour> {
        let (low, high) = REWARDS;
        // A sink's mean is one of means of up to N clients. Rounding to the grid is a millionth of the scale.
        let values = f64::from(self.arms) * f64::from(self.noise.participants);
        let reach = 1.001 * plausible::laplace_reach(self.noise.scale(pulls), r, values);
        plausible::check_values("a mean", means, (low - reach, high + reach))
    }

    /// Lines 12 to 15: who stays, of `active` with these means and C(r) = `radius`. After the last
    /// round that is allowed, only the empirical best does.
    pub(super) fn survivors(&self, r: u64, active: &[ArmIndex], means: &[f64], radius: f64) -> Vec<ArmIndex> {
        let best = active[pick(means.iter().copied()).index()];
        if self.limit.is_some_and(|limit| r >= limit.rounds) {
            return vec![best];
        }
        let largest = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let stays = |(arm, mean): (&ArmIndex, &f64)| (largest - mean < 2.0 * radius).then_some(*arm);
        active.iter().zip(means).filter_map(stays).collect()
    }

    /// Whether the arms that are left were left by elimination, not by the end of the rounds.
    pub(super) fn separated(means: &[f64], radius: f64) -> bool {
        let largest = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        means.iter().filter(|mean| largest - **mean < 2.0 * radius).count() == 1
    }
}

/// Average of rows with weights, in their order.
pub(super) fn average<'a>(arms: usize, rows: impl Iterator<Item = (f64, &'a [f64])>) -> Vec<f64> {
    let (mut sums, mut weights) = (vec![0.0; arms], 0.0);
    for (weight, row) in rows {
        weights += weight;
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
    }
    sums.iter_mut().for_each(|sum| *sum /= weights);
    sums
}
