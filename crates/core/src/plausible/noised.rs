//! The same for what was made private: exact sums within the terms, plus noise whose scale is public. Noise has no
//! bound, only tails: an honest message is refused with a probability of at most [`FALSE_REFUSAL`].

use super::{Plausible, definite, implausible, observations, within};
use crate::error::Misbehaviour;
use crate::stats::LinearStats;

/// How likely an honest message may be to be refused because of its noise.
pub const FALSE_REFUSAL: f64 = 1e-12;

/// Gaussian noise on linear statistics, as everyone knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noised {
    /// sigma: standard deviation of the noise in all of one message, off the diagonal and in the moment; sqrt 2 times
    /// as much is on the diagonal.
    pub deviation: f64,
    /// What is added to the diagonal on purpose, at most.
    pub shift: f64,
    /// Every observation's values may be rounded to multiples of this.
    pub step: f64,
}

impl Plausible {
    /// Refuses noised statistics that no observations can have led to, but for noise of this kind. Values must be
    /// finite.
    ///
    /// With p = [`FALSE_REFUSAL`] and m numbers in dimension d, each of the following fails with probability p / 4 at
    /// most (Gaussian tails: `P(|x| > t) <= 2 exp(-t^2 / 2 sigma^2)`):
    /// - numbers of the moment are within `n L R + t`, of the diagonal between `-sqrt 2 t` and
    ///   `n L^2 + shift + sqrt 2 t`, where `t = sigma sqrt(2 ln(8 m / p))`;
    /// - the trace is at most `n L^2 + d shift + sigma sqrt(2 d) sqrt(2 ln(8 / p))`;
    /// - `[[G, b], [b', n R^2]]` has no eigenvalue below `-sigma (2 sqrt(d + 1) + 2 sqrt(ln(4 / p)))`: a symmetric
    ///   Gaussian matrix has a least eigenvalue of `-2 sigma sqrt(d + 1)` at worst in expectation, and it is a
    ///   `sqrt 2 sigma`-Lipschitz function of standard normals.
    pub fn check_noised(&self, stats: &LinearStats, noise: &Noised) -> Result<(), Misbehaviour> {
        let n = observations(stats.count)?;
        let (dim, sigma) = (stats.dim(), noise.deviation);
        let (d, rounded) = (dim as f64, n * noise.step);
        let numbers = LinearStats::numbers(dim) as f64;
        let log = |parts: f64| libm::log(parts / FALSE_REFUSAL);
        let reach = sigma * (2.0 * log(8.0 * numbers)).sqrt() + rounded;
        let diagonal = std::f64::consts::SQRT_2 * reach;
        let most = n * self.norm2 + noise.shift + diagonal;
        let mut trace = 0.0;
        for i in 0..dim {
            let entry = stats.gram.get(i, i);
            trace += entry;
            if !(entry >= -diagonal && within(entry, most)) {
                return implausible(format!(
                    "a noised sum of squares of {entry:e}, where {n} observations give {most:e} at most"
                ));
            }
        }
        let most = n * self.norm2 + d * (noise.shift + rounded) + 2.0 * sigma * (d * log(8.0)).sqrt();
        if !within(trace, most) {
            return implausible(format!("a noised trace of {trace:e}, where {most:e} is the most"));
        }
        let most = n * self.norm2.sqrt() * self.reward + reach;
        if let Some(entry) = stats.moment.iter().find(|entry| !within(entry.abs(), most)) {
            return implausible(format!("a noised moment of {entry:e}, where {most:e} is the most"));
        }
        let slack = sigma * 2.0 * ((d + 1.0).sqrt() + log(4.0).sqrt())
            + (d + 1.0) * (rounded + 8.0 * f64::EPSILON * (n + 64.0));
        let mut bordered = [stats.gram.packed(), &stats.moment, &[n * self.reward * self.reward]].concat();
        definite(&mut bordered, dim, slack, || {
            format!("a noised moment that its Gram matrix cannot have with {n} observations")
        })
    }
}

/// How far a sum of `terms` independent Laplace draws of this scale b is from 0, but with a probability of
/// [`FALSE_REFUSAL`] in all of `values` such sums: `2 b ln(2 values (4/3)^terms / p)`, since `E exp(x / 2b) = 4/3`. It
/// holds for shares of such noise too, whose moment generating function is smaller.
pub fn laplace_reach(scale: f64, terms: u64, values: f64) -> f64 {
    2.0 * scale * (libm::log(2.0 * values / FALSE_REFUSAL) + terms as f64 * libm::log(4.0 / 3.0))
}
