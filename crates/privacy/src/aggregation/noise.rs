//! Noise that a group adds in shares, on integers.
//!
//! Each of n members adds discrete Gaussians of variance `s^2 / h`, where h is the least number of members that are in
//! the sum and honest. A sum of h discrete Gaussians is not one, but close: with `t` steps of the grid in the deviation
//! of each, the loss is that of a Gaussian of the same variance and at most `10 d sum over k < h of
//! exp(-2 pi^2 t^2 k / (k + 1))` more (Kairouz, Liu and Steinke 2021, Theorem 1), for d numbers. With the 2^20 steps and
//! more that there are here, that is 0 in any arithmetic; [`GroupNoise::excess`] computes it.

use cahoots_core::{Composition, LinearStats, Mechanism, Noise, ParamError, ReleaseFact, Stream, Symmetric};
use serde::{Deserialize, Serialize};

use super::member::Masks;
use super::terms::Terms;
use crate::correlated::{Schedule, squared_norm};
use crate::exact::discrete_gaussian;
use crate::grid::Grid;

/// What each member of a group adds, by the group's size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupNoise {
    schedule: Schedule,
    terms: Terms,
    /// All members of all groups round to it.
    grid: Grid,
}

impl GroupNoise {
    /// Shares of the noise of each of a schedule's rounds, on sums of so many features.
    pub fn new(schedule: Schedule, terms: Terms, dim: usize) -> Result<GroupNoise, ParamError> {
        let deviation = schedule.noise.deviation();
        // Without noise, fine enough for sums to be what they are.
        let finest = if deviation == 0.0 { 1e-3 } else { deviation / f64::from(terms.most).sqrt() };
        let noise = GroupNoise { schedule, terms, grid: Grid::for_scale(finest) };
        let values = (schedule.releases as usize * LinearStats::numbers(dim)) as f64;
        for n in terms.least..=terms.most {
            let excess = noise.excess(n, values);
            if excess > 1e-12 {
                let problem = format!("shares of the noise for {n} clients are too coarse by {excess}");
                return Err(ParamError::new("group_most", problem));
            }
        }
        Ok(noise)
    }

    /// What the whole noise is.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// What a group must be like.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Numbers in a vector: Gram matrix, moment, count.
    pub fn length(dim: usize) -> usize {
        LinearStats::numbers(dim) + 1
    }

    /// Distance between neighbouring values.
    pub fn step(&self) -> f64 {
        self.grid.step()
    }

    /// Deviation of each member's share in a group of n, in steps.
    fn share(&self, n: u32) -> u64 {
        let deviation = self.schedule.noise.deviation();
        if deviation == 0.0 {
            return 0;
        }
        self.grid.steps_at_least(deviation / f64::from(self.terms.honest(n)).sqrt())
    }

    /// Variance of each member's share in a group of n, off the diagonal and in the moment: public.
    pub fn variance_of_share(&self, n: u32) -> f64 {
        let deviation = self.share(n) as f64 * self.grid.step();
        deviation * deviation
    }

    /// What the sum of shares of n loses beyond a Gaussian of its variance, for `values` numbers.
    pub fn excess(&self, n: u32, values: f64) -> f64 {
        excess(self.share(n), self.terms.honest(n), values)
    }

    /// A statistic in whole steps, modulo 2^64. None if values of so many members could reach the modulus.
    pub fn encode(&self, row: &LinearStats, n: u32) -> Option<Vec<u64>> {
        let most = (1u64 << 62) / u64::from(n);
        let values = row.gram.packed().iter().chain(row.moment.iter());
        let mut steps: Vec<i64> = values.map(|value| self.grid.steps(*value)).collect();
        steps.push(i64::try_from(row.count).ok()?);
        steps
            .iter()
            .all(|value| value.unsigned_abs() < most)
            .then(|| steps.into_iter().map(|value| value as u64).collect())
    }

    /// Adds a member's share of the noise of a group of n to what it has encoded.
    pub fn add_share(&self, values: &mut [u64], n: u32, dim: usize, rng: &mut Stream) {
        let share = self.share(n);
        if share == 0 {
            return;
        }
        let diagonal = libm::ceil(share as f64 * std::f64::consts::SQRT_2) as u64;
        let places = (0..dim).flat_map(|row| (0..=row).map(move |column| row == column));
        let deviations = places.map(|on| if on { diagonal } else { share });
        // The count is public, and has none.
        for (value, deviation) in values.iter_mut().zip(deviations.chain(std::iter::repeat_n(share, dim))) {
            *value = value.wrapping_add(discrete_gaussian(rng, deviation) as u64);
        }
    }

    /// A statistic from whole steps; none if they are not of this dimension.
    pub fn decode(&self, values: &[i64], dim: usize) -> Option<LinearStats> {
        if values.len() != Self::length(dim) {
            return None;
        }
        let (gram, rest) = values.split_at(Symmetric::packed_len(dim));
        let (moment, count) = rest.split_at(dim);
        let mut stats = LinearStats::empty(dim);
        stats.gram.packed_mut().iter_mut().zip(gram).for_each(|(to, value)| *to = self.grid.value(*value));
        stats.moment.iter_mut().zip(moment).for_each(|(to, value)| *to = self.grid.value(*value));
        stats.count = u64::try_from(count[0]).ok()?;
        Some(stats)
    }
}

