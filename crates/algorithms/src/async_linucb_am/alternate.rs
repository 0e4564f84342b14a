//! Eq. (7): how much of a reward is the global part's, how much the local one's.
//!
//! Both estimates are projected onto the unit ball. On one new observation only
//! the partial reward changes from turn to turn, and an estimate is linear in it:
//! `(V + x x')^- (b + x r) = p + r q` with `p`, `q` solved for once. All that the
//! other side sees of it is one number, so that a turn costs no vector at all.

use cahoots_core::LinearStats;
use cahoots_core::linalg::{PseudoInverse, dot};
use serde::{Deserialize, Serialize};

/// When to stop, and who begins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Alternation {
    /// Turns at most, both estimates in each.
    pub iterations: u32,
    /// Turns end when they move a prediction by no more than this.
    pub tolerance: f64,
    /// The global estimate is made first, from the local ridge estimate (the
    /// authors' code), not second and from itself (the paper).
    pub global_first: bool,
}

/// A reward as each part sees it once the other's share is taken off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Partial {
    pub global: f64,
    pub local: f64,
}

impl Alternation {
    /// Eq. (7). `ridge_local` is what the local ridge estimate predicts.
    pub(super) fn one(&self, reward: f64, global: &Side, local: &Side, ridge_local: f64) -> Partial {
        if self.global_first {
            let (global, local) = self.turns(reward, global, local, ridge_local);
            Partial { global: reward - local, local: reward - global }
        } else {
            let (local, global) = self.turns(reward, local, global, global.present());
            Partial { global: reward - local, local: reward - global }
        }
    }

    /// Predictions of the first and the second side in the end.
    fn turns(&self, reward: f64, first: &Side, second: &Side, start: f64) -> (f64, f64) {
        let (mut seen, mut answer) = (0.0, start);
        for _ in 0..self.iterations {
            seen = first.predict(reward - answer);
            let next = second.predict(reward - seen);
            let moved = (next - answer).abs();
            answer = next;
            if moved <= self.tolerance {
                break;
            }
        }
        (seen, answer)
    }

    /// Eq. (7) on all of a client's first observations at once (Algorithm 5, line
    /// 12), from their sums alone: the partial rewards enter the statistics only
    /// as `X_g' y_g = X_g' y - X_g' X_l theta_l`, and likewise for the local part.
    /// Returns the statistics of both parts.
    pub(super) fn many(&self, sums: &Sums<'_>, received: &LinearStats) -> (LinearStats, LinearStats) {
        let (dim, own_dim) = (sums.global.dim(), sums.local.dim());
        let mut system = received.clone();
        system.merge(&sums.global);
        let (of_global, of_local) = (PseudoInverse::of(&system.gram), PseudoInverse::of(&sums.local.gram));

        // theta_l = p_l - K_l theta_g and theta_g = p_g - K_g theta_l, before projection.
        let p_global = of_global.solve(&system.moment);
        let p_local = of_local.solve(&sums.local.moment);
        let column = |j: usize| (0..own_dim).map(|i| sums.cross(i)[j]).collect::<Vec<_>>();
        let k_local: Vec<f64> = (0..dim).flat_map(|j| of_local.solve(&column(j))).collect();
        let k_global: Vec<f64> = (0..own_dim).flat_map(|i| of_global.solve(sums.cross(i))).collect();

        let mut global = sums.start(received);
        let mut local = vec![0.0; own_dim];
        for _ in 0..self.iterations {
            local = projected(minus(&p_local, &k_local, &global));
            let next = projected(minus(&p_global, &k_global, &local));
            let moved = next.iter().zip(&global).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            global = next;
            if moved <= self.tolerance {
                break;
            }
        }

        let (mut for_global, mut for_local) = (sums.global.clone(), sums.local.clone());
        for i in 0..own_dim {
            for_local.moment[i] -= dot(sums.cross(i), &global);
            for (moment, cross) in for_global.moment.iter_mut().zip(sums.cross(i)) {
                *moment -= cross * local[i];
            }
        }
        (for_global, for_local)
    }
}

/// One part's estimate on one new observation `x`, as a function of the partial
/// reward `r`: `theta(r) = (V + x x')^- (b + x r) = p + r q`, projected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// x'p
    level: f64,
    /// x'q, between 0 and 1
    slope: f64,
    /// The partial reward at which the estimate is shortest.
    shortest: f64,
    /// |theta(shortest)|^2
    least: f64,
    /// |q|^2
    growth: f64,
}

