//! Exact intervals of rates, and quantiles of the normal law.

use statrs::function::beta::beta_reg;

/// How often what is certified may be wrong.
pub const DOUBT: f64 = 0.05;

/// The exact 95% interval of a rate (Clopper and Pearson 1934).
pub fn clopper_pearson(hits: usize, of: usize) -> (f64, f64) {
    interval(hits, of, DOUBT)
}

/// The exact interval of a rate that fails with probability `doubt`, half of it on either side.
pub fn interval(hits: usize, of: usize, doubt: f64) -> (f64, f64) {
    let (k, n) = (hits as f64, of as f64);
    let low = if hits == 0 { 0.0 } else { beta_quantile(0.5 * doubt, k, n - k + 1.0) };
    let high = if hits == of { 1.0 } else { beta_quantile(1.0 - 0.5 * doubt, k + 1.0, n - k) };
    (low, high)
}

fn beta_quantile(probability: f64, a: f64, b: f64) -> f64 {
    bisect(0.0, 1.0, |x| beta_reg(a, b, x) < probability)
}

/// Phi^-1.
pub fn normal_quantile(probability: f64) -> f64 {
    if probability <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    bisect(-40.0, 40.0, |x| 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2) < probability)
}

fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_the_known_ones() {
        // 4 of 20: R's binom.test gives 0.0573 to 0.4366.
        let (low, high) = clopper_pearson(4, 20);
        assert!((low - 0.057_334).abs() < 1e-5 && (high - 0.436_614).abs() < 1e-5, "{low} {high}");
        assert_eq!(clopper_pearson(0, 10).0, 0.0);
        assert_eq!(clopper_pearson(10, 10).1, 1.0);
    }

    #[test]
    fn quantiles_are_the_known_ones() {
        assert!((normal_quantile(0.975) - 1.959_964).abs() < 1e-6);
        assert!((normal_quantile(1e-9) + 5.997_807).abs() < 1e-5);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
    }
}
