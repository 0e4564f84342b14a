//! Sums that grow, released a stated number of times, with noise that is correlated over the releases: the square
//! root of summation (Henzinger, Upadhyay and Upadhyay 2023; Fichtenberger, Henzinger and Upadhyay 2023).
//!
//! # The mechanism
//! Leaf j, `x_j`, holds what came between release j - 1 and release j. Summation is the lower triangular matrix of
//! ones; its square root R is Toeplitz with `c_j = binom(2j, j) / 4^j` on diagonal j.
//!
//! ```text
//! release k:  y_k = round(sum over j <= k of c_(k-j) x_j) + z_k        z_k discrete Gaussian, new
//!             S_k = sum over j <= k of c_(k-j) y_j                     what is sent
//! ```
//!
//! # Why it is private
//! `(y_1, ..., y_K)` is `R x` on a grid plus independent noise, a Gaussian mechanism; `S = R y` is computed from it
//! alone. One observation is in one leaf, so it moves `R x` by a column of R, whose norm is at most
//! `|c| = sqrt(sum over j < K of c_j^2)`, times its own size ([`sensitivity`](crate::calibration::sensitivity)); rounding moves each of the K times `m`
//! numbers by up to one step more. Adaptive leaves are covered, as the noise is Gaussian (Denisov et al. 2022).
//!
//! Public: that, when and how often something is released, and how many observations are in it.

use cahoots_core::{Composition, LinearStats, Mechanism, Noise, ParamError, ReleaseFact, Stream};
use serde::{Deserialize, Serialize};

use crate::calibration::Budget;
use crate::gaussian::Gaussian;

/// `c_0, ..., c_(n-1)`.
pub fn coefficients(n: usize) -> impl Iterator<Item = f64> {
    (0..n).scan(1.0, |c, j| {
        let now = *c;
        *c *= (2 * j + 1) as f64 / (2 * j + 2) as f64;
        Some(now)
    })
}

/// `sum over j < n of c_j^2`: the squared norm of a column of R, and of its last row.
pub fn squared_norm(n: usize) -> f64 {
    coefficients(n).map(|c| c * c).sum()
}

/// What the noise is made for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Noise of each `y_k`, off the diagonal and in the moment.
    pub noise: Gaussian,
    /// Releases, at most.
    pub releases: u32,
    /// How far one protected unit moves what is released once.
    pub sensitivity: f64,
}

impl Schedule {
    /// Noise for a budget; none for an infinite epsilon.
    pub fn new(budget: &Budget, releases: u32, sensitivity: f64, dim: usize) -> Result<Schedule, ParamError> {
        let norm = squared_norm(releases as usize).sqrt();
        let values = releases as usize * LinearStats::numbers(dim);
        let noise = budget.gaussian(sensitivity * norm, values)?;
        Ok(Schedule { noise, releases, sensitivity })
    }

    /// Variance of the noise in `S_k`, off the diagonal and in the moment: public.
    pub fn variance(&self, release: u32) -> f64 {
        let deviation = self.noise.deviation();
        deviation * deviation * squared_norm(release as usize)
    }
}

/// One growing sum and what was released of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlated {
    schedule: Schedule,
    /// `x_1, ..., x_k`, exact.
    leaves: Vec<LinearStats>,
    /// `y_1, ..., y_k`, released.
    released: Vec<LinearStats>,
}

impl Correlated {
    /// Nothing yet.
    pub fn new(schedule: Schedule) -> Correlated {
        Correlated { schedule, leaves: Vec::new(), released: Vec::new() }
    }

    /// Releases so far.
    pub fn releases(&self) -> u32 {
        self.leaves.len() as u32
    }

    /// No release is left.
    pub fn is_used_up(&self) -> bool {
        self.releases() >= self.schedule.releases
    }

    /// The sum as it was released for the `number`-th time.
    pub fn sum(&self, number: u32) -> Option<LinearStats> {
        let parts = self.released.get(..number as usize)?;
        (!parts.is_empty()).then(|| convolve(parts))
    }

    /// The mechanism for the next leaf; gives the whole sum. One must be left. `unit` and `observer` are for the
    /// accountant.
    pub fn mechanism(&mut self, unit: &'static str, observer: &'static str) -> CorrelatedRelease<'_> {
        CorrelatedRelease { sum: self, unit, observer }
    }
}

/// `sum over j of c_(n-1-j) parts_j`, in fixed order; counts are added up.
fn convolve(parts: &[LinearStats]) -> LinearStats {
    let mut sum = parts[0].emptied();
    let weights: Vec<f64> = coefficients(parts.len()).collect();
    for (part, weight) in parts.iter().zip(weights.iter().rev()) {
        let values = sum.gram.packed_mut().iter_mut().zip(part.gram.packed());
        values.for_each(|(to, value)| *to += weight * value);
        sum.moment.iter_mut().zip(&part.moment).for_each(|(to, value)| *to += weight * value);
        sum.count += part.count;
    }
    sum
}