impl Side {
    /// From all of the part's statistics before this observation.
    pub(super) fn new(mut before: LinearStats, x: &[f64]) -> Self {
        before.gram.add_outer(x);
        let inverse = PseudoInverse::of(&before.gram);
        let (p, q) = (inverse.solve(&before.moment), inverse.solve(x));
        let growth = dot(&q, &q);
        let shortest = if growth > 0.0 { -dot(&p, &q) / growth } else { 0.0 };
        let least = p.iter().zip(&q).map(|(p, q)| p + shortest * q).map(|v| v * v).sum();
        Side { level: dot(x, &p), slope: dot(x, &q), shortest, least, growth }
    }

    /// x'theta(r), projected.
    fn predict(&self, partial: f64) -> f64 {
        let off = partial - self.shortest;
        let norm2 = self.least + self.growth * off * off;
        let free = self.level + self.slope * partial;
        if norm2 > 1.0 { free / norm2.sqrt() } else { free }
    }

    /// x'theta for theta = V^- b, without the new observation. An observation that
    /// agrees with theta does not move it, so r = x'theta(r); where `x` is a new
    /// direction every r agrees, and V^- b is the shortest.
    fn present(&self) -> f64 {
        let rest = 1.0 - self.slope;
        self.predict(if rest > NEW_DIRECTION { self.level / rest } else { self.shortest })
    }
}

/// `1 - x'(V + x x')^- x = 1 / (1 + x'V^- x)` is zero for a new direction, up to rounding.
const NEW_DIRECTION: f64 = 1e-9;

/// A client's first observations: the sums of both parts, and between them.
pub(super) struct Sums<'a> {
    stacked: &'a LinearStats,
    global: LinearStats,
    local: LinearStats,
}

impl<'a> Sums<'a> {
    /// Cuts the sums of stacked features in two, `dim` global ones first.
    pub(super) fn new(stacked: &'a LinearStats, dim: usize) -> Self {
        let part = |range: std::ops::Range<usize>| {
            let mut part = LinearStats::empty(range.len());
            part.count = stacked.count;
            part.moment.copy_from_slice(&stacked.moment[range.clone()]);
            let triangle = range.clone().flat_map(|i| (range.start..=i).map(move |j| (i, j)));
            for (entry, (i, j)) in part.gram.packed_mut().iter_mut().zip(triangle) {
                *entry = stacked.gram.get(i, j);
            }
            part
        };
        Sums { stacked, global: part(0..dim), local: part(dim..stacked.dim()) }
    }

    /// The global part alone.
    pub(super) fn global(&self) -> &LinearStats {
        &self.global
    }

    /// Row `i` of X_l' X_g.
    fn cross(&self, i: usize) -> &[f64] {
        let row = self.global.dim() + i;
        &self.stacked.gram.packed()[row * (row + 1) / 2..][..self.global.dim()]
    }

    /// Remark 1 of Appendix F, where the global estimate begins: at what was
    /// received if that has full rank, otherwise at the global component of the
    /// least-squares estimate on one's own data.
    fn start(&self, received: &LinearStats) -> Vec<f64> {
        let of_received = PseudoInverse::of(&received.gram);
        let mut start = if of_received.rank() == received.dim() {
            of_received.solve(&received.moment)
        } else {
            PseudoInverse::of(&self.stacked.gram).solve(&self.stacked.moment)
        };
        start.truncate(self.global.dim());
        projected(start)
    }
}

/// Euclidean projection onto the unit ball.
fn projected(mut theta: Vec<f64>) -> Vec<f64> {
    let norm2 = dot(&theta, &theta);
    if norm2 > 1.0 {
        let norm = norm2.sqrt();
        theta.iter_mut().for_each(|value| *value /= norm);
    }
    theta
}

/// `from - K x`, with `K` by columns.
fn minus(from: &[f64], columns: &[f64], x: &[f64]) -> Vec<f64> {
    let mut out = from.to_vec();
    if !from.is_empty() {
        for (column, weight) in columns.chunks_exact(from.len()).zip(x) {
            out.iter_mut().zip(column).for_each(|(out, entry)| *out -= weight * entry);
        }
    }
    out
}
