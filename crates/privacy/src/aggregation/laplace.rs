//! Laplace noise that a group adds in shares to its sums, on integers.
//!
//! Each of n members adds the difference of two Polya draws with parameter 1/h, where h is the least number of members
//! that are in the sum and honest. Those of h members add up to discrete Laplace noise of the whole scale, exactly; what
//! others add is noise besides, which takes nothing away.

use cahoots_core::{Composition, Mechanism, Noise, ParamError, ReleaseFact, Stream};
use serde::{Deserialize, Serialize};

use super::member::Masks;
use super::terms::Terms;
use crate::grid::Grid;
use crate::laplace::Laplace;

/// What each member of a group adds to each of its sums, by the group's size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaplaceShares {
    law: Laplace,
    terms: Terms,
    grid: Grid,
    sensitivity: f64,
}

impl LaplaceShares {
    /// Noise that keeps `epsilon` where one unit moves one sum, by up to `sensitivity`.
    pub fn new(key: &str, epsilon: f64, sensitivity: f64, terms: Terms) -> Result<LaplaceShares, ParamError> {
        let law = Laplace::calibrated(key, epsilon, sensitivity, 1)?;
        // Without noise, fine enough for sums to be what they are.
        let grid = if law.is_none() { Grid::for_scale(1.0) } else { law.grid() };
        Ok(LaplaceShares { law, terms, grid, sensitivity })
    }

    /// What a group must be like.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The scale of the noise that is promised.
    pub fn scale(&self) -> f64 {
        self.law.scale()
    }

    /// How many times the noise that is promised the sum of a group of n has, if all of them are in it.
    pub fn spread(&self, n: u32) -> f64 {
        f64::from(n) / f64::from(self.terms.honest(n))
    }

    /// Sums in whole steps, modulo 2^64. None if values of so many members could reach the modulus.
    pub fn encode(&self, sums: &[f64], n: u32) -> Option<Vec<u64>> {
        let most = (1u64 << 62) / u64::from(n.max(1));
        let steps: Vec<i64> = sums.iter().map(|sum| self.grid.steps(*sum)).collect();
        let fits = steps.iter().all(|steps| steps.unsigned_abs() < most);
        fits.then(|| steps.into_iter().map(|steps| steps as u64).collect())
    }

    /// Adds a member's share of the noise of a group of n.
    pub fn add_share(&self, sums: &mut [u64], n: u32, rng: &mut Stream) {
        for sum in sums {
            *sum = sum.wrapping_add(self.law.share(self.terms.honest(n), rng) as u64);
        }
    }

    /// A sum from whole steps.
    pub fn decode(&self, steps: i64) -> f64 {
        self.grid.value(steps)
    }
}

/// Adds shares of the noise, then masks: what leaves a member.
pub struct MaskedSums<'a> {
    /// The group's noise.
    pub shares: &'a LaplaceShares,
    /// The masks of this round; used up.
    pub masks: Option<Masks>,
    /// So many sums come first; counts, which follow, are public and have no noise.
    pub sums: usize,
    /// What one unit is. It is part of one sum, which leaves once.
    pub unit: &'static str,
    /// Who sees the sum.
    pub observer: &'static str,
}

impl Mechanism<Vec<u64>> for MaskedSums<'_> {
    fn release(&mut self, mut exact: Vec<u64>, rng: &mut Stream) -> Vec<u64> {
        let masks = self.masks.take().expect("one vector under one mask");
        let sums = self.sums.min(exact.len());
        self.shares.add_share(&mut exact[..sums], masks.size, rng);
        masks.apply(&mut exact);
        exact
    }

    fn fact(&self) -> ReleaseFact {
        let LaplaceShares { law, sensitivity, .. } = self.shares;
        ReleaseFact {
            mechanism: "shares of discrete laplace noise under masks".into(),
            scale: law.scale(),
            sensitivity: sensitivity + law.step(),
            unit: self.unit.into(),
            observer: self.observer.into(),
            noise: if law.is_none() { Noise::None } else { Noise::Laplace },
            composition: Composition::Disjoint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{Keys, NodeId};

    const TERMS: Terms = Terms { least: 5, most: 100, missing: 0.2, colluding: 0.2 };

    fn shares(terms: Terms) -> LaplaceShares {
        LaplaceShares::new("dp_epsilon", 1.0, 1.0, terms).unwrap()
    }

    /// Mean of absolute values of what so many members of a group of n add.
    fn size(shares: &LaplaceShares, members: u32, n: u32, draws: u32) -> f64 {
        let mut rng = Keys::from_seed(u64::from(members)).privacy(NodeId(0), 0);
        let mut one = || {
            let mut sum = [0u64];
            (0..members).for_each(|_| shares.add_share(&mut sum, n, &mut rng));
            shares.decode(sum[0] as i64).abs()
        };
        (0..draws).map(|_| one()).sum::<f64>() / f64::from(draws)
    }

    #[test]
    fn shares_of_those_who_are_left_and_honest_are_the_whole_noise() {
        let (shares, draws) = (shares(TERMS), 20_000);
        // Of 10, 2 may be missing and 2 against the others; E|x| = b, with deviation b.
        let found = size(&shares, 6, 10, draws);
        assert!((found - shares.scale()).abs() < 5.0 / f64::from(draws).sqrt(), "{found}");
        assert!(size(&shares, 5, 10, draws) < 0.96 * shares.scale(), "and one less is less");
    }

    #[test]
    fn sums_come_back_as_they_were_and_too_large_ones_are_not_sent() {
        let shares = shares(TERMS);
        let steps = shares.encode(&[2.25, 0.0, 1e6], 10).unwrap();
        let back: Vec<f64> = steps.iter().map(|steps| shares.decode(*steps as i64)).collect();
        assert_eq!(back, [2.25, 0.0, 1e6]);
        assert_eq!(shares.encode(&[1e15], 10), None);
        assert_eq!(shares.encode(&[f64::NAN], 10), Some(vec![0]));
    }

    #[test]
    fn without_noise_sums_are_still_finer_than_whole_numbers() {
        let shares = LaplaceShares::new("dp_epsilon", f64::INFINITY, 1.0, TERMS).unwrap();
        let mut steps = shares.encode(&[0.125], 10).unwrap();
        shares.add_share(&mut steps, 10, &mut Keys::from_seed(1).privacy(NodeId(0), 0));
        assert_eq!(shares.decode(steps[0] as i64), 0.125);
    }
}