fn excess(steps: u64, parts: u32, values: f64) -> f64 {
    if steps == 0 {
        return 0.0;
    }
    let square = (steps as f64) * (steps as f64);
    let two_pi2 = 2.0 * std::f64::consts::PI * std::f64::consts::PI;
    let term = |k: u32| libm::exp(-two_pi2 * square * f64::from(k) / f64::from(k + 1));
    10.0 * values * (1..parts).map(term).sum::<f64>()
}

/// Adds a share of the noise, then masks: what leaves a member.
pub struct MaskedRelease<'a> {
    /// The group's noise.
    pub noise: &'a GroupNoise,
    /// The masks of this round; used up.
    pub masks: Option<Masks>,
    /// Features.
    pub dim: usize,
    /// This client has released something before.
    pub again: bool,
    /// What one unit is.
    pub unit: &'static str,
    /// Who sees the sum.
    pub observer: &'static str,
    /// What was sent, without masks: the client's own to know.
    pub sent: Vec<i64>,
}

impl Mechanism<Vec<u64>> for MaskedRelease<'_> {
    fn release(&mut self, mut exact: Vec<u64>, rng: &mut Stream) -> Vec<u64> {
        let masks = self.masks.take().expect("one vector under one mask");
        self.noise.add_share(&mut exact, masks.size, self.dim, rng);
        self.sent = exact.iter().map(|value| *value as i64).collect();
        masks.apply(&mut exact);
        exact
    }

    fn fact(&self) -> ReleaseFact {
        let Schedule { noise, releases, sensitivity } = self.noise.schedule();
        let values = *releases as usize * LinearStats::numbers(self.dim);
        ReleaseFact {
            mechanism: "shares of discrete gaussians under masks, square root of summation".into(),
            scale: noise.deviation(),
            sensitivity: sensitivity * squared_norm(*releases as usize).sqrt()
                + (values as f64).sqrt() * self.noise.step(),
            unit: self.unit.into(),
            observer: self.observer.into(),
            noise: if noise.is_none() { Noise::None } else { Noise::Gaussian },
            composition: if self.again && !noise.is_none() {
                Composition::Covered
            } else {
                Composition::Disjoint
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::{Budget, Calibration, sensitivity};

    const TERMS: Terms = Terms { least: 5, most: 100, missing: 0.2, colluding: 0.2 };

    fn noise(epsilon: f64) -> GroupNoise {
        let budget = Budget { epsilon, delta: 1e-5, calibration: Calibration::Analytic };
        let schedule = Schedule::new(&budget, 8, sensitivity(0.5), 3).unwrap();
        GroupNoise::new(schedule, TERMS, 3).unwrap()
    }

    /// Whoever is a member knows its own share, colluding or not.
    #[test]
    fn another_member_sees_no_less_noise_than_the_coordinator() {
        let terms = Terms { missing: 0.0, colluding: 0.0, ..TERMS };
        let noise = GroupNoise::new(*noise(1.0).schedule(), terms, 3).unwrap();
        let (whole, n) = (noise.schedule().noise.deviation(), 10);
        assert!(f64::from(n - 1) * noise.variance_of_share(n) >= whole * whole);
    }

    #[test]
    fn shares_of_those_who_are_left_make_up_the_noise_and_not_much_more() {
        let noise = noise(1.0);
        let whole = noise.schedule().noise.deviation();
        for n in [5, 10, 37, 100] {
            let honest = f64::from(n - TERMS.missing(n) - TERMS.colluding(n));
            let made = (honest * noise.variance_of_share(n)).sqrt();
            assert!(made >= whole && made < 1.0001 * whole, "{n}: {made} of {whole}");
        }
    }

    /// The bound matters for coarse grids, and not for this one.
    #[test]
    fn sums_of_shares_are_as_private_as_one_gaussian() {
        assert!(excess(1, 10, 1.0) > 1e-4 && excess(2, 10, 1.0) < 1e-10);
        assert_eq!(noise(1.0).excess(100, 1e6), 0.0);
    }

    #[test]
    fn values_come_back_as_they_were_and_too_large_ones_are_not_sent() {
        let noise = noise(1.0);
        let mut row = LinearStats::empty(3);
        row.observe(&[0.5, -0.25, 1.0], -0.5);
        let values = noise.encode(&row, 100).unwrap();
        let signed: Vec<i64> = values.iter().map(|value| *value as i64).collect();
        let back = noise.decode(&signed, 3).unwrap();
        assert_eq!(back.count, 1);
        assert!((back.gram.get(2, 1) - row.gram.get(2, 1)).abs() <= noise.step());
        assert!((back.moment[1] - row.moment[1]).abs() <= noise.step());
        row.moment[0] = 1e15;
        assert_eq!(noise.encode(&row, 100), None);
        assert_eq!(noise.decode(&signed, 4), None);
    }
}