/// One release of a growing sum.
pub struct CorrelatedRelease<'a> {
    sum: &'a mut Correlated,
    unit: &'static str,
    observer: &'static str,
}

impl Mechanism<LinearStats> for CorrelatedRelease<'_> {
    fn release(&mut self, leaf: LinearStats, rng: &mut Stream) -> LinearStats {
        let Correlated { schedule: Schedule { noise, releases, .. }, leaves, released } = &mut *self.sum;
        assert!(leaves.len() < *releases as usize, "a release more than the noise was made for");
        leaves.push(leaf);
        let mut row = convolve(leaves);
        row.count = leaves[leaves.len() - 1].count;
        noise.perturb(&mut row.gram, &mut row.moment, rng);
        released.push(row);
        convolve(released)
    }

    fn fact(&self) -> ReleaseFact {
        let Schedule { noise, releases, sensitivity } = &self.sum.schedule;
        let dim = self.sum.leaves[0].dim();
        let values = *releases as usize * LinearStats::numbers(dim);
        let first = self.sum.leaves.len() == 1;
        ReleaseFact {
            mechanism: "discrete gaussians, square root of summation".into(),
            scale: noise.deviation(),
            sensitivity: sensitivity * squared_norm(*releases as usize).sqrt()
                + (values as f64).sqrt() * noise.step(),
            unit: self.unit.into(),
            observer: self.observer.into(),
            noise: if noise.is_none() { Noise::None } else { Noise::Gaussian },
            composition: if first || noise.is_none() {
                // An observation is in one sum alone.
                Composition::Disjoint
            } else {
                Composition::Covered
            },
        }
    }
}

/// Each observation with noise of its own, before anybody else sees it: for those who trust nobody.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Randomised {
    noise: Gaussian,
    sensitivity: f64,
}

impl Randomised {
    /// Noise for a budget.
    pub fn new(budget: &Budget, sensitivity: f64, dim: usize) -> Result<Randomised, ParamError> {
        let noise = budget.gaussian(sensitivity, LinearStats::numbers(dim))?;
        Ok(Randomised { noise, sensitivity })
    }

    /// Variance of the noise in a sum of so many observations.
    pub fn variance(&self, observations: u64) -> f64 {
        self.noise.deviation() * self.noise.deviation() * observations as f64
    }

    /// The noise of one observation.
    pub fn noise(&self) -> &Gaussian {
        &self.noise
    }
}

/// The mechanism: one observation's statistics.
pub struct RandomisedRelease<'a> {
    /// Its noise.
    pub randomised: &'a Randomised,
    /// For the accountant.
    pub unit: &'static str,
    /// For the accountant.
    pub observer: &'static str,
    /// Its numbers.
    pub dim: usize,
}

