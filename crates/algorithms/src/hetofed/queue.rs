//! Which cluster is served next.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Clusters that wait, by their place in the list of clusters. Each stands in it once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Queue {
    waiting: VecDeque<usize>,
}

impl Queue {
    pub(super) fn push(&mut self, cluster: usize) {
        if !self.waiting.contains(&cluster) {
            self.waiting.push_back(cluster);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.waiting.iter().copied()
    }

    /// First in, first out.
    pub(super) fn pop_first(&mut self) -> Option<usize> {
        self.waiting.pop_front()
    }

    /// The largest weight; of equals, who came first.
    pub(super) fn pop_heaviest(&mut self, weight: impl FnMut(usize) -> f64) -> Option<usize> {
        let weights: Vec<f64> = self.iter().map(weight).collect();
        let heaviest = (0..weights.len()).reduce(|best, i| if weights[i] > weights[best] { i } else { best });
        self.waiting.remove(heaviest?)
    }
}
