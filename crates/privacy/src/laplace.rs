//! Discrete Laplace noise: pure differential privacy.

use std::borrow::Cow;

use cahoots_core::{Composition, Mechanism, Noise, ParamError, ReleaseFact, Stream};
use serde::{Deserialize, Serialize};

use crate::exact::discrete_laplace;
use crate::grid::{Grid, Scale};
use crate::polya;

/// Laplace noise on a power-of-two grid, or none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Laplace(Scale);

impl Laplace {
    /// No noise.
    pub const NONE: Laplace = Laplace(Scale::NONE);

    /// Noise of at least this scale (by less than one part in a million more); 0: none.
    pub fn of_scale(key: &str, scale: f64) -> Result<Laplace, ParamError> {
        Scale::at_least(key, "scale", scale).map(Laplace)
    }

    /// The noise that makes a release of `values` numbers `epsilon`-private, where one unit moves their sum
    /// of absolute values by up to `sensitivity`. Rounding to the grid is accounted for. Infinite epsilon: none.
    pub fn calibrated(
        key: &str,
        epsilon: f64,
        sensitivity: f64,
        values: usize,
    ) -> Result<Laplace, ParamError> {
        if epsilon == f64::INFINITY {
            return Ok(Laplace::NONE);
        }
        let scale = sensitivity / ParamError::positive(key, epsilon)?;
        // Each of the values may be rounded by half a step, in either direction.
        let rounding = values as f64 * Grid::for_scale(scale).step();
        Self::of_scale(key, scale + rounding / epsilon)
    }

    /// There is no noise.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The scale b: noise x has a density proportional to exp(-|x| / b).
    pub fn scale(&self) -> f64 {
        self.0.value()
    }

    /// Distance between neighbouring outputs.
    pub fn step(&self) -> f64 {
        self.0.step()
    }

    /// `exact` with noise.
    pub fn noised(&self, exact: f64, rng: &mut Stream) -> f64 {
        self.0.noised(exact, |steps| discrete_laplace(rng, steps))
    }

    /// `exact` with one of `parts` shares of the noise: the shares of all add up to it.
    pub fn shared(&self, exact: f64, parts: u32, rng: &mut Stream) -> f64 {
        self.0.noised(exact, |steps| polya::share(rng, steps, parts))
    }

    /// One of `parts` shares of the noise, in steps of the grid.
    pub(crate) fn share(&self, parts: u32, rng: &mut Stream) -> i64 {
        if self.is_none() { 0 } else { polya::share(rng, self.0.steps(), parts) }
    }

    /// What noise is drawn on.
    pub(crate) fn grid(&self) -> Grid {
        self.0.grid()
    }

    /// The loss of releasing one sum of which only `present` of `parts` shares of the noise have arrived, rounding
    /// included.
    pub fn epsilon_of_shares(&self, sensitivity: f64, present: u32, parts: u32) -> f64 {
        if self.is_none() || present >= parts {
            return self.epsilon(sensitivity, 1);
        }
        // Rounding moves a whole number of steps by at most one more.
        let moved = libm::floor(sensitivity / self.step()) as u64 + 1;
        polya::epsilon_of(self.0.steps(), moved, present, parts)
    }

    /// The loss of releasing `values` numbers, rounding included.
    pub fn epsilon(&self, sensitivity: f64, values: usize) -> f64 {
        if self.is_none() {
            return if sensitivity == 0.0 { 0.0 } else { f64::INFINITY };
        }
        (sensitivity + values as f64 * self.step()) / self.scale()
    }
}

/// A release of one or more numbers with Laplace noise, as the accountant sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaplaceRelease {
    /// The noise of each number.
    pub noise: Laplace,
    /// How far one unit moves the numbers, in sum of absolute values.
    pub sensitivity: f64,
    /// How many numbers one unit can move.
    pub values: usize,
    /// What one unit is.
    pub unit: Cow<'static, str>,
    /// Who sees the release.
    pub observer: Cow<'static, str>,
    /// How it adds to earlier releases.
    pub composition: Composition,
}

impl LaplaceRelease {
    fn describe(&self) -> ReleaseFact {
        ReleaseFact {
            mechanism: if self.noise.is_none() { "none".into() } else { "discrete laplace".into() },
            scale: self.noise.scale(),
            sensitivity: self.sensitivity + self.values as f64 * self.noise.step(),
            unit: self.unit.clone(),
            observer: self.observer.clone(),
            noise: if self.noise.is_none() { Noise::None } else { Noise::Laplace },
            composition: self.composition,
        }
    }
}

