//! Discrete Gaussian noise, and what Gaussian noise costs.

use cahoots_core::{LinearStats, ParamError, Stream, Symmetric};
use serde::{Deserialize, Serialize};

use crate::exact::discrete_gaussian;
use crate::grid::Scale;

/// Gaussian noise on a power-of-two grid, or none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gaussian(Scale);

impl Gaussian {
    /// No noise.
    pub const NONE: Gaussian = Gaussian(Scale::NONE);

    /// Noise of at least this standard deviation (by less than one part in a million more); 0: none.
    pub fn of_deviation(key: &str, deviation: f64) -> Result<Gaussian, ParamError> {
        Scale::at_least(key, "deviation", deviation).map(Gaussian)
    }

    /// Noise with `factor` times the deviation, on the same grid: where both are added to parts of one
    /// statistic, a coarser grid for one of them would show the last bits of the other.
    pub fn wider(&self, factor: f64) -> Gaussian {
        Gaussian(self.0.wider(factor))
    }

    /// There is no noise.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Standard deviation.
    pub fn deviation(&self) -> f64 {
        self.0.value()
    }

    /// Distance between neighbouring outputs.
    pub fn step(&self) -> f64 {
        self.0.step()
    }

    /// A Gram matrix and a moment, rounded to the grid, with noise on each number: N = (N~ + N~') / sqrt 2 on the matrix,
    /// with independent entries N~ of this deviation, which is sqrt 2 times as much on the diagonal.
    pub fn perturb(&self, gram: &mut Symmetric, moment: &mut [f64], rng: &mut Stream) {
        if self.is_none() {
            return;
        }
        let (diagonal, dim) = (self.wider(std::f64::consts::SQRT_2), gram.dim());
        let places = (0..dim).flat_map(|row| (0..=row).map(move |column| row == column));
        for (entry, on_diagonal) in gram.packed_mut().iter_mut().zip(places) {
            *entry = if on_diagonal { &diagonal } else { self }.noised(*entry, rng);
        }
        moment.iter_mut().for_each(|entry| *entry = self.noised(*entry, rng));
    }

    /// Rounds a leaf of a sum to the grid, so that sums of leaves are exact and rounding gives nothing away.
    pub fn round(&self, leaf: &mut LinearStats) {
        let step = self.step();
        if step > 0.0 {
            let values = leaf.gram.packed_mut().iter_mut().chain(&mut leaf.moment);
            values.for_each(|value| *value = libm::rint(*value / step) * step);
        }
    }

    /// `exact` with noise.
    pub fn noised(&self, exact: f64, rng: &mut Stream) -> f64 {
        self.0.noised(exact, |steps| discrete_gaussian(rng, steps))
    }
}

/// The least delta for which Gaussian noise with sensitivity / deviation = `ratio` is (epsilon, delta)-private
/// (Balle and Wang 2018, Theorem 8). On a grid of a million steps per deviation the discrete law differs by
/// less than rounding.
pub fn delta_of(ratio: f64, epsilon: f64) -> f64 {
    if ratio == 0.0 {
        return 0.0;
    }
    let upper = normal_cdf(0.5 * ratio - epsilon / ratio);
    let lower = libm::exp(epsilon + ln_normal_cdf(-0.5 * ratio - epsilon / ratio));
    (upper - lower).max(0.0)
}

/// The least epsilon at `delta` for Gaussian noise with sensitivity / deviation = `ratio`.
pub fn epsilon_of(ratio: f64, delta: f64) -> f64 {
    if delta <= 0.0 {
        return if ratio == 0.0 { 0.0 } else { f64::INFINITY };
    }
    if !ratio.is_finite() {
        return f64::INFINITY;
    }
    if delta_of(ratio, 0.0) <= delta {
        return 0.0;
    }
    let mut high = 1.0;
    while delta_of(ratio, high) > delta {
        high *= 2.0;
    }
    bisect(0.0, high, |epsilon| delta_of(ratio, epsilon) > delta)
}

