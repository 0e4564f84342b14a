//! What honest data can give: bounds on the numbers in a peer's message, from the terms alone. Whoever merges asks
//! here first; nothing that data within the terms can lead to is refused, whatever its scale and its rounding.
//!
//! An upload says `n` (count), `G = X'X` (Gram), `b = X'r` (moment) and perhaps `c = X'1` (contexts), of contexts no
//! longer than L and rewards no larger than R. Then
//!
//! - `n` is at most [`MOST_OBSERVATIONS`], and all else is 0 where `n` is;
//! - no entry of G's diagonal is negative, and its trace is at most `n L^2`;
//! - `[X r]'[X r]` is positive semidefinite and `r'r <= n R^2`, so that `[[G, b], [b', n R^2]]` is positive
//!   semidefinite: G is a Gram matrix, b lies in its range, and `b'G^+ b <= n R^2` (Cauchy and Schwarz), from which
//!   `b_i^2 <= G_ii n R^2` and `|b| <= n L R` follow;
//! - `[[G, c], [c', n]]` is positive semidefinite, for the same reason.
//!
//! Sums are rounded: an entry `ij` of G by at most `n` units in the last place of `sqrt(G_ii G_jj)`, and b alike. So
//! the matrix is scaled to a unit diagonal, and its pivots may fall short of zero by what `d + 1` such entries in a
//! row can do. Where terms state no L and no R, features and rewards are still at most [`LARGEST`], because clients
//! refuse others.

mod noised;
#[cfg(test)]
mod tests;

pub use noised::{FALSE_REFUSAL, Noised, laplace_reach};

use cahoots_kernel::LARGEST;
use serde::{Deserialize, Serialize};

use crate::contract::setting::Setting;
use crate::error::{Misbehaviour, ParamError};
use crate::linalg::Symmetric;
use crate::stats::LinearStats;

/// Observations that one message may say it holds: a thousand a second for 35 years.
pub const MOST_OBSERVATIONS: u64 = 1 << 40;

/// Bounds may be exceeded by this part of them: what rounding can do to a sum of millions.
const ROUNDING: f64 = 1e-6;

/// What contexts and rewards there can be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plausible {
    /// L^2.
    norm2: f64,
    /// R.
    reward: f64,
}

impl Plausible {
    /// As the terms have it.
    pub fn of(setting: &Setting) -> Result<Plausible, ParamError> {
        let (low, high) = rewards(setting)?;
        let norm2 = match setting.context_norm {
            Some(norm) => square(ParamError::positive("context_norm", norm)?),
            None => setting.dim as f64 * square(LARGEST),
        };
        Ok(Plausible { norm2, reward: low.abs().max(high.abs()) })
    }

    /// Contexts and rewards that are clipped to the unit ball and to [-1, 1].
    pub const CLIPPED: Plausible = Plausible { norm2: 1.0, reward: 1.0 };

    /// The same contexts with rewards of at most this size.
    pub fn with_reward(self, reward: f64) -> Plausible {
        Plausible { reward, ..self }
    }

    /// R.
    pub fn reward(&self) -> f64 {
        self.reward
    }

    /// Refuses statistics that no observations can have led to. Values must be finite.
    pub fn check(&self, stats: &LinearStats) -> Result<(), Misbehaviour> {
        let n = observations(stats.count)?;
        if stats.count == 0 {
            let mut values = stats.gram.packed().iter().chain(&stats.moment).chain(&stats.contexts);
            return if values.all(|value| *value == 0.0) { Ok(()) } else { Err(from_nothing()) };
        }
        let dim = stats.dim();
        let diagonal: Vec<f64> = (0..dim).map(|i| stats.gram.get(i, i)).collect();
        if let Some(i) = diagonal.iter().position(|entry| *entry < 0.0) {
            return implausible(format!("a sum of squares of {} (feature {i})", diagonal[i]));
        }
        let (trace, most) = (diagonal.iter().sum::<f64>(), n * self.norm2);
        if !within(trace, most) {
            return implausible(format!(
                "a trace of {trace:e}, where {n} contexts can give {most:e} at most"
            ));
        }
        // Squares below the smallest number vanish, though their root does not.
        let scales: Vec<f64> =
            diagonal.iter().map(|entry| 1.0 / (entry + n * f64::MIN_POSITIVE).sqrt()).collect();
        let slack = (8.0 * (dim + 1) as f64 * (n + 64.0) * f64::EPSILON).min(1.0);
        let bordered = Bordered { gram: &stats.gram, scales: &scales, slack };
        bordered.check(&stats.moment, self.reward * n.sqrt(), || {
            let most = self.reward * n;
            format!("a moment that the contexts of its Gram matrix cannot have with {n} rewards (of {most:e} in sum)")
        })?;
        if stats.contexts.is_empty() {
            return Ok(());
        }
        bordered
            .check(&stats.contexts, n.sqrt(), || format!("a sum of contexts that {n} of them cannot have"))
    }
}

