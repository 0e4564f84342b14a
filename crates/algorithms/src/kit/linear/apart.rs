//! What each client has contributed, beside the sum of all: so that one of them can be taken out again.

use std::collections::BTreeMap;

use cahoots_core::{LinearStats, NodeId};
use serde::{Deserialize, Serialize};

/// Contributions by client, where the terms have them kept: d^2 / 2 numbers for each client that has uploaded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Apart(Option<BTreeMap<NodeId, LinearStats>>);

impl Apart {
    /// Nobody has contributed anything yet.
    pub fn new(keep: bool) -> Apart {
        Apart(keep.then(BTreeMap::new))
    }

    /// What was kept.
    pub(super) fn of(clients: Option<BTreeMap<NodeId, LinearStats>>) -> Apart {
        Apart(clients)
    }

    /// What each client has contributed, in the order of their numbers.
    pub fn clients(&self) -> impl Iterator<Item = (NodeId, &LinearStats)> {
        self.0.iter().flatten().map(|(client, stats)| (*client, stats))
    }

    /// A client's upload was merged.
    pub fn add(&mut self, client: NodeId, stats: &LinearStats) {
        if let Some(clients) = &mut self.0 {
            clients.entry(client).or_insert_with(|| stats.emptied()).merge(stats);
        }
    }

    /// Why nothing can be taken out again, if so.
    pub fn check(&self) -> Result<(), String> {
        self.0.as_ref().map(|_| ()).ok_or_else(|| {
            "under this federation's terms (`keep_apart = false` in [setting]) contributions are added up and not kept apart".into()
        })
    }

    /// Takes out all that came under a client's number; gives the sum of the others', in the order of their numbers.
    /// `None` where nothing is kept apart.
    pub fn forget(&mut self, client: NodeId, nothing: &LinearStats) -> Option<LinearStats> {
        let clients = self.0.as_mut()?;
        clients.remove(&client);
        let mut sum = nothing.clone();
        clients.values().for_each(|stats| sum.merge(stats));
        Some(sum)
    }
}
