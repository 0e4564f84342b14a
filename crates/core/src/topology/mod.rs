//! Who can talk to whom, for algorithms without a star in the middle.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::components::components;
use crate::ids::NodeId;

mod families;

/// An undirected graph over clients 0..n.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    neighbours: Vec<Vec<NodeId>>,
}

/// A graph that cannot carry a federation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// An edge to a node that is not there, or from a node to itself.
    #[error("edge {0}-{1} does not join two of the {2} clients")]
    Edge(u32, u32, usize),
    /// More than one piece.
    #[error("the graph falls apart into {} components: {}", .0.len(), name_components(.0))]
    Disconnected(Vec<Vec<NodeId>>),
}

fn name_components(components: &[Vec<NodeId>]) -> String {
    let name = |c: &Vec<NodeId>| {
        let shown: Vec<String> = c.iter().take(5).map(|n| n.0.to_string()).collect();
        format!("{{{}{}}}", shown.join(", "), if c.len() > 5 { ", ..." } else { "" })
    };
    components.iter().map(name).collect::<Vec<_>>().join(" ")
}

impl Topology {
    /// From edges; each may be given once or twice.
    pub fn from_edges(n: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Result<Self, TopologyError> {
        let mut neighbours = vec![Vec::new(); n];
        for (a, b) in edges {
            if a == b || a as usize >= n || b as usize >= n {
                return Err(TopologyError::Edge(a, b, n));
            }
            neighbours[a as usize].push(NodeId(b));
            neighbours[b as usize].push(NodeId(a));
        }
        for list in &mut neighbours {
            list.sort_unstable();
            list.dedup();
        }
        Ok(Topology { neighbours })
    }

    /// Number of clients.
    pub fn len(&self) -> usize {
        self.neighbours.len()
    }

    /// No clients.
    pub fn is_empty(&self) -> bool {
        self.neighbours.is_empty()
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.neighbours.iter().map(Vec::len).sum::<usize>() / 2
    }

    /// Those a client can talk to.
    pub fn neighbours(&self, node: NodeId) -> &[NodeId] {
        &self.neighbours[node.index()]
    }

    /// Every edge once, the smaller end first.
    pub fn edge_list(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let ends = |(i, list): (usize, &Vec<NodeId>)| {
            let from = NodeId(i as u32);
            list.iter().filter(move |to| **to > from).map(move |to| (from, *to)).collect::<Vec<_>>()
        };
        self.neighbours.iter().enumerate().flat_map(ends)
    }

    /// Puts graphs side by side: clients are numbered through, and no edge joins two parts.
    pub fn side_by_side(parts: &[Topology]) -> Self {
        let mut neighbours = Vec::new();
        for part in parts {
            let first = neighbours.len() as u32;
            let shifted = |list: &Vec<NodeId>| list.iter().map(|node| NodeId(node.0 + first)).collect();
            neighbours.extend(part.neighbours.iter().map(shifted).collect::<Vec<Vec<_>>>());
        }
        Topology { neighbours }
    }

    /// The way to `root`: for each client of its component, the neighbour that is one hop nearer
    /// (the one with the smallest number, where there are several).
    pub fn tree(&self, root: NodeId) -> Vec<Option<NodeId>> {
        let distances = self.distances(root);
        let nearer = |node: usize| {
            let hops = distances[node]?;
            self.neighbours[node]
                .iter()
                .copied()
                .find(|next| distances[next.index()].is_some_and(|d| d + 1 == hops))
        };
        (0..self.len()).map(nearer).collect()
    }

    /// Hops from one client to each other one.
    pub fn distances(&self, from: NodeId) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.len()];
        distances[from.index()] = Some(0);
        let mut queue = VecDeque::from([(from, 0)]);
        while let Some((node, hops)) = queue.pop_front() {
            for &next in self.neighbours(node) {
                if distances[next.index()].is_none() {
                    distances[next.index()] = Some(hops + 1);
                    queue.push_back((next, hops + 1));
                }
            }
        }
        distances
    }

    /// The pieces, each in node order.
    pub fn components(&self) -> Vec<Vec<NodeId>> {
        let neighbours = |node: u32| self.neighbours(NodeId(node)).iter().map(|next| next.0);
        let found = components(self.len(), neighbours);
        found.into_iter().map(|members| members.into_iter().map(NodeId).collect()).collect()
    }

    /// Refuses a graph in pieces, and names them.
    pub fn connected(self) -> Result<Self, TopologyError> {
        let components = self.components();
        if components.len() > 1 { Err(TopologyError::Disconnected(components)) } else { Ok(self) }
    }

    /// Hops to the farthest client of the same component.
    pub fn eccentricity(&self, node: NodeId) -> u32 {
        self.distances(node).into_iter().flatten().max().unwrap_or(0)
    }

    /// The longest shortest path.
    pub fn diameter(&self) -> u32 {
        (0..self.len()).map(|i| self.eccentricity(NodeId(i as u32))).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_and_diameters_of_the_usual_graphs() {
        for (graph, edges, diameter) in
            [(Topology::star(50), 49, 2), (Topology::ring(50), 50, 25), (Topology::complete(50), 1225, 1)]
        {
            assert_eq!((graph.edges(), graph.diameter()), (edges, diameter));
        }
    }

    #[test]
    fn a_graph_in_pieces_is_refused_by_name() {
        let graph = Topology::from_edges(5, [(0, 1), (2, 3), (3, 4)]).unwrap();
        let error = graph.connected().unwrap_err();
        assert_eq!(error.to_string(), "the graph falls apart into 2 components: {0, 1} {2, 3, 4}");
        assert!(Topology::from_edges(3, [(0, 3)]).is_err());
    }

    #[test]
    fn a_tree_leads_every_client_to_its_root_by_a_shortest_way() {
        let graph = Topology::side_by_side(&[Topology::grid(3, 4), Topology::ring(5)]);
        let root = NodeId(5);
        let (tree, distances) = (graph.tree(root), graph.distances(root));
        for node in 0..graph.len() {
            match tree[node] {
                Some(next) => assert_eq!(distances[next.index()].unwrap() + 1, distances[node].unwrap()),
                None => assert!(node == root.index() || node >= 12),
            }
        }
        assert_eq!(graph.edge_list().count(), graph.edges());
        assert_eq!(graph.components().len(), 2);
    }
}
