//! What each client has contributed, so that one of them can be taken out again.

use cahoots_core::{LinearStats, NodeId};
use serde::{Deserialize, Serialize};

use super::sum_tree::{Path, SumTree};

/// Contributions by client, where the terms have them kept: all that is merged is then what everyone begins from and
/// the root of a tree of sums, and follows from each client's own uploads in their order, whoever came between or was
/// once there. Twice d^2 / 2 numbers for each client that has uploaded.
///
/// Where they are not kept, uploads are added up as they come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Apart(Option<SumTree>);

/// An upload that is looked at and not there yet.
#[must_use]
#[derive(Debug)]
pub struct Upload(Option<Path>);

impl Apart {
    /// Nobody has contributed anything yet.
    pub fn new(keep: bool) -> Apart {
        Apart(keep.then(SumTree::default))
    }

    /// What was kept.
    pub(super) fn of(clients: Option<SumTree>) -> Apart {
        Apart(clients)
    }

    /// All that is merged once a client's upload is, too, where everyone begins from `nothing` and `merged` is what is
    /// there so far. The upload counts from [`Self::take`] on, and nothing may be taken in between.
    pub fn with(
        &self,
        client: NodeId,
        upload: &LinearStats,
        nothing: &LinearStats,
        merged: &LinearStats,
    ) -> (LinearStats, Upload) {
        let path = self.0.as_ref().map(|tree| tree.with(client, upload));
        let (mut sum, more) = match &path {
            Some(path) => (nothing.clone(), path.sum()),
            None => (merged.clone(), upload),
        };
        sum.merge(more);
        (sum, Upload(path))
    }

    /// An upload that was looked at is merged.
    pub fn take(&mut self, upload: Upload) {
        if let (Some(tree), Upload(Some(path))) = (&mut self.0, upload) {
            tree.take(path);
        }
    }

    /// A client's upload is merged.
    pub fn add(&mut self, client: NodeId, upload: &LinearStats) {
        if let Some(tree) = &mut self.0 {
            let path = tree.with(client, upload);
            tree.take(path);
        }
    }

    /// All that is merged. `None` where nothing is kept apart.
    pub fn sum(&self, nothing: &LinearStats) -> Option<LinearStats> {
        let tree = self.0.as_ref()?;
        let mut sum = nothing.clone();
        tree.sum().into_iter().for_each(|clients| sum.merge(clients));
        Some(sum)
    }

    /// What each client has contributed, in the order of their numbers; nobody, where nothing is kept apart. What a federation
    /// began from may lie under the server's.
    pub fn clients(&self) -> impl Iterator<Item = (NodeId, &LinearStats)> {
        self.0.iter().flat_map(SumTree::clients)
    }

    /// Why nothing can be taken out again, if so.
    pub fn check(&self) -> Result<(), String> {
        self.0.as_ref().map(|_| ()).ok_or_else(|| {
            "under this federation's terms (`keep_apart = false` in [setting]) contributions are added up and not kept apart".into()
        })
    }

    /// Takes out all that came under a client's number; gives the sum of the others'. `None` where nothing is kept apart.
    pub fn forget(&mut self, client: NodeId, nothing: &LinearStats) -> Option<LinearStats> {
        self.0.as_mut()?.remove(client);
        self.sum(nothing)
    }
}
