//! Algorithms 1 and 4: pairwise tests, the client graph, its maximal cliques.

use std::collections::BTreeSet;

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
    /// How often they have been estimated.
    estimates: u64,
    /// How often there were too many to list.
    fallbacks: u64,
}

impl Clusters {
    /// Before the first estimate there are none.
    pub fn new(test: HomogeneityTest, cap: usize) -> Self {
        Clusters { test, cap, graph: Graph::new(0), list: Vec::new(), estimates: 0, fallbacks: 0 }
    }

    /// Tests every pair of which one has changed, and lists the maximal cliques anew.
    pub fn estimate<'a>(
        &mut self,
        own: impl Iterator<Item = (NodeId, &'a LinearStats)>,
        changed: &BTreeSet<NodeId>,
    ) {
        let samples: Vec<(NodeId, bool, Sample)> =
            own.map(|(id, stats)| (id, changed.contains(&id), Sample::of(stats.clone()))).collect();
        let largest = samples.last().map_or(0, |(id, ..)| id.index() + 1);
        if largest > self.graph.len() {
            self.graph.grow(largest);
        }
        for (place, (i, i_changed, first)) in samples.iter().enumerate() {
            for (j, j_changed, second) in &samples[place + 1..] {
                if *i_changed || *j_changed {
                    // Line 2 of Algorithm 1
                    let edge = self.test.similar(first, second);
                    self.graph.set(i.index(), j.index(), edge);
                }
            }
        }
        let found = self.graph.cliques(samples.iter().map(|(id, ..)| id.0), self.cap);
        self.list = found.cliques.into_iter().map(|c| c.into_iter().map(NodeId).collect()).collect();
        self.estimates += 1;
        self.fallbacks += u64::from(!found.complete);
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
