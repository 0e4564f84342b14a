//! Noise that is nothing much on its own and Laplace in sum: the difference of two negative binomial draws
//! of shape 1/N. N of them add up to the difference of two geometric draws, which is discrete Laplace: the
//! same on a grid as differences of Gamma(1/N) draws are on the line.

use cahoots_core::Stream;

/// One of `parts` shares of discrete Laplace noise of this scale, in steps of the grid.
pub(super) fn share(scale: f64, parts: u32, rng: &mut Stream) -> i64 {
    let shape = 1.0 / f64::from(parts);
    negative_binomial(shape, scale, rng) - negative_binomial(shape, scale, rng)
}

/// Negative binomial of any shape, with q = exp(-1 / scale): a Poisson number of logarithmic draws.
fn negative_binomial(shape: f64, scale: f64, rng: &mut Stream) -> i64 {
    // ln(1 - q), without loss where q is close to 1.
    let log = libm::log(-libm::expm1(-1.0 / scale));
    let draws = poisson(-shape * log, rng);
    (0..draws).map(|_| logarithmic(scale, log, rng)).sum()
}

/// Poisson of a small mean, by exponential gaps.
fn poisson(mean: f64, rng: &mut Stream) -> u64 {
    let (mut count, mut left) = (0, mean);
    loop {
        left += libm::log(1.0 - rng.uniform());
        if left < 0.0 {
            return count;
        }
        count += 1;
    }
}

/// P(k) proportional to q^k / k: given U, geometric with probability r = 1 - (1 - q)^U to go on (Kemp 1981).
fn logarithmic(scale: f64, log: f64, rng: &mut Stream) -> i64 {
    let place = 1.0 - rng.uniform();
    if place >= libm::exp(-1.0 / scale) {
        return 1;
    }
    let stop = libm::exp(log * rng.uniform());
    let go_on = 1.0 - stop;
    if place <= go_on * go_on {
        (1.0 + libm::log(place) / libm::log1p(-stop)).floor() as i64
    } else if place >= go_on {
        1
    } else {
        2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{Keys, NodeId};

    /// Shares of `parts` clients add up to discrete Laplace noise: moments and tail.
    #[test]
    fn shares_add_up_to_laplace_noise() {
        for (scale, parts) in [(3.0, 1), (3.0, 2), (1e6, 7), (1e6, 50)] {
            let mut rng = Keys::from_seed(5).privacy(NodeId(0), 0);
            let n = 20_000;
            let sums: Vec<f64> = (0..n)
                .map(|_| (0..parts).map(|_| share(scale, parts, &mut rng)).sum::<i64>() as f64)
                .collect();
            let q = libm::exp(-1.0 / scale);
            // Discrete Laplace: variance 2 q / (1 - q)^2, and P(|x| >= k) = 2 q^k / (1 + q).
            let variance = 2.0 * q / ((1.0 - q) * (1.0 - q));
            let square = sums.iter().map(|x| x * x).sum::<f64>() / n as f64;
            // A Laplace square has a standard deviation of sqrt(5) times its mean.
            assert!((square / variance - 1.0).abs() < 5.0 * (5.0 / n as f64).sqrt(), "{scale} {parts}");
            for edge in [1.0, 2.0, 4.0] {
                let k = (edge * scale).ceil();
                let tail = 2.0 * libm::exp(-k / scale) / (1.0 + q);
                let seen = sums.iter().filter(|x| x.abs() >= k).count() as f64 / n as f64;
                let error = (tail * (1.0 - tail) / n as f64).sqrt();
                assert!((seen - tail).abs() < 5.0 * error, "{scale} {parts} {edge}: {seen} {tail}");
            }
        }
    }

    #[test]
    fn one_share_of_many_is_mostly_nothing() {
        let mut rng = Keys::from_seed(6).privacy(NodeId(0), 0);
        let n = 5_000;
        let zeros = (0..n).filter(|_| share(1e6, 50, &mut rng) == 0).count() as f64 / n as f64;
        // Both numbers of draws are 0 with probability exp(-2 ln(1e6) / 50).
        let expected = libm::exp(-2.0 * libm::log(1e6) / 50.0);
        assert!((zeros - expected).abs() < 5.0 * (expected * (1.0 - expected) / n as f64).sqrt(), "{zeros}");
    }
}