impl Mechanism<f64> for LaplaceRelease {
    fn release(&mut self, exact: f64, noise: &mut Stream) -> f64 {
        self.noise.noised(exact, noise)
    }

    fn fact(&self) -> ReleaseFact {
        self.describe()
    }
}

impl Mechanism<Vec<f64>> for LaplaceRelease {
    fn release(&mut self, mut exact: Vec<f64>, noise: &mut Stream) -> Vec<f64> {
        for value in &mut exact {
            *value = self.noise.noised(*value, noise);
        }
        exact
    }

    fn fact(&self) -> ReleaseFact {
        self.describe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::discrete_laplace;
    use cahoots_core::{Keys, NodeId};

    fn rng(seed: u64) -> Stream {
        Keys::from_seed(seed).privacy(NodeId(0), 0)
    }

    /// Pearson's statistic against P(x) = (1 - q) / (1 + q) q^|x|, tails pooled.
    #[test]
    fn integers_come_with_their_exact_probabilities() {
        for scale in [1u64, 3, 10] {
            let (n, edge) = (200_000, 4 * scale as i64);
            let mut rng = rng(scale);
            let mut counts = vec![0u64; 2 * edge as usize + 3];
            for _ in 0..n {
                let x = discrete_laplace(&mut rng, scale).clamp(-edge - 1, edge + 1);
                counts[(x + edge + 1) as usize] += 1;
            }
            let q = libm::exp(-1.0 / scale as f64);
            let probability = |x: i64| {
                let mass = (1.0 - q) / (1.0 + q) * libm::pow(q, x.unsigned_abs() as f64);
                if x.abs() == edge + 1 { mass / (1.0 - q) } else { mass }
            };
            let statistic: f64 = (-edge - 1..=edge + 1)
                .zip(&counts)
                .map(|(x, &count)| {
                    let expected = n as f64 * probability(x);
                    (count as f64 - expected) * (count as f64 - expected) / expected
                })
                .sum();
            // Mean k, variance 2k: five standard deviations.
            let k = (counts.len() - 1) as f64;
            assert!((statistic - k).abs() < 5.0 * (2.0 * k).sqrt(), "scale {scale}: {statistic} for {k}");
        }
    }

    #[test]
    fn noise_of_a_small_scale_is_still_noise() {
        let noise = Laplace::of_scale("scale", 0.02).unwrap();
        let (mut rng, n) = (rng(4), 20_000);
        let draws: Vec<f64> = (0..n).map(|_| noise.noised(0.0, &mut rng)).collect();
        let mean = draws.iter().map(|x| x.abs()).sum::<f64>() / n as f64;
        // E|x| = b, with standard deviation b.
        assert!((mean - 0.02).abs() < 5.0 * 0.02 / (n as f64).sqrt(), "{mean}");
        assert!(draws.iter().filter(|x| **x == 0.0).count() < 3);
    }

    #[test]
    fn calibration_includes_the_rounding_and_states_what_it_gives() {
        for (epsilon, sensitivity, values) in [(0.1, 1.0, 1), (1.0, 2.0, 50), (5.0, 0.02, 7)] {
            let noise = Laplace::calibrated("dp_epsilon", epsilon, sensitivity, values).unwrap();
            let loss = noise.epsilon(sensitivity, values);
            assert!(loss <= epsilon && loss > 0.9999 * epsilon, "{loss} for {epsilon}");
        }
        assert_eq!(Laplace::calibrated("dp_epsilon", f64::INFINITY, 1.0, 1).unwrap(), Laplace::NONE);
        assert_eq!(Laplace::calibrated("dp_epsilon", -1.0, 1.0, 1).unwrap_err().key, "dp_epsilon");
    }

    #[test]
    fn without_noise_nothing_is_drawn_and_nothing_is_rounded() {
        let mut rng = rng(1);
        assert_eq!(Laplace::NONE.noised(0.1, &mut rng), 0.1);
        assert_eq!(rng.position(), 0);
        assert_eq!(Laplace::NONE.epsilon(1.0, 1), f64::INFINITY);
    }

    #[test]
    fn the_same_stream_gives_the_same_noise() {
        let noise = Laplace::of_scale("scale", 3.0).unwrap();
        let draw = |mut rng: Stream| (0..20).map(|_| noise.noised(1.0, &mut rng)).collect::<Vec<_>>();
        assert_eq!(draw(rng(8)), draw(rng(8)));
        assert_ne!(draw(rng(8)), draw(rng(9)));
    }
}
