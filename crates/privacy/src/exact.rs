//! Exact draws from integer arithmetic alone (Canonne, Kamath and Steinke, *The Discrete Gaussian for
//! Differential Privacy*, 2020). A textbook inverse CDF on floats leaks through its rounding (Mironov 2012).

use cahoots_core::Stream;

/// True with probability `numerator / denominator`, which must be at most 1.
pub fn bernoulli(rng: &mut Stream, numerator: u64, denominator: u64) -> bool {
    rng.below(denominator) < numerator
}

/// True with probability `exp(-numerator / denominator)`: their Algorithm 1.
pub fn bernoulli_exp(rng: &mut Stream, numerator: u64, denominator: u64) -> bool {
    for _ in 0..numerator / denominator {
        if !bernoulli_exp_of_fraction(rng, 1, 1) {
            return false;
        }
    }
    bernoulli_exp_of_fraction(rng, numerator % denominator, denominator)
}

/// The alternating series of exp(-x), 0 <= x <= 1, as a race of coins.
fn bernoulli_exp_of_fraction(rng: &mut Stream, numerator: u64, denominator: u64) -> bool {
    let mut k = 1;
    loop {
        // Coin k is reached with probability below 1 / (k - 1)!: no product overflows in the life of a universe.
        let Some(product) = denominator.checked_mul(k) else { return k % 2 == 1 };
        if !bernoulli(rng, numerator, product) {
            return k % 2 == 1;
        }
        k += 1;
    }
}

/// True with probability 2/e = 1 - 1/3 + 1/12 - 1/60 + ...: each term is the one before times 1/3, 1/4, 1/5, ..., so
/// that the same race of coins decides it.
pub fn bernoulli_two_over_e(rng: &mut Stream) -> bool {
    let mut k = 3;
    while bernoulli(rng, 1, k) {
        k += 1;
    }
    k % 2 == 1
}

/// A Poisson number of mean 1. A geometric candidate n has probability 2^-(n+1); it is taken with probability
/// 2^(n-1) / n!, which leaves 1 / (4 n!).
pub fn poisson_of_one(rng: &mut Stream) -> u64 {
    loop {
        let mut candidate = 0;
        while bernoulli(rng, 1, 2) {
            candidate += 1;
        }
        let taken = match candidate {
            0 => bernoulli(rng, 1, 2),
            _ => (3..=candidate).all(|i| bernoulli(rng, 2, i)),
        };
        if taken {
            return candidate;
        }
    }
}

/// An integer with probability proportional to `exp(-|x| / scale)`: their Algorithm 2.
pub fn discrete_laplace(rng: &mut Stream, scale: u64) -> i64 {
    loop {
        let offset = rng.below(scale);
        if !bernoulli_exp(rng, offset, scale) {
            continue;
        }
        let mut times = 0;
        while bernoulli_exp_of_fraction(rng, 1, 1) {
            times += 1;
        }
        let magnitude = (offset + scale * times) as i64;
        let negative = bernoulli(rng, 1, 2);
        if !(negative && magnitude == 0) {
            return if negative { -magnitude } else { magnitude };
        }
    }
}

/// An integer with probability proportional to `exp(-x^2 / (2 deviation^2))`: their Algorithm 3, by
/// rejection from a discrete Laplace of the same scale.
pub fn discrete_gaussian(rng: &mut Stream, deviation: u64) -> i64 {
    debug_assert!(deviation > 0 && deviation < 1 << 26, "squares must fit");
    loop {
        let candidate = discrete_laplace(rng, deviation);
        let distance = candidate.unsigned_abs().abs_diff(deviation);
        // Beyond 2^30 steps, 16 deviations at least, the chance of acceptance is below e^-100.
        if distance < 1 << 30 && bernoulli_exp(rng, distance * distance, 2 * deviation * deviation) {
            return candidate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{Keys, NodeId};

    #[test]
    fn the_coin_of_two_over_e_and_poisson_numbers_have_their_probabilities() {
        let mut rng = Keys::from_seed(3).privacy(NodeId(0), 0);
        let n = 200_000;
        let deviates =
            |seen: usize, p: f64| (seen as f64 - n as f64 * p).abs() / (n as f64 * p * (1.0 - p)).sqrt();
        let heads = (0..n).filter(|_| bernoulli_two_over_e(&mut rng)).count();
        assert!(deviates(heads, 2.0 * libm::exp(-1.0)) < 5.0, "{heads}");
        let draws: Vec<u64> = (0..n).map(|_| poisson_of_one(&mut rng)).collect();
        let mut p = libm::exp(-1.0);
        for k in 0..6 {
            let seen = draws.iter().filter(|draw| **draw == k).count();
            assert!(deviates(seen, p) < 5.0, "{k}: {seen}");
            p /= (k + 1) as f64;
        }
    }
}
