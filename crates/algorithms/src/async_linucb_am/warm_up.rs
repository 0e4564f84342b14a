//! State 0 of Algorithm 5: LinUCB alone on stacked features, until there is
//! enough data to tell the global component from the local one.

use cahoots_core::linalg::rank;
use cahoots_core::policy::{Distribution, LinearPolicy, Rule};
use cahoots_core::{ArmSet, Buffered, LinearStats, Picked, Seat, Stream, Symmetric, Tiles};
use serde::{Deserialize, Serialize};

use super::alternate::{Alternation, Sums};
use super::params::Valid;
use crate::kit::linear::{choose_by, odds_by};

/// A client in State 0. Its data are kept as sums over stacked features, which is
/// all that the alternation needs of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WarmUp {
    known: Buffered,
    policy: LinearPolicy,
    /// Global features, first in a stacked context.
    dim: usize,
    multi_task: Option<bool>,
    /// Local features have been the global ones again, whenever a reward came.
    same: bool,
}

/// LinUCB on stacked features.
pub(super) fn stacked_policy(valid: &Valid, seat: &Seat) -> LinearPolicy {
    LinearPolicy {
        rule: Rule::LinUcb,
        confidence: valid.confidence(0.0, seat.dim + seat.local_dim),
        sampling_scale: 0.0,
        perturbation: 1.0,
    }
}

impl WarmUp {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        let stacked = seat.dim + seat.local_dim;
        let policy = stacked_policy(valid, seat);
        let known = Buffered::new(valid.ridge(), valid.nothing(stacked));
        WarmUp { known, policy, dim: seat.dim, multi_task: valid.multi_task, same: true }
    }

    /// Eq. (5).
    pub(super) fn choose(&self, arms: ArmSet<'_>, rng: &mut Stream) -> Picked {
        choose_by(&self.known, &self.policy, arms.with_features(&stacked(arms)), rng)
    }

    /// How likely that is to be each arm.
    pub(super) fn odds(&self, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        odds_by(&self.known, &self.policy, arms.with_features(&stacked(arms)), rng)
    }

    /// Algorithm 5, line 10.
    pub(super) fn observe(&mut self, context: &[f64], reward: f64) {
        let (global, local) = context.split_at(self.dim);
        self.same &= global == local;
        self.known.observe(context, reward);
    }

    /// Algorithm 5, lines 11 and 12: the statistics of both parts, once there is
    /// enough data.
    pub(super) fn finish(
        &self,
        received: &LinearStats,
        alternation: &Alternation,
    ) -> Option<(LinearStats, LinearStats)> {
        let stacked = self.known.total();
        let sums = Sums::new(&stacked, self.dim);
        // One vector offered twice never fills the stacked matrix: its global block must do.
        let own = if self.multi_task.unwrap_or(self.same) { &sums.global().gram } else { &stacked.gram };
        let enough = is_full(&received.gram) || stacked.count >= own.dim() as u64 && is_full(own);
        enough.then(|| alternation.many(&sums, received))
    }
}

fn is_full(gram: &Symmetric) -> bool {
    rank(gram) == gram.dim()
}

/// Both feature vectors of every arm as one, global features first.
fn stacked(arms: ArmSet<'_>) -> Tiles {
    let (global, local) = (arms.features(), arms.local());
    let (dim, own_dim) = (global.dim(), local.map_or(0, Tiles::dim));
    let mut rows = vec![0.0; arms.len() * (dim + own_dim)];
    for (arm, row) in rows.chunks_exact_mut(dim + own_dim).enumerate() {
        global.row_into(arm, &mut row[..dim]);
        if let Some(local) = local {
            local.row_into(arm, &mut row[dim..]);
        }
    }
    let mut tiles = Tiles::default();
    tiles.fill(dim + own_dim, rows.chunks_exact(dim + own_dim));
    tiles
}
