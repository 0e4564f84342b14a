//! How much a client may be believed to know, direction by direction.

use cahoots_core::LinearStats;
use cahoots_core::linalg::{Eigen, Symmetric, dot};
use serde::{Deserialize, Serialize};

/// Rounds in which directions and caps follow from each other.
const ROUNDS: usize = 3;

/// Below this part of the largest cap a direction counts as unknown to all.
const UNKNOWN: f64 = 1e-12;

/// Who knows less than this part of what the median client does, all in all, says nothing of what others may know.
const NEWCOMER: f64 = 1.0 / 16.0;

/// The scale of votes is this part of what the median client knows: whoever knows more votes about alike.
pub(super) const VOTE_SCALE: f64 = 0.25;

/// Coordinates in which nobody is believed to know more than 1 of anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Caps {
    dim: usize,
    /// Rows `u_k / sqrt(cap_k)`: a Gram matrix V becomes T V T'.
    to: Box<[f64]>,
    /// Rows `u_k sqrt(cap_k)`: the way back is the transpose of this.
    back: Box<[f64]>,
    /// What votes are held against, coordinate by coordinate.
    pub(super) scale: Box<[f64]>,
}

impl Caps {
    /// From all Gram matrices, of which this share may be lies: of the clients that are no newcomers.
    ///
    /// The directions are those of the sum of what is believed, so that no client chooses them: each starts with no more
    /// trace than the median has, and then with no more than the last round's caps.
    pub(super) fn of(all: &[&LinearStats], share: f64) -> Option<Caps> {
        let dim = all.first()?.dim();
        let mut traces: Vec<f64> = all.iter().map(|stats| trace(&stats.gram)).collect();
        let typical = middle(&mut traces);
        // Newcomers would make nothing of what the others know.
        let all: Vec<&LinearStats> =
            all.iter().copied().filter(|stats| trace(&stats.gram) >= NEWCOMER * typical).collect();
        let all = all.as_slice();
        let liars = (share * all.len() as f64).floor();
        let mut pool = Symmetric::zero(dim);
        for stats in all {
            let trace = trace(&stats.gram);
            add_scaled(&mut pool, &stats.gram, if trace > typical { typical / trace } else { 1.0 });
        }
        let mut caps = Caps::in_directions(&pool, all, liars)?;
        for _ in 1..ROUNDS {
            let mut pool = Symmetric::zero(dim);
            for stats in all {
                // As much of it as fits, for now in all directions alike.
                let most = (0..dim).map(|k| caps.along(k, &stats.gram)).fold(1.0, f64::max);
                add_scaled(&mut pool, &stats.gram, 1.0 / most);
            }
            caps = Caps::in_directions(&pool, all, liars)?;
        }
        Some(caps)
    }

    fn in_directions(pool: &Symmetric, all: &[&LinearStats], liars: f64) -> Option<Caps> {
        let dim = pool.dim();
        if !pool.packed().iter().all(|value| value.is_finite()) {
            return None;
        }
        let directions = Eigen::of(pool);
        let mut known = vec![0.0; all.len()];
        let (mut caps, mut medians) = (Vec::with_capacity(dim), Vec::with_capacity(dim));
        for k in 0..dim {
            for (slot, stats) in known.iter_mut().zip(all) {
                *slot = form(&stats.gram, directions.vector(k)).max(0.0);
            }
            known.sort_by(f64::total_cmp);
            // Of those who are left where the liars say that they know most.
            let median = known[(known.len() - liars as usize - 1) / 2];
            medians.push(median);
            // Where few know anything of a direction, as much as half of the honest do.
            caps.push(cap(&known, liars).max(median));
        }
        let least = UNKNOWN * caps.iter().copied().fold(0.0, f64::max);
        if !(least > 0.0 && least.is_finite()) {
            return None;
        }
        let (mut to, mut back) = (Vec::with_capacity(dim * dim), Vec::with_capacity(dim * dim));
        for (k, cap) in caps.iter_mut().enumerate() {
            *cap = cap.max(least);
            let root = cap.sqrt();
            to.extend(directions.vector(k).iter().map(|u| u / root));
            back.extend(directions.vector(k).iter().map(|u| u * root));
        }
        let scale =
            medians.iter().zip(&caps).map(|(median, cap)| VOTE_SCALE * (median / cap).clamp(1e-6, 1.0));
        Some(Caps { dim, to: to.into(), back: back.into(), scale: scale.collect() })
    }

    fn row(&self, k: usize) -> &[f64] {
        &self.to[k * self.dim..][..self.dim]
    }

    /// How much of its cap a Gram matrix knows along an axis.
    fn along(&self, k: usize, gram: &Symmetric) -> f64 {
        form(gram, self.row(k))
    }

