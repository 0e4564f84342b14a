//! The chi-square laws, central and not, right in both tails.
//!
//! A non-central law is a Poisson mixture of central ones. All terms are
//! positive, and the recurrences run in the direction in which they add, so
//! small probabilities are as exact as large ones. Everything is `libm` in one
//! fixed order: who may share with whom does not depend on the host.

/// Beyond this mean of the mixture Sankaran's approximation takes over: its
/// error is below 1e-6 there, and the sum would have too many terms.
const LARGEST_MEAN: f64 = 5e7;

/// Below this, numbers begin to lose digits.
const SMALLEST: f64 = 1e-290;

/// P(X > x) for X chi-square with `df` degrees of freedom and this non-centrality.
pub fn survival(x: f64, df: f64, noncentrality: f64) -> f64 {
    let (y, a, mean) = (0.5 * x, 0.5 * df, 0.5 * noncentrality);
    if x <= 0.0 || !x.is_finite() {
        return if x.is_nan() { x } else { f64::from(x <= 0.0) };
    }
    if mean <= 0.0 {
        return upper_gamma(a, y);
    }
    if mean > LARGEST_MEAN {
        return 0.5 * libm::erfc(sankaran(x, df, noncentrality) * std::f64::consts::FRAC_1_SQRT_2);
    }
    // Tails grow with j: what lies twelve deviations below the mean adds nothing.
    let mut j = (mean - 12.0 * mean.sqrt()).floor().max(0.0);
    let (mut weight, mut tail) = (poisson(j, mean), upper_gamma(a + j, y));
    let mut step = poisson(a + j, y);
    let mut sum = 0.0;
    loop {
        let term = weight * tail;
        sum += term;
        j += 1.0;
        weight *= mean / j;
        tail += step;
        // Until it has all its digits, the step cannot follow from the last one.
        step = if step > SMALLEST { step * y / (a + j) } else { poisson(a + j, y) };
        let next = weight * tail;
        if j > mean && (is_negligible(term, next, sum) || weight == 0.0) {
            return (sum + next).min(1.0);
        }
    }
}

/// P(X <= x) for X chi-square with `df` degrees of freedom and this non-centrality.
pub fn cumulative(x: f64, df: f64, noncentrality: f64) -> f64 {
    let (y, a, mean) = (0.5 * x, 0.5 * df, 0.5 * noncentrality);
    if x <= 0.0 || !x.is_finite() {
        return if x.is_nan() { x } else { f64::from(x > 0.0) };
    }
    if mean <= 0.0 {
        return lower_gamma(a, y);
    }
    if mean > LARGEST_MEAN {
        return 0.5 * libm::erfc(-sankaran(x, df, noncentrality) * std::f64::consts::FRAC_1_SQRT_2);
    }
    // Heads fall with j: the mirror image of the above, from the far end down to 0.
    let mut j = (mean + 12.0 * mean.sqrt() + 30.0).ceil();
    let (mut weight, mut head) = (poisson(j, mean), lower_gamma(a + j, y));
    let mut step = 0.0;
    let mut sum = 0.0;
    loop {
        let term = weight * head;
        sum += term;
        if j == 0.0 {
            return sum.min(1.0);
        }
        weight *= j / mean;
        j -= 1.0;
        step = if step > SMALLEST { step * (a + j + 1.0) / y } else { poisson(a + j, y) };
        head += step;
        let next = weight * head;
        if j < mean && is_negligible(term, next, sum) {
            return (sum + next).min(1.0);
        }
    }
}

/// The x with P(X > x) = `tail`, to within rounding; for shortcuts and plans, never for a close call.
pub fn upper_quantile(tail: f64, df: f64, noncentrality: f64) -> f64 {
    let mut high = df + noncentrality + 1.0;
    while survival(high, df, noncentrality) > tail {
        high *= 2.0;
    }
    bisect(0.0, high, |x| survival(x, df, noncentrality) > tail)
}

