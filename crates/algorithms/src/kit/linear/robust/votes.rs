//! One client's estimate as a vote: `W = J - J (A + J)^-1 J` is what it knows (A, in the coordinates of the caps) as if its
//! own parameter were off by a random effect of precision J. It never exceeds J, so that a vote's pull is bounded whatever
//! a client says; and one who knows little has little of a vote.

use cahoots_core::Factor;
use cahoots_core::linalg::{Symmetric, dot};

use super::caps::{VOTE_SCALE, form};

/// What is added to A to make it definite, as a part of J.
const SLACK: f64 = 1e-6;

/// The variance of the parameter that votes are held against, as a part of that of the median client's estimate: without
/// it, who knows more than all others would be held against their noise.
const REFERENCE: f64 = 0.125;

/// A client's vote.
pub(super) struct Vote {
    /// W.
    pub(super) weight: Symmetric,
    /// W times the client's estimate.
    pub(super) pull: Vec<f64>,
    /// The estimate's length in the norm of W, squared.
    length2: f64,
    /// What noise alone makes of the squared distance between the estimate and a good parameter, in units of its variance.
    expected: f64,
}

impl Vote {
    /// From T V T' and T b; none for statistics that are of no data.
    pub(super) fn of(gram: &Symmetric, moment: &[f64], scale: &[f64]) -> Option<Vote> {
        let dim = scale.len();
        let plus = |part: f64| {
            let mut sum = gram.clone();
            for (i, scale) in scale.iter().enumerate() {
                sum.packed_mut()[Symmetric::packed_len(i + 1) - 1] += part * scale;
            }
            sum
        };
        let (bare, smooth) = (plus(SLACK), plus(1.0));
        let (bare, smooth) =
            (Factor::of(bare.packed(), moment, 0.0).ok()?, Factor::of(smooth.packed(), moment, 0.0).ok()?);
        // G = (A + J)^-1 J, column by column: W = J - J G.
        let inverse = inverse(&smooth, dim);
        let mut weight = Symmetric::zero(dim);
        let places = (0..dim).flat_map(|row| (0..=row).map(move |column| (row, column)));
        for (entry, (row, column)) in weight.packed_mut().iter_mut().zip(places) {
            let own = if row == column { scale[row] } else { 0.0 };
            *entry = own - scale[row] * inverse.get(row, column) * scale[column];
        }
        // (A + J)^-1 b, and from it J (A + J)^-1 b.
        let pull: Vec<f64> = smooth.theta().iter().zip(scale).map(|(x, scale)| x * scale).collect();
        let estimate = bare.theta();
        let length2 = dot(&estimate, &pull);
        // tr(W (A + slack J)^-1): each direction that the client knows nothing of adds nothing.
        let bare = self::inverse(&bare, dim);
        let mut expected = 0.0;
        for i in 0..dim {
            // W (A + s J)^-1 = J (A + J)^-1 A (A + s J)^-1, whose trace is that of J [(A + J)^-1 - s J (A + J)^-1 (A + s J)^-1].
            let mut lost = 0.0;
            for j in 0..dim {
                lost += inverse.get(i, j) * SLACK * scale[j] * bare.get(j, i);
            }
            expected += scale[i] * (inverse.get(i, i) - lost);
        }
        // What is known of the reference is J / VOTE_SCALE / REFERENCE.
        let held: f64 = scale.iter().enumerate().map(|(i, scale)| weight.get(i, i) / scale).sum();
        let expected = expected + REFERENCE * VOTE_SCALE * held;
        let usable = length2.is_finite() && expected.is_finite() && expected > 0.0;
        (usable && pull.iter().all(|value| value.is_finite())).then_some(Vote {
            weight,
            pull,
            length2,
            expected,
        })
    }

    /// Squared distance from a parameter, in units of what noise of variance 1 explains.
    pub(super) fn misfit(&self, phi: &[f64]) -> f64 {
        let across = dot(phi, &self.pull);
        let distance2 = self.length2 - 2.0 * across + form(&self.weight, phi);
        distance2.max(0.0) / self.expected
    }

    /// The square of what the estimate itself is, in the same units: what rounding is a part of.
    pub(super) fn size(&self) -> f64 {
        self.length2.max(0.0) / self.expected
    }
}

/// `W' W` of a factor's inverse Cholesky factor.
fn inverse(factor: &Factor, dim: usize) -> Symmetric {
    let mut sum = Symmetric::zero(dim);
    for i in 0..dim {
        let row = factor.row(i);
        let mut rest = sum.packed_mut();
        for (column, value) in row.iter().enumerate() {
            let (line, next) = rest.split_at_mut(column + 1);
            rest = next;
            line.iter_mut().zip(row).for_each(|(to, other)| *to += value * other);
        }
    }
    sum
}