/// The largest sensitivity / deviation that is (epsilon, delta)-private.
pub fn ratio_of(epsilon: f64, delta: f64) -> f64 {
    let mut high = 1.0;
    while delta_of(high, epsilon) < delta {
        high *= 2.0;
    }
    // The lower end of the last interval: private for certain.
    let mut low = 0.0;
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if delta_of(middle, epsilon) <= delta {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The least epsilon at `delta` of a mechanism that is `rho`-zCDP (Canonne, Kamath and Steinke 2020,
/// Proposition 12): the best of all orders.
pub fn epsilon_of_zcdp(rho: f64, delta: f64) -> f64 {
    if rho == 0.0 {
        return 0.0;
    }
    if delta <= 0.0 || !rho.is_finite() {
        return f64::INFINITY;
    }
    let at = |log_order: f64| {
        let less = libm::exp(log_order);
        let order = 1.0 + less;
        order * rho - libm::log(order * delta) / less + libm::log1p(-1.0 / order)
    };
    // Unimodal in the logarithm of order - 1: ternary search.
    let (mut low, mut high) = (-20.0, 40.0);
    for _ in 0..200 {
        let third = (high - low) / 3.0;
        if at(low + third) < at(high - third) {
            high -= third;
        } else {
            low += third;
        }
    }
    at(0.5 * (low + high)).max(0.0)
}

/// The upper end of the last interval: `above` is false there.
fn bisect(mut low: f64, mut high: f64, above: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if above(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

fn ln_normal_cdf(x: f64) -> f64 {
    if x > -30.0 {
        libm::log(normal_cdf(x))
    } else {
        // Phi(x) = phi(x) / |x| (1 - 1/x^2 + 3/x^4 - ...)
        let square = x * x;
        let series = libm::log1p(-1.0 / square + 3.0 / (square * square));
        -0.5 * square - libm::log(-x) - 0.918_938_533_204_672_8 + series
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{Keys, NodeId};

    #[test]
    fn integers_come_with_their_exact_probabilities() {
        for deviation in [1u64, 4, 11] {
            let (n, edge) = (200_000, 3 * deviation as i64);
            let mut rng = Keys::from_seed(deviation).privacy(NodeId(0), 0);
            let mut counts = vec![0u64; 2 * edge as usize + 3];
            for _ in 0..n {
                let x = discrete_gaussian(&mut rng, deviation).clamp(-edge - 1, edge + 1);
                counts[(x + edge + 1) as usize] += 1;
            }
            let weight = |x: i64| libm::exp(-0.5 * libm::pow(x as f64 / deviation as f64, 2.0));
            let total: f64 = (-60 * deviation as i64..=60 * deviation as i64).map(weight).sum();
            let tail: f64 = (edge + 1..60 * deviation as i64).map(weight).sum();
            let statistic: f64 = (-edge - 1..=edge + 1)
                .zip(&counts)
                .map(|(x, &count)| {
                    let mass = if x.abs() == edge + 1 { tail } else { weight(x) };
                    let expected = n as f64 * mass / total;
                    (count as f64 - expected) * (count as f64 - expected) / expected
                })
                .sum();
            let k = (counts.len() - 1) as f64;
            assert!((statistic - k).abs() < 5.0 * (2.0 * k).sqrt(), "{deviation}: {statistic} for {k}");
        }
    }

    #[test]
    fn noise_on_the_fine_grid_has_its_moments() {
        let noise = Gaussian::of_deviation("sd", 6.87).unwrap();
        let (mut rng, n) = (Keys::from_seed(3).privacy(NodeId(0), 0), 50_000);
        let draws: Vec<f64> = (0..n).map(|_| noise.noised(0.0, &mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let square = draws.iter().map(|x| x * x).sum::<f64>() / n as f64;
        let variance = 6.87 * 6.87;
        assert!(mean.abs() < 5.0 * (variance / n as f64).sqrt());
        assert!((square - variance).abs() < 5.0 * variance * (2.0 / n as f64).sqrt());
    }

    /// sensitivity 2 sqrt(10), epsilon 1: the guide's table has 6.87 and 23.6.
    #[test]
    fn the_analytic_calibration_gives_the_known_scales() {
        let deviation = |delta| 2.0 * 10f64.sqrt() / ratio_of(1.0, delta);
        assert!((deviation(0.1) - 6.87).abs() < 0.01, "{}", deviation(0.1));
        assert!((deviation(1e-5) - 23.6).abs() < 0.05, "{}", deviation(1e-5));
        for (epsilon, delta) in [(0.1, 1e-6), (1.0, 0.1), (5.0, 1e-5), (40.0, 1e-9)] {
            let back = epsilon_of(ratio_of(epsilon, delta), delta);
            assert!((back - epsilon).abs() < 1e-6 * epsilon, "{epsilon}: {back}");
        }
    }

    #[test]
    fn zcdp_is_never_tighter_than_the_truth_and_close_to_it() {
        for (ratio, delta) in [(0.2, 1e-5), (1.0, 1e-5), (3.0, 0.01)] {
            let (exact, bound) = (epsilon_of(ratio, delta), epsilon_of_zcdp(0.5 * ratio * ratio, delta));
            assert!(bound >= exact && bound < 1.5 * exact + 0.1, "{ratio}: {exact} {bound}");
            // Never worse than the usual conversion.
            let rho = 0.5 * ratio * ratio;
            assert!(bound <= rho + 2.0 * (-rho * libm::log(delta)).sqrt());
        }
    }

    #[test]
    fn large_losses_are_numbers_too() {
        let epsilon = epsilon_of(60.0, 1e-5);
        assert!(epsilon > 1800.0 && epsilon < 2200.0, "{epsilon}");
        assert_eq!(epsilon_of(1.0, 0.0), f64::INFINITY);
        assert_eq!(epsilon_of(0.0, 0.0), 0.0);
    }
}