/// `[[G, v], [v', s^2]]`, scaled to a unit diagonal.
struct Bordered<'a> {
    gram: &'a Symmetric,
    scales: &'a [f64],
    slack: f64,
}

impl Bordered<'_> {
    fn check(&self, border: &[f64], size: f64, words: impl FnOnce() -> String) -> Result<(), Misbehaviour> {
        let dim = self.scales.len();
        let mut scaled = Vec::with_capacity(Symmetric::packed_len(dim + 1));
        let mut rest = self.gram.packed();
        for i in 0..dim {
            let (row, next) = rest.split_at(i + 1);
            rest = next;
            scaled.extend(row.iter().zip(self.scales).map(|(entry, scale)| entry * scale * self.scales[i]));
        }
        scaled.extend(border.iter().zip(self.scales).map(|(entry, scale)| entry * scale / size));
        scaled.push(1.0);
        definite(&mut scaled, dim, self.slack, words)
    }
}

/// Refuses a bordered matrix that is not positive semidefinite up to `slack`.
fn definite(
    bordered: &mut [f64],
    dim: usize,
    slack: f64,
    words: impl FnOnce() -> String,
) -> Result<(), Misbehaviour> {
    match cahoots_kernel::eliminate(bordered, dim + 1, slack) {
        Ok(()) => Ok(()),
        Err(failed) if failed.pivot < dim => {
            Err(Misbehaviour::Indefinite(format!("no contexts have this Gram matrix: {failed}")))
        }
        Err(_) => implausible(words()),
    }
}

/// The interval that rewards are in, as the terms have it.
pub fn rewards(setting: &Setting) -> Result<(f64, f64), ParamError> {
    match setting.reward_range {
        None => Ok((-LARGEST, LARGEST)),
        Some((low, high)) if low < high && low >= -LARGEST && high <= LARGEST => Ok((low, high)),
        Some((low, high)) => Err(ParamError::new(
            "reward_range",
            format!("must be the smallest and the largest reward, such as [0, 1], not [{low}, {high}]"),
        )),
    }
}

/// Refuses values, called `what`, of which one lies outside an interval by more than rounding.
pub fn check_values(what: &str, values: &[f64], (low, high): (f64, f64)) -> Result<(), Misbehaviour> {
    let rounding = ROUNDING * low.abs().max(high.abs());
    let (least, most) = (low - rounding, high + rounding);
    match values.iter().find(|value| !(**value >= least && **value <= most)) {
        None => Ok(()),
        Some(value) => implausible(format!("{what} of {value}, where all are between {low} and {high}")),
    }
}

/// A count that someone can have reached, as a number.
fn observations(count: u64) -> Result<f64, Misbehaviour> {
    if count > MOST_OBSERVATIONS {
        return implausible(format!(
            "{count} observations, where nobody makes more than {MOST_OBSERVATIONS}"
        ));
    }
    Ok(count as f64)
}

fn from_nothing() -> Misbehaviour {
    Misbehaviour::Implausible("sums of no observations that are not 0".into())
}

/// Up to rounding; what is no number is not.
fn within(value: f64, most: f64) -> bool {
    value <= most * (1.0 + ROUNDING)
}

fn implausible<T>(what: String) -> Result<T, Misbehaviour> {
    Err(Misbehaviour::Implausible(what))
}

fn square(value: f64) -> f64 {
    value * value
}
