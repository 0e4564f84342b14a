//! What the server knows of one client.

use std::sync::Arc;

use cahoots_core::{LinearStats, Misbehaviour, Plausible, View, linalg};
use serde::{Deserialize, Serialize};

use crate::kit::linear::check_upload;

/// Uploads that a client keeps on top of its view before it is told that they can be added up.
const UNTOLD: u64 = 8;

/// One client's own data, and what it was last given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Member {
    /// All its uploads.
    pub own: LinearStats,
    /// Those since its last view: Delta V and Delta b.
    pub since: LinearStats,
    /// Its last view.
    pub served: Arc<View>,
    /// Number of its last upload.
    pub merged: u64,
    /// Number of its last upload at its last view.
    served_at: u64,
    /// Has been asked for an upload that has not come yet.
    pub asked: bool,
    /// Has missed a deadline and not answered since: not waited for.
    pub overdue: bool,
    /// Takes part in the estimate of the clusters.
    pub explored: bool,
    /// Has left: not asked, not written to.
    pub left: bool,
    /// How much it last said it had learned on its own.
    pub weight: f64,
    /// Sizes of clusters that it knows of.
    pub told: Vec<u32>,
}

impl Member {
    pub(super) fn new(nothing: &Arc<View>) -> Self {
        Member {
            own: nothing.stats().clone(),
            since: nothing.stats().clone(),
            served: nothing.clone(),
            merged: 0,
            served_at: 0,
            asked: false,
            overdue: false,
            explored: false,
            left: false,
            weight: 0.0,
            told: Vec::new(),
        }
    }

    /// A new machine under this number: it has been sent nothing, and counts its uploads from 1. What was
    /// uploaded under the number stays.
    pub(super) fn come_back(&mut self, nothing: &Arc<View>) {
        self.served = nothing.clone();
        (self.merged, self.served_at, self.weight) = (0, 0, 0.0);
        (self.asked, self.overdue) = (false, false);
        self.told.clear();
    }

    /// Refuses an upload that is out of turn or that no data can have led to.
    pub(super) fn check(
        &self,
        number: u64,
        stats: &LinearStats,
        plausible: &Plausible,
        ridge: f64,
    ) -> Result<(), Misbehaviour> {
        check_upload(number, self.merged, stats, &self.own, plausible, ridge)
    }

    /// Takes an upload that was checked.
    pub(super) fn take(&mut self, number: u64, stats: &LinearStats) {
        self.merged = number;
        self.own.merge(stats);
        self.since.merge(stats);
    }

    /// Is it time to tell the client that its uploads have been added up?
    pub(super) fn is_untold(&self) -> bool {
        self.merged > self.served_at && (self.merged - self.served_at).is_multiple_of(UNTOLD)
    }

    /// It has been sent this view, which holds all its uploads.
    pub(super) fn serve(&mut self, view: Arc<View>) {
        self.served = view;
        self.since = self.since.emptied();
        self.served_at = self.merged;
        self.weight = 0.0;
    }

    /// Line 19 of Algorithm 5, from its uploads: steps since its last view times gain in log-det.
    pub(super) fn learned(&self, ridge: f64) -> f64 {
        let mut gram = self.served.stats().gram.clone();
        gram.add(&self.since.gram);
        let gain = linalg::log_det(&gram, ridge).unwrap_or(0.0) - self.served.factor(ridge).log_det();
        self.since.count as f64 * gain
    }
}
