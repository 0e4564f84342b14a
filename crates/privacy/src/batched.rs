//! Sums that grow, released whole after every batch, with the noise of a binary tree ([`tree`](crate::tree) has
//! pseudocode and argument): what [`correlated`](crate::correlated) does with less noise, and for few releases alone.
//!
//! ```text
//! batch k:   x_k = round(sum of the batch)                 leaf by leaf, so that sums of leaves stay on the grid
//!            S_k = x_1 + ... + x_k + noise of the nodes    as many as k has binary ones
//! ```
//!
//! One observation is in one leaf and that in one node per level: all releases together are one Gaussian mechanism, of
//! `sqrt(levels)` times what an observation moves a leaf by, rounding included. Adaptive leaves are covered, as the
//! noise is Gaussian (Denisov et al. 2022).
//!
//! Public: that, when and how often something is released, and how many observations are in it.

use cahoots_core::{Composition, LinearStats, Mechanism, Noise, ParamError, ReleaseFact, Stream};
use serde::{Deserialize, Serialize};

use crate::calibration::Budget;
use crate::gaussian::Gaussian;
use crate::tree::{Tree, levels_for};

/// What the noise is made for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batches {
    /// Noise of each node, off the diagonal and in the moment.
    pub noise: Gaussian,
    /// Batches, at most.
    pub releases: u32,
    /// How far one protected unit moves a leaf.
    pub sensitivity: f64,
}

impl Batches {
    /// Noise for a budget; none for an infinite epsilon.
    pub fn new(budget: &Budget, releases: u32, sensitivity: f64, dim: usize) -> Result<Batches, ParamError> {
        let levels = levels_for(releases.into());
        let values = levels as usize * LinearStats::numbers(dim);
        let noise = budget.gaussian(sensitivity * f64::from(levels).sqrt(), values)?;
        Ok(Batches { noise, releases, sensitivity })
    }

    /// Nodes that one observation is in, at most; and in one sum.
    pub fn levels(&self) -> u32 {
        levels_for(self.releases.into())
    }

    /// Variance of the noise in `S_k`, off the diagonal and in the moment: public.
    pub fn variance(&self, release: u32) -> f64 {
        let deviation = self.noise.deviation();
        deviation * deviation * f64::from(release.count_ones())
    }
}

/// One growing sum and the tree it is released through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batched {
    batches: Batches,
    tree: Tree,
    /// `x_1 + ... + x_k`, exact but for rounding.
    sum: LinearStats,
    releases: u32,
}

impl Batched {
    /// Nothing yet.
    pub fn new(batches: Batches, dim: usize) -> Batched {
        let tree = Tree::new(batches.noise, dim, batches.levels());
        Batched { batches, tree, sum: LinearStats::empty(dim), releases: 0 }
    }

    /// Releases so far.
    pub fn releases(&self) -> u32 {
        self.releases
    }

    /// The mechanism for the next batch; gives the whole sum. One must be left. `unit` and `observer` are for the
    /// accountant.
    pub fn mechanism(&mut self, unit: &'static str, observer: &'static str) -> BatchedRelease<'_> {
        BatchedRelease { batched: self, unit, observer }
    }
}

/// One release of a growing sum.
pub struct BatchedRelease<'a> {
    batched: &'a mut Batched,
    unit: &'static str,
    observer: &'static str,
}

