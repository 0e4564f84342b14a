//! What noisy sums are worth beside exact observations.
//!
//! Released are `G~ = G + N` and `b~ = b + n`, with `b = G theta + e`, e of variance `s^2 G` (rewards) and noise of known
//! variance `v` per entry. So `b~ = G~ theta + (e + n - N theta)`, whose variance is about `s^2 G + t^2 I` with
//! `t^2 = (1 + |theta|^2) v`: generalised least squares has precision `G (s^2 G + t^2 I)^-1 G`. In units of exact
//! observations, which have precision `G / s^2`, a direction with eigenvalue g counts as `g s^2 g / (s^2 g + t^2)`: all of
//! it where noise is small, next to nothing where it is not. Eigenvalues that noise has made negative count as 0. No
//! ridge has to grow with the noise.

use cahoots_core::LinearStats;
use cahoots_core::linalg::Eigen;

use super::rules::Weighing;

impl Weighing {
    /// The exact statistics that say as much as these noisy ones.
    pub(super) fn effective(&self, noisy: &LinearStats, variance: f64) -> LinearStats {
        if variance == 0.0 {
            return noisy.clone();
        }
        let eigen = Eigen::of(&noisy.gram);
        let (s2, t2) = (self.reward_variance, self.both * variance);
        let trust = |g: f64| s2 * g.max(0.0) / (s2 * g.max(0.0) + t2);
        let mut worth = noisy.emptied();
        worth.gram = eigen.with(|g| g.max(0.0) * trust(g));
        worth.moment = eigen.apply(trust, &noisy.moment).into();
        worth.count = noisy.count;
        worth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{Keys, NodeId, Symmetric};

    const WEIGHING: Weighing = Weighing { reward_variance: 0.25, both: 2.0, preference2: 1.0 };

    #[test]
    fn without_noise_all_of_it_counts_and_with_much_noise_nothing_does() {
        let mut stats = LinearStats::empty(2);
        (0..50).for_each(|_| stats.observe(&[0.6, 0.8], 0.5));
        assert_eq!(WEIGHING.effective(&stats, 0.0), stats);
        let little = WEIGHING.effective(&stats, 1e-9);
        assert!((little.gram.get(0, 0) - stats.gram.get(0, 0)).abs() < 1e-6);
        assert!((little.moment[1] - stats.moment[1]).abs() < 1e-6);
        let nothing = WEIGHING.effective(&stats, 1e9);
        assert!(nothing.gram.packed().iter().all(|entry| entry.abs() < 1e-5));
    }

    #[test]
    fn directions_that_noise_made_negative_count_as_nothing() {
        let mut stats = LinearStats::empty(2);
        stats.gram = Symmetric::from_packed(2, vec![40.0, 0.0, -7.0]).unwrap();
        stats.moment = vec![10.0, 3.0].into();
        let worth = WEIGHING.effective(&stats, 4.0);
        assert_eq!((worth.gram.get(1, 1), worth.moment[1]), (0.0, 0.0));
        // 40 * 10 / (10 + 8)
        assert!((worth.gram.get(0, 0) - 400.0 / 18.0).abs() < 1e-12);
        assert!(
            (worth.moment[0] / worth.gram.get(0, 0) - 0.25).abs() < 1e-12,
            "the estimate stays what it was"
        );
    }

    /// Errors of the estimate, in the model's own widths, have the size that the model says.
    #[test]
    fn the_model_is_as_sure_as_it_should_be() {
        let (dim, n, variance) = (3, 400, 9.0f64);
        let theta = [0.6, 0.0, -0.8];
        let mut squares = 0.0;
        let trials = 400;
        for seed in 0..trials {
            let mut rng = Keys::from_seed(seed).policy(NodeId(0), 0);
            let mut stats = LinearStats::empty(dim);
            for _ in 0..n {
                let x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
                let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
                let x: Vec<f64> = x.iter().map(|v| v / norm).collect();
                let mean: f64 = x.iter().zip(&theta).map(|(a, b)| a * b).sum();
                stats.observe(&x, mean + 0.5 * rng.normal());
            }
            let places = (0..dim).flat_map(|row| (0..=row).map(move |column| row == column));
            for (entry, diagonal) in stats.gram.packed_mut().iter_mut().zip(places) {
                *entry += variance.sqrt() * rng.normal() * if diagonal { 2f64.sqrt() } else { 1.0 };
            }
            stats.moment.iter_mut().for_each(|entry| *entry += variance.sqrt() * rng.normal());
            let worth = WEIGHING.effective(&stats, variance);
            let factor = cahoots_core::Factor::of(worth.gram.packed(), &worth.moment, 1e-6).unwrap();
            let (mean, width2) = factor.mean_and_width2(&[1.0, 0.0, 0.0]);
            squares += (mean - theta[0]) * (mean - theta[0]) / (0.25 * width2) / f64::from(trials as u32);
        }
        assert!((0.7..1.4).contains(&squares), "{squares}");
    }
}