impl Mechanism<LinearStats> for RandomisedRelease<'_> {
    fn release(&mut self, mut exact: LinearStats, rng: &mut Stream) -> LinearStats {
        self.randomised.noise.perturb(&mut exact.gram, &mut exact.moment, rng);
        exact
    }

    fn fact(&self) -> ReleaseFact {
        let Randomised { noise, sensitivity } = self.randomised;
        let values = LinearStats::numbers(self.dim) as f64;
        ReleaseFact {
            mechanism: "discrete gaussian on each observation".into(),
            scale: noise.deviation(),
            sensitivity: sensitivity + values.sqrt() * noise.step(),
            unit: self.unit.into(),
            observer: self.observer.into(),
            noise: if noise.is_none() { Noise::None } else { Noise::Gaussian },
            composition: Composition::Disjoint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accountant::Accountant;
    use crate::calibration::{Calibration, sensitivity};
    use cahoots_core::{Keys, NodeId};

    fn budget(epsilon: f64) -> Budget {
        Budget { epsilon, delta: 1e-5, calibration: Calibration::Analytic }
    }

    fn leaf(i: u32) -> LinearStats {
        let mut leaf = LinearStats::empty(2);
        leaf.observe(&[0.1 * f64::from(i), 0.5], 0.7);
        leaf
    }

    /// R R is summation: 1, 1, 1, ...
    #[test]
    fn the_coefficients_are_those_of_a_square_root_of_summation() {
        let c: Vec<f64> = coefficients(17).collect();
        assert_eq!(c[..4], [1.0, 0.5, 0.375, 0.3125]);
        for n in 0..17 {
            let product: f64 = (0..=n).map(|j| c[j] * c[n - j]).sum();
            assert!((product - 1.0).abs() < 1e-14, "{n}: {product}");
        }
    }

    /// The reading guide: 8.0 at epsilon 1, delta 1e-5, eight releases, rewards within 1/2.
    #[test]
    fn the_noise_in_a_sum_is_what_the_factorisation_promises() {
        let schedule = Schedule::new(&budget(1.0), 8, sensitivity(0.5), 20).unwrap();
        assert!((schedule.variance(8).sqrt() - 8.0).abs() < 0.05, "{}", schedule.variance(8).sqrt());
        let trials = 2000;
        let mut squares = [0.0; 4];
        for seed in 0..trials {
            let mut rng = Keys::from_seed(seed).privacy(NodeId(0), 0);
            let schedule = Schedule::new(&budget(5.0), 4, 2.0, 1).unwrap();
            let mut sum = Correlated::new(schedule);
            for (k, square) in squares.iter_mut().enumerate() {
                let released = sum.mechanism("u", "o").release(LinearStats::empty(1), &mut rng);
                let ratio = released.moment[0] * released.moment[0] / schedule.variance(k as u32 + 1);
                *square += ratio / trials as f64;
            }
        }
        let error = (2.0 / trials as f64).sqrt();
        assert!(squares.iter().all(|ratio| (ratio - 1.0).abs() < 5.0 * error), "{squares:?}");
    }

    #[test]
    fn what_is_released_is_the_sum_and_noise_of_the_stated_size() {
        let schedule = Schedule::new(&budget(1e6), 5, 2.0, 2).unwrap();
        let (mut sum, mut exact) = (Correlated::new(schedule), LinearStats::empty(2));
        let mut rng = Keys::from_seed(1).privacy(NodeId(0), 0);
        for i in 0..5 {
            exact.merge(&leaf(i));
            let released = sum.mechanism("u", "o").release(leaf(i), &mut rng);
            assert_eq!(released.count, exact.count);
            for (a, b) in released.moment.iter().zip(&exact.moment) {
                assert!((a - b).abs() < 8.0 * schedule.variance(5).sqrt(), "{a} {b}");
            }
        }
        assert!(sum.is_used_up());
    }

    #[test]
    #[should_panic(expected = "a release more than the noise was made for")]
    fn nothing_is_released_beyond_the_schedule() {
        let mut sum = Correlated::new(Schedule::new(&budget(1.0), 1, 2.0, 2).unwrap());
        for i in 0..2 {
            sum.mechanism("u", "o").release(leaf(i), &mut Keys::from_seed(1).privacy(NodeId(0), 0));
        }
    }

    /// Whatever is planned, rounding included, the accountant finds no more than was asked for, and nearly that.
    #[test]
    fn the_accountant_finds_what_was_asked_for() {
        for (epsilon, releases, dim) in [(1.0, 8, 20), (0.1, 17, 50), (10.0, 1, 1)] {
            let mut accountant = Accountant::default();
            let mut rng = Keys::from_seed(2).privacy(NodeId(0), 0);
            for _stream in 0..2 {
                let mut sum = Correlated::new(Schedule::new(&budget(epsilon), releases, 2.0, dim).unwrap());
                for _ in 0..releases {
                    let mut mechanism = sum.mechanism("u", "o");
                    mechanism.release(LinearStats::empty(dim), &mut rng);
                    accountant.record(NodeId(0), &mechanism.fact());
                }
            }
            let randomised = Randomised::new(&budget(epsilon), 2.0, dim).unwrap();
            let mut mechanism = RandomisedRelease { randomised: &randomised, unit: "v", observer: "o", dim };
            mechanism.release(LinearStats::empty(dim), &mut rng);
            accountant.record(NodeId(1), &mechanism.fact());
            for spent in accountant.spent(1e-5) {
                // Steps are up to half as long as the calibration allows for.
                assert!(spent.epsilon <= epsilon && spent.epsilon > 0.995 * epsilon, "{spent:?}");
            }
        }
    }

    #[test]
    fn without_noise_sums_are_exact_and_nothing_is_drawn() {
        let schedule = Schedule::new(&budget(f64::INFINITY), 3, 2.0, 2).unwrap();
        let (mut sum, mut exact) = (Correlated::new(schedule), LinearStats::empty(2));
        let mut rng = Keys::from_seed(1).privacy(NodeId(0), 0);
        for i in 0..3 {
            exact.merge(&leaf(i));
            let released = sum.mechanism("u", "o").release(leaf(i), &mut rng);
            assert!(released.moment.iter().zip(&exact.moment).all(|(a, b)| (a - b).abs() < 1e-12));
        }
        assert_eq!(rng.position(), 0);
    }
}