/// The non-centrality at which P(X <= `x`) has fallen to `head`; 0 if it is lower from the start.
pub fn noncentrality_at(head: f64, x: f64, df: f64) -> f64 {
    let mut high = x + 1.0;
    while cumulative(x, df, high) > head {
        high *= 2.0;
    }
    bisect(0.0, high, |noncentrality| cumulative(x, df, noncentrality) > head)
}

/// Ratios of terms fall, so what is left is less than a geometric series.
fn is_negligible(term: f64, next: f64, sum: f64) -> bool {
    next < term && next / (1.0 - next / term) <= 1e-17 * sum
}

/// Where `below` turns from true to false.
fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Upper regularised incomplete gamma function Q(a, x), x > 0.
fn upper_gamma(a: f64, x: f64) -> f64 {
    if a <= 0.0 {
        0.0
    } else if x < a + 1.0 {
        1.0 - series(a, x)
    } else {
        fraction(a, x)
    }
}

/// Lower regularised incomplete gamma function P(a, x), x > 0.
fn lower_gamma(a: f64, x: f64) -> f64 {
    if a <= 0.0 {
        1.0
    } else if x < a + 1.0 {
        series(a, x)
    } else {
        1.0 - fraction(a, x)
    }
}

/// P(a, x) by its power series, for x below a + 1.
fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0, 1.0, a);
    while term > 1e-17 * sum {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    poisson(a, x) * sum
}

/// Q(a, x) by its continued fraction (Lentz), for x above a + 1.
fn fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut product = d;
    let mut i = 0.0;
    loop {
        i += 1.0;
        let numerator = -i * (i - a);
        b += 2.0;
        let denominator = numerator * d + b;
        d = 1.0 / if denominator.abs() < TINY { TINY } else { denominator };
        let ratio = b + numerator / c;
        c = if ratio.abs() < TINY { TINY } else { ratio };
        let change = c * d;
        product *= change;
        if (change - 1.0).abs() < 1e-16 || i > 1e7 || change.is_nan() {
            return poisson(a, x) * a * product;
        }
    }
}

/// x^a e^-x / Gamma(a + 1): a Poisson probability, without cancellation (Loader 2000).
fn poisson(a: f64, x: f64) -> f64 {
    if a == 0.0 {
        return libm::exp(-x);
    }
    libm::exp(-stirling_error(a) - deviance(a, x)) / (2.0 * std::f64::consts::PI * a).sqrt()
}

/// ln Gamma(a + 1) minus Stirling's formula.
fn stirling_error(a: f64) -> f64 {
    if a < 16.0 {
        let half_ln_tau = 0.918_938_533_204_672_8;
        return libm::lgamma(a + 1.0) - (a + 0.5) * libm::log(a) + a - half_ln_tau;
    }
    let square = 1.0 / (a * a);
    let inner = 1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0);
    (1.0 / 12.0 - square * (1.0 / 360.0 - square * inner)) / a
}

/// a ln(a / x) + x - a, also where both are close.
fn deviance(a: f64, x: f64) -> f64 {
    let difference = a - x;
    if difference.abs() >= 0.1 * (a + x) {
        return a * libm::log(a / x) + x - a;
    }
    let v = difference / (a + x);
    let (mut sum, mut power, mut odd) = (difference * v, 2.0 * a * v, 1.0);
    loop {
        power *= v * v;
        odd += 2.0;
        let next = sum + power / odd;
        if next == sum || next.is_nan() {
            return next;
        }
        sum = next;
    }
}

/// Sankaran's (1963) transformation to a standard normal.
pub(super) fn sankaran(x: f64, df: f64, noncentrality: f64) -> f64 {
    let (one, two, three) = (df + noncentrality, df + 2.0 * noncentrality, df + 3.0 * noncentrality);
    let h = 1.0 - 2.0 * one * three / (3.0 * two * two);
    let p = two / (one * one);
    let m = (h - 1.0) * (1.0 - 3.0 * h);
    let centre = 1.0 + h * p * (h - 1.0 - 0.5 * (2.0 - h) * m * p);
    (libm::pow(x / one, h) - centre) / (h * (2.0 * p).sqrt() * (1.0 + 0.5 * m * p))
}