impl Mechanism<LinearStats> for BatchedRelease<'_> {
    fn release(&mut self, mut leaf: LinearStats, rng: &mut Stream) -> LinearStats {
        let Batched { batches, tree, sum, releases } = &mut *self.batched;
        assert!(*releases < batches.releases, "a release more than the noise was made for");
        *releases += 1;
        batches.noise.round(&mut leaf);
        sum.merge(&leaf);
        let noise = tree.close(rng);
        let mut released = sum.clone();
        released.gram.add(&noise.gram);
        released.moment.iter_mut().zip(&noise.moment).for_each(|(value, noise)| *value += noise);
        released
    }

    fn fact(&self) -> ReleaseFact {
        let Batched { batches, sum, releases, .. } = &*self.batched;
        let Batches { noise, sensitivity, .. } = batches;
        // Every value may be rounded by half a step, in either direction.
        let rounding = (LinearStats::numbers(sum.dim()) as f64).sqrt() * noise.step();
        ReleaseFact {
            mechanism: "tree of discrete gaussians, released whole".into(),
            scale: noise.deviation(),
            sensitivity: (sensitivity + rounding) * f64::from(batches.levels()).sqrt(),
            unit: self.unit.into(),
            observer: self.observer.into(),
            noise: if noise.is_none() { Noise::None } else { Noise::Gaussian },
            composition: if *releases == 1 || noise.is_none() {
                // An observation is in one sum alone.
                Composition::Disjoint
            } else {
                Composition::Covered
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accountant::Accountant;
    use crate::calibration::{Calibration, sensitivity};
    use cahoots_core::{Keys, NodeId};

    fn batches(epsilon: f64, releases: u32, dim: usize) -> Batches {
        let budget = Budget { epsilon, delta: 1e-5, calibration: Calibration::Analytic };
        Batches::new(&budget, releases, sensitivity(0.5), dim).unwrap()
    }

    fn leaf(i: u32) -> LinearStats {
        let mut leaf = LinearStats::empty(2);
        leaf.observe(&[0.6, 0.1 * f64::from(i)], 0.5);
        leaf
    }

    fn rng(seed: u64) -> Stream {
        Keys::from_seed(seed).privacy(NodeId(0), 0)
    }

    #[test]
    fn what_is_released_is_the_sum_and_noise_of_the_stated_size() {
        let (trials, number) = (2000, 7);
        let mut squares = vec![0.0; number];
        for seed in 0..trials {
            let (mut rng, batches) = (rng(seed), batches(2.0, 7, 2));
            let (mut batched, mut exact) = (Batched::new(batches, 2), LinearStats::empty(2));
            for (i, square) in squares.iter_mut().enumerate() {
                exact.merge(&leaf(i as u32));
                let released = batched.mechanism("u", "o").release(leaf(i as u32), &mut rng);
                assert_eq!(released.count, exact.count);
                let error = released.moment[0] - exact.moment[0];
                *square += error * error / batches.variance(i as u32 + 1) / trials as f64;
            }
        }
        let error = (2.0 / trials as f64).sqrt();
        assert!(squares.iter().all(|ratio| (ratio - 1.0).abs() < 5.0 * error), "{squares:?}");
    }

    /// However many batches, rounding included, the accountant finds no more than was asked for, and nearly that.
    #[test]
    fn the_accountant_finds_what_was_asked_for() {
        for (epsilon, releases, dim) in [(1.0, 8, 20), (0.1, 300, 5), (10.0, 1, 1)] {
            let (mut accountant, mut rng) = (Accountant::default(), rng(2));
            let mut batched = Batched::new(batches(epsilon, releases, dim), dim);
            for _ in 0..releases {
                let mut mechanism = batched.mechanism("u", "o");
                mechanism.release(LinearStats::empty(dim), &mut rng);
                accountant.record(NodeId(0), &mechanism.fact());
            }
            let spent = accountant.spent(1e-5);
            assert_eq!(spent.len(), 1);
            let found = spent[0].epsilon;
            assert!(found <= epsilon && found > 0.995 * epsilon, "{found} of {epsilon}");
        }
    }

    /// Leaves are rounded before they are added up: what is released lies on the grid of the noise, whatever the data.
    #[test]
    fn the_last_bits_say_nothing() {
        let batches = batches(1.0, 3, 2);
        let (mut batched, mut rng) = (Batched::new(batches, 2), rng(3));
        for i in 0..3 {
            let released = batched.mechanism("u", "o").release(leaf(i), &mut rng);
            for value in released.gram.packed().iter().chain(&released.moment) {
                let steps = value / batches.noise.step();
                assert_eq!(steps, libm::rint(steps));
            }
        }
    }

    #[test]
    fn without_noise_sums_are_exact_and_nothing_is_drawn() {
        let (mut batched, mut rng) = (Batched::new(batches(f64::INFINITY, 3, 2), 2), rng(1));
        let mut exact = LinearStats::empty(2);
        for i in 0..3 {
            exact.merge(&leaf(i));
            assert_eq!(batched.mechanism("u", "o").release(leaf(i), &mut rng), exact);
        }
        assert_eq!(rng.position(), 0);
    }

    #[test]
    #[should_panic(expected = "a release more than the noise was made for")]
    fn nothing_is_released_beyond_the_last_batch() {
        // Two levels have room for three.
        let mut batched = Batched::new(batches(1.0, 2, 2), 2);
        for i in 0..3 {
            batched.mechanism("u", "o").release(leaf(i), &mut rng(1));
        }
    }
}
