//! Who has not been seen to differ.

use cahoots_core::graph::Graph;
use serde::{Deserialize, Serialize};

/// A graph of users whose edges are only ever deleted: everyone is like everyone until seen otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Alike {
    graph: Graph,
}

impl Alike {
    /// So many users, all alike.
    pub fn everyone(users: usize) -> Self {
        let mut graph = Graph::new(users);
        for one in 0..users {
            (0..one).for_each(|other| graph.set(one, other, true));
        }
        Alike { graph }
    }

    /// One more user, like all others.
    pub fn admit(&mut self) {
        let position = self.graph.len();
        self.graph.grow(position + 1);
        (0..position).for_each(|other| self.graph.set(position, other, true));
    }

    /// Whether two users have not been seen to differ.
    pub fn are(&self, one: usize, other: usize) -> bool {
        self.graph.has(one, other)
    }

    /// Two users differ.
    pub fn part(&mut self, one: usize, other: usize) {
        self.graph.set(one, other, false);
    }

    /// What hangs together, in the order of first members.
    pub fn clusters(&self) -> Vec<Vec<u32>> {
        self.graph.components()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_one_cluster_until_nothing_holds_them_together() {
        let mut alike = Alike::everyone(3);
        alike.part(0, 2);
        assert_eq!(alike.clusters(), [vec![0, 1, 2]], "1 is like both");
        alike.part(1, 2);
        assert_eq!(alike.clusters(), [vec![0, 1], vec![2]]);
        alike.admit();
        assert!(alike.are(3, 0) && alike.are(3, 2) && !alike.are(0, 2));
        assert_eq!(alike.clusters(), [vec![0, 1, 2, 3]]);
    }
}