    /// T V T', packed.
    pub(super) fn gram(&self, gram: &Symmetric) -> Symmetric {
        let dim = self.dim;
        let full = full(gram);
        let mut half = vec![0.0; dim * dim];
        for (row, out) in full.chunks_exact(dim).zip(half.chunks_exact_mut(dim)) {
            for (k, out) in out.iter_mut().enumerate() {
                *out = dot(row, self.row(k));
            }
        }
        // half = V T', by rows of V; its columns are wanted now.
        let mut columns = vec![0.0; dim * dim];
        for i in 0..dim {
            for k in 0..dim {
                columns[k * dim + i] = half[i * dim + k];
            }
        }
        let mut out = Symmetric::zero(dim);
        let places = (0..dim).flat_map(|row| (0..=row).map(move |column| (row, column)));
        for (entry, (row, column)) in out.packed_mut().iter_mut().zip(places) {
            *entry = dot(self.row(row), &columns[column * dim..][..dim]);
        }
        out
    }

    /// T b.
    pub(super) fn vector(&self, b: &[f64]) -> Vec<f64> {
        (0..self.dim).map(|k| dot(self.row(k), b)).collect()
    }

    /// What T makes of a vector of sums, undone: `b = back' (T b)`.
    pub(super) fn undo(&self, vector: &[f64]) -> Vec<f64> {
        combine(&self.back, self.dim, vector)
    }

    /// A parameter in these coordinates, as a parameter: `theta = T' phi`.
    pub(super) fn parameter(&self, phi: &[f64]) -> Vec<f64> {
        combine(&self.to, self.dim, phi)
    }
}

/// Largest v with `liars v <= sum of min(known_i, v)` over all but the `liars` who know most: whoever they are, no more than
/// half is theirs. `known` is sorted.
fn cap(known: &[f64], liars: f64) -> f64 {
    let most = known.last().copied().unwrap_or(0.0);
    let honest = known.len() - liars as usize;
    if liars == 0.0 {
        return most;
    }
    let mut sum = 0.0;
    for (below, &value) in known[..honest].iter().enumerate() {
        let slope = (honest - below) as f64 - liars;
        // Between the values before this one and this one, what is left is sum + slope v.
        if slope < 0.0 && sum + slope * value < 0.0 {
            return (sum / -slope).min(most);
        }
        sum += value;
    }
    (sum / liars).min(most)
}

/// The median, of the lower half if there are two; sorts.
pub(super) fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

fn trace(gram: &Symmetric) -> f64 {
    (0..gram.dim()).map(|i| gram.get(i, i)).sum()
}

/// `u' V u`.
pub(super) fn form(gram: &Symmetric, u: &[f64]) -> f64 {
    let (mut sum, mut rest) = (0.0, gram.packed());
    for i in 0..u.len() {
        let (row, next) = rest.split_at(i + 1);
        rest = next;
        sum += u[i] * (2.0 * dot(&row[..i], &u[..i]) + row[i] * u[i]);
    }
    sum
}

pub(super) fn add_scaled(to: &mut Symmetric, from: &Symmetric, weight: f64) {
    to.packed_mut().iter_mut().zip(from.packed()).for_each(|(to, from)| *to += weight * from);
}

fn full(gram: &Symmetric) -> Vec<f64> {
    let dim = gram.dim();
    (0..dim * dim).map(|at| gram.get(at / dim, at % dim)).collect()
}

/// Sum of rows, weighted.
fn combine(rows: &[f64], dim: usize, weights: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; dim];
    for (row, weight) in rows.chunks_exact(dim).zip(weights) {
        out.iter_mut().zip(row).for_each(|(to, from)| *to += weight * from);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_the_liars_are_they_are_half_at_most() {
        for known in
            [vec![1.0; 10], (1..=10).map(f64::from).collect(), vec![0.0, 0.0, 0.1, 5.0, 6.0, 7.0, 8.0, 1e30]]
        {
            for liars in 1..known.len() / 2 {
                let cap = cap(&known, liars as f64);
                let honest: f64 = known[..known.len() - liars].iter().map(|value| value.min(cap)).sum();
                assert!(liars as f64 * cap <= honest * (1.0 + 1e-12), "{known:?} {liars}: {cap}");
                let more = cap * 1.01;
                let honest: f64 = known[..known.len() - liars].iter().map(|value| value.min(more)).sum();
                assert!(cap == known[known.len() - 1] || liars as f64 * more > honest, "the largest");
            }
        }
        assert_eq!(cap(&[1.0, 3.0], 0.0), 3.0);
    }
}
