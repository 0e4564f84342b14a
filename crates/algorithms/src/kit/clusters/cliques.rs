//! Algorithms 1 and 4 of HetoFedBandit: pairwise tests, the client graph, its maximal cliques.

use std::collections::{BTreeMap, BTreeSet};

use cahoots_core::graph::Graph;
use cahoots_core::homogeneity::{HomogeneityTest, Sample};
use cahoots_core::{LinearStats, NodeId};
use serde::{Deserialize, Serialize};

/// The estimated clusters; they may overlap.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Clusters {
    test: HomogeneityTest,
    graph: Graph,
    cap: usize,
    list: Vec<Vec<NodeId>>,
    /// What clients have uploaded, factored. Can be made anew, so it is no part of the state.
    #[serde(skip)]
    samples: BTreeMap<NodeId, Sample>,
    /// How often they have been estimated.
    estimates: u64,
    /// How often there were too many to list.
    fallbacks: u64,
}

impl Clusters {
    /// Before the first estimate there are none.
    pub fn new(test: HomogeneityTest, cap: usize) -> Self {
        let (graph, list, samples) = (Graph::new(0), Vec::new(), BTreeMap::new());
        Clusters { test, cap, graph, list, samples, estimates: 0, fallbacks: 0 }
    }

    /// Tests every pair of which one has changed, and lists the maximal cliques anew.
    pub fn estimate<'a>(
        &mut self,
        own: impl Iterator<Item = (NodeId, &'a LinearStats)>,
        changed: &BTreeSet<NodeId>,
    ) {
        let mut members: Vec<NodeId> = Vec::new();
        for (id, stats) in own {
            members.push(id);
            if self.samples.get(&id).is_none_or(|sample| sample.stats() != stats) {
                self.samples.insert(id, Sample::of(stats.clone()));
            }
        }
        let largest = members.last().map_or(0, |id| id.index() + 1);
        // Who is forgotten had the highest number perhaps, and has no edges any more.
        if largest != self.graph.len() {
            self.graph.resize(largest);
        }
        let changed: Vec<bool> = members.iter().map(|id| changed.contains(id)).collect();
        let pairs = pairs_in_tiles(members.len(), |i, j| changed[i] || changed[j]);
        let samples: Vec<&Sample> = members.iter().map(|id| &self.samples[id]).collect();
        // Line 2 of Algorithm 1
        let edges = self.test.similar_pairs(&samples, &pairs);
        for (&(i, j), edge) in pairs.iter().zip(edges) {
            self.graph.set(members[i as usize].index(), members[j as usize].index(), edge);
        }
        let found = self.graph.cliques(members.iter().map(|id| id.0), self.cap);
        self.list = found.cliques.into_iter().map(|c| c.into_iter().map(NodeId).collect()).collect();
        self.estimates += 1;
        self.fallbacks += u64::from(!found.complete);
    }

    /// A client's data are gone, and who was like it; its clusters are as they were until they are estimated again.
    pub fn forget(&mut self, client: NodeId) {
        self.samples.remove(&client);
        self.graph.isolate(client.index());
    }

    /// All clusters, each in the order of its members.
    pub fn list(&self) -> &[Vec<NodeId>] {
        &self.list
    }

    /// K_i: places in the list of the clusters that a client is in.
    pub fn of(&self, client: NodeId) -> impl Iterator<Item = usize> {
        let member = move |(_, cluster): &(usize, &Vec<NodeId>)| cluster.binary_search(&client).is_ok();
        self.list.iter().enumerate().filter(member).map(|(place, _)| place)
    }

    /// Sizes of a client's clusters, largest first, each once.
    pub fn sizes(&self, client: NodeId) -> Vec<u32> {
        let sizes: BTreeSet<u32> = self.of(client).map(|place| self.list[place].len() as u32).collect();
        sizes.into_iter().rev().collect()
    }

    /// How often they have been estimated.
    pub fn estimates(&self) -> u64 {
        self.estimates
    }

    /// How often there were too many to list.
    pub fn fallbacks(&self) -> u64 {
        self.fallbacks
    }
}

/// Clients whose statistics stay in a core's cache together.
const TILE: usize = 32;

/// Pairs i < j below `count` that are wanted, one tile after the other.
fn pairs_in_tiles(count: usize, wanted: impl Fn(usize, usize) -> bool) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    let tiles = || (0..count).step_by(TILE).map(|first| first..(first + TILE).min(count));
    for rows in tiles() {
        for columns in tiles().filter(|columns| columns.start >= rows.start) {
            for i in rows.clone() {
                let after = columns.start.max(i + 1)..columns.end;
                pairs.extend(after.filter(|&j| wanted(i, j)).map(|j| (i as u32, j as u32)));
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_hold_every_pair_once() {
        for count in [0, 1, 2, TILE, TILE + 1, 3 * TILE - 1] {
            let mut pairs = pairs_in_tiles(count, |i, _| i != 1);
            pairs.sort_unstable();
            let all = (0..count as u32).flat_map(|i| (i + 1..count as u32).map(move |j| (i, j)));
            assert_eq!(pairs, all.filter(|(i, _)| *i != 1).collect::<Vec<_>>());
        }
    }
}
