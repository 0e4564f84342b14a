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
    debug_assert!(deviation > 0 && deviation < 1 << 24, "squares must fit");
    loop {
        let candidate = discrete_laplace(rng, deviation);
        let distance = candidate.unsigned_abs().abs_diff(deviation);
        // Beyond 2^30 steps the chance of acceptance is below e^-2000.
        if distance < 1 << 30 && bernoulli_exp(rng, distance * distance, 2 * deviation * deviation) {
            return candidate;
        }
    }
}
