//! Who can talk to whom, for algorithms without a star in the middle.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::rng::Stream;

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

    fn valid(n: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        Self::from_edges(n, edges).expect("edges between clients")
    }

    /// Client 0 in the middle.
    pub fn star(n: usize) -> Self {
        Self::valid(n, (1..n as u32).map(|i| (0, i)))
    }

    /// Each client with two neighbours.
    pub fn ring(n: usize) -> Self {
        let size = n as u32;
        Self::valid(n, (0..size).map(|i| (i, (i + 1) % size)).filter(|(a, b)| a != b))
    }

    /// Everyone with everyone.
    pub fn complete(n: usize) -> Self {
        let size = n as u32;
        Self::valid(n, (0..size).flat_map(|i| (i + 1..size).map(move |j| (i, j))))
    }

    /// Each pair with probability `p`, drawn again until connected.
    pub fn random_connected(n: usize, p: f64, rng: &mut Stream) -> Option<Self> {
        let size = n as u32;
        (0..1000).find_map(|_| {
            let mut edges = Vec::new();
            for i in 0..size {
                for j in i + 1..size {
                    if rng.uniform() < p {
                        edges.push((i, j));
                    }
                }
            }
            Some(Self::valid(n, edges)).filter(|graph| graph.components().len() <= 1)
        })
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
        let mut seen = vec![false; self.len()];
        let mut components = Vec::new();
        for start in 0..self.len() {
            if seen[start] {
                continue;
            }
            let reached = self.distances(NodeId(start as u32));
            let component: Vec<NodeId> =
                (0..self.len()).filter(|&i| reached[i].is_some()).map(|i| NodeId(i as u32)).collect();
            component.iter().for_each(|node| seen[node.index()] = true);
            components.push(component);
        }
        components
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
    fn random_graphs_come_connected() {
        let mut rng = crate::Keys::from_seed(3).policy(NodeId(0), 0);
        let graph = Topology::random_connected(40, 0.15, &mut rng).unwrap();
        assert_eq!(graph.components().len(), 1);
    }
}
