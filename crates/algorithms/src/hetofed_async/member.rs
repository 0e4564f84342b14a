//! What the server knows of one client.

use std::sync::Arc;

use cahoots_core::{LinearStats, View};
use serde::{Deserialize, Serialize};

/// One client's own data, and what it was last given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Member {
    /// All its uploads.
    pub own: LinearStats,
    /// Number of its last upload.
    pub merged: u64,
    /// The server's count of uploads at its last one.
    pub learned_at: u64,
    /// Its last view.
    pub served: Arc<View>,
    /// The server's count of uploads at that view.
    pub served_at: u64,
    /// Since that view others are like it than were then, or it has lost that view.
    pub stale: bool,
    /// The upload with which it last asked to be found its clusters.
    pub entered: u64,
    /// Takes part in the estimate of the clusters.
    pub explored: bool,
    /// Has left: not written to.
    pub left: bool,
    /// How many clients' data it was told that it is given.
    pub told: u32,
}

impl Member {
    pub(super) fn new(nothing: &Arc<View>) -> Self {
        Member {
            own: nothing.stats().clone(),
            merged: 0,
            learned_at: 0,
            served: nothing.clone(),
            served_at: 0,
            stale: false,
            entered: 0,
            explored: false,
            left: false,
            told: 0,
        }
    }

    /// A new machine under this number: it has been sent nothing, and counts its uploads from 1. What was
    /// uploaded under the number stays.
    pub(super) fn come_back(&mut self, nothing: &Arc<View>) {
        self.served = nothing.clone();
        (self.merged, self.served_at, self.entered) = (0, 0, 0);
        (self.told, self.stale) = (0, true);
    }

    /// Takes an upload that was checked, the server's `count`-th.
    pub(super) fn take(&mut self, number: u64, stats: &LinearStats, count: u64) {
        (self.merged, self.learned_at) = (number, count);
        self.own.merge(stats);
    }

    /// Has it been sent one?
    pub(super) fn has_view(&self) -> bool {
        self.served.version() > 0
    }

    /// It is sent this view, which holds the server's first `count` uploads, as far as they concern it.
    pub(super) fn serve(&mut self, view: Arc<View>, count: u64) {
        self.served = view;
        (self.served_at, self.stale) = (count, false);
    }
}
