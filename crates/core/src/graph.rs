//! Who is similar to whom, and the groups in which all are similar to all: the
//! maximal cliques, by Bron and Kerbosch's algorithm with Tomita's pivots on
//! bit sets. Their number can be exponential, so there is a cap, and a cover by
//! fewer cliques beyond it.

use serde::{Deserialize, Serialize};

use crate::components::components;

/// Branches looked at per clique asked for, before the search is called off.
const BRANCHES_PER_CLIQUE: usize = 64;

/// An undirected graph over 0..n.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    nodes: usize,
    /// One row of bits per node.
    rows: Vec<u64>,
}

/// Cliques that cover all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cliques {
    /// Each in the order of nodes; the list in lexicographic order.
    pub cliques: Vec<Vec<u32>>,
    /// All maximal cliques, or (beyond the cap) only as many as cover all nodes.
    pub complete: bool,
}

impl Graph {
    /// Without edges.
    pub fn new(nodes: usize) -> Self {
        Graph { nodes, rows: vec![0; nodes * words(nodes)] }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes
    }

    /// No nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// More nodes, without edges of their own yet.
    pub fn grow(&mut self, nodes: usize) {
        self.resize(nodes.max(self.nodes));
    }

    /// So many nodes: new ones without edges, or without the last ones and theirs.
    pub fn resize(&mut self, nodes: usize) {
        (nodes..self.nodes).for_each(|gone| self.isolate(gone));
        let mut resized = Graph::new(nodes);
        let kept = words(self.nodes.min(nodes));
        for i in 0..self.nodes.min(nodes) {
            resized.rows[i * words(nodes)..][..kept].copy_from_slice(&self.row(i)[..kept]);
        }
        *self = resized;
    }

    /// Removes all edges of a node, if there is one.
    pub fn isolate(&mut self, node: usize) {
        if node < self.nodes {
            (0..self.nodes).filter(|other| *other != node).for_each(|other| self.set(node, other, false));
        }
    }

    /// Is there an edge?
    pub fn has(&self, i: usize, j: usize) -> bool {
        contains(self.row(i), j as u32)
    }

    /// Adds or removes an edge.
    pub fn set(&mut self, i: usize, j: usize, edge: bool) {
        assert!(i != j && i < self.nodes && j < self.nodes, "no edge between {i} and {j}");
        let width = words(self.nodes);
        for (from, to) in [(i, j), (j, i)] {
            let word = &mut self.rows[from * width + to / 64];
            *word = *word & !(1 << (to % 64)) | u64::from(edge) << (to % 64);
        }
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        count(&self.rows) / 2
    }

    /// What hangs together: components in the order of their first nodes, each in order.
    pub fn components(&self) -> Vec<Vec<u32>> {
        components(self.nodes, |node| bits(self.row(node as usize)))
    }

    fn row(&self, i: usize) -> &[u64] {
        let width = words(self.nodes);
        &self.rows[i * width..][..width]
    }

    /// All maximal cliques among `members`, if there are no more than `cap`;
    /// otherwise a cover: for each member that is in none yet, one maximal clique
    /// that is grown greedily from it.
    pub fn cliques(&self, members: impl IntoIterator<Item = u32>, cap: usize) -> Cliques {
        let mut all = vec![0; words(self.nodes)];
        members.into_iter().for_each(|i| all[i as usize / 64] |= 1 << (i % 64));
        let (mut cliques, complete) = match self.enumerate(&all, cap) {
            Some(cliques) => (cliques, true),
            None => (self.cover(&all), false),
        };
        cliques.iter_mut().for_each(|clique| clique.sort_unstable());
        cliques.sort_unstable();
        Cliques { cliques, complete }
    }

    fn enumerate(&self, all: &[u64], cap: usize) -> Option<Vec<Vec<u32>>> {
        let mut cliques = Vec::new();
        if count(all) == 0 {
            return Some(cliques);
        }
        let mut branches = cap.saturating_mul(BRANCHES_PER_CLIQUE).saturating_add(4 * self.nodes);
        let mut clique: Vec<u32> = Vec::new();
        let mut stack = vec![self.frame(all.to_vec(), vec![0; all.len()])];
        while let Some(frame) = stack.last_mut() {
            let Some(v) = pop(&mut frame.todo) else {
                stack.pop();
                clique.pop();
                continue;
            };
            branches = branches.checked_sub(1)?;
            let neighbours = self.row(v as usize);
            let candidates = and(&frame.candidates, neighbours);
            let excluded = and(&frame.excluded, neighbours);
            frame.candidates[v as usize / 64] &= !(1 << (v % 64));
            frame.excluded[v as usize / 64] |= 1 << (v % 64);
            clique.push(v);
            if candidates.iter().all(|word| *word == 0) {
                if excluded.iter().all(|word| *word == 0) {
                    if cliques.len() == cap {
                        return None;
                    }
                    cliques.push(clique.clone());
                }
                clique.pop();
            } else {
                stack.push(self.frame(candidates, excluded));
            }
        }
        Some(cliques)
    }

    /// Only candidates that the pivot is no neighbour of need a branch of their own.
    fn frame(&self, candidates: Vec<u64>, excluded: Vec<u64>) -> Frame {
        let pivot = self.most_connected(&candidates, bits(&excluded).chain(bits(&candidates)));
        let todo = match pivot {
            Some(pivot) => candidates.iter().zip(self.row(pivot as usize)).map(|(c, n)| c & !n).collect(),
            None => candidates.clone(),
        };
        Frame { candidates, excluded, todo }
    }

    /// Of `choices`, the first with the most neighbours among `candidates`.
    fn most_connected(&self, candidates: &[u64], choices: impl Iterator<Item = u32>) -> Option<u32> {
        let most = count(candidates);
        let mut best = None;
        for u in choices {
            let shared: usize = count_and(candidates, self.row(u as usize));
            if best.is_none_or(|(_, before)| shared > before) {
                best = Some((u, shared));
                // A candidate is no neighbour of its own, so more than this is not possible.
                if shared + usize::from(contains(candidates, u)) == most {
                    break;
                }
            }
        }
        best.map(|(u, _)| u)
    }

    fn cover(&self, all: &[u64]) -> Vec<Vec<u32>> {
        let mut left = all.to_vec();
        let mut cliques = Vec::new();
        loop {
            let Some(start) = bits(&left).next() else { return cliques };
            let mut clique = vec![start];
            let mut candidates = and(all, self.row(start as usize));
            loop {
                // Those in no clique yet come first where several are as well connected.
                let new = and(&candidates, &left);
                let Some(u) = self.most_connected(&candidates, bits(&new).chain(bits(&candidates))) else {
                    break;
                };
                clique.push(u);
                candidates = and(&candidates, self.row(u as usize));
            }
            clique.iter().for_each(|&i| left[i as usize / 64] &= !(1 << (i % 64)));
            cliques.push(clique);
        }
    }
}

struct Frame {
    candidates: Vec<u64>,
    excluded: Vec<u64>,
    todo: Vec<u64>,
}

fn words(nodes: usize) -> usize {
    nodes.div_ceil(64)
}

fn contains(set: &[u64], i: u32) -> bool {
    set[i as usize / 64] >> (i % 64) & 1 == 1
}

fn count(set: &[u64]) -> usize {
    set.iter().map(|word| word.count_ones() as usize).sum()
}

fn count_and(a: &[u64], b: &[u64]) -> usize {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones() as usize).sum()
}

fn and(a: &[u64], b: &[u64]) -> Vec<u64> {
    a.iter().zip(b).map(|(a, b)| a & b).collect()
}

/// Takes the first member.
fn pop(set: &mut [u64]) -> Option<u32> {
    let (at, word) = set.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
    let bit = word.trailing_zeros();
    *word &= *word - 1;
    Some(64 * at as u32 + bit)
}

/// Members in order.
fn bits(set: &[u64]) -> impl Iterator<Item = u32> {
    set.iter().enumerate().flat_map(|(at, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| 64 * at as u32 + rest.trailing_zeros());
            rest &= rest.wrapping_sub(1);
            bit
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn graph(nodes: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Graph {
        let mut graph = Graph::new(nodes);
        edges.into_iter().for_each(|(i, j)| graph.set(i, j, true));
        graph
    }

    fn all_pairs(nodes: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..nodes).flat_map(|j| (0..j).map(move |i| (i, j)))
    }

    fn is_clique(graph: &Graph, set: &[u32]) -> bool {
        set.iter().all(|&i| set.iter().all(|&j| i == j || graph.has(i as usize, j as usize)))
    }

    fn is_maximal(graph: &Graph, set: &[u32]) -> bool {
        (0..graph.len() as u32)
            .filter(|v| !set.contains(v))
            .all(|v| set.iter().any(|&i| !graph.has(i as usize, v as usize)))
    }

    proptest! {
        #[test]
        fn cliques_are_all_the_maximal_ones(nodes in 1usize..11, density in 0.0f64..1.0, seed: u64) {
            let mut rng = crate::Keys::from_seed(seed).policy(crate::NodeId(0), 0);
            let graph = graph(nodes, all_pairs(nodes).filter(|_| rng.uniform() < density));
            let mut expected: Vec<Vec<u32>> = (1u32..1 << nodes)
                .map(|set| (0..nodes as u32).filter(|i| set >> i & 1 == 1).collect::<Vec<u32>>())
                .filter(|set| is_clique(&graph, set) && is_maximal(&graph, set))
                .collect();
            expected.sort();
            let found = graph.cliques(0..nodes as u32, 10_000);
            prop_assert!(found.complete);
            prop_assert_eq!(&found.cliques, &expected);
            // Exactly as many as allowed is still complete.
            prop_assert_eq!(graph.cliques(0..nodes as u32, expected.len()), found);
            let fewer = graph.cliques(0..nodes as u32, expected.len() - 1);
            prop_assert!(!fewer.complete);
            prop_assert!(fewer.cliques.iter().all(|c| is_clique(&graph, c) && is_maximal(&graph, c)));
            for v in 0..nodes as u32 {
                prop_assert!(fewer.cliques.iter().any(|clique| clique.contains(&v)));
            }
        }
    }

    #[test]
    fn figure_1_one_client_may_be_in_two_clusters() {
        let graph = graph(5, [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)]);
        assert_eq!(graph.cliques(0..5, 10).cliques, [vec![0, 1, 2], vec![2, 3, 4]]);
        assert_eq!(graph.cliques([0, 1, 4], 10).cliques, [vec![0, 1], vec![4]]);
        assert_eq!(graph.cliques([], 10).cliques, Vec::<Vec<u32>>::new());
    }

    #[test]
    fn disjoint_clusters_of_a_thousand_are_found_at_once() {
        let cluster = |i: usize| i % 7;
        let graph = graph(1000, all_pairs(1000).filter(|(i, j)| cluster(*i) == cluster(*j)));
        let found = graph.cliques(0..1000, 7);
        assert!(found.complete && found.cliques.len() == 7);
        assert!(
            found.cliques.iter().all(|c| c.iter().all(|&i| cluster(i as usize) == cluster(c[0] as usize)))
        );
    }

    #[test]
    fn a_graph_with_too_many_cliques_is_covered_by_few() {
        // Moon and Moser 1965: 3^20 maximal cliques in 60 nodes.
        let graph = graph(60, all_pairs(60).filter(|(i, j)| i / 3 != j / 3));
        let found = graph.cliques(0..60, 1000);
        assert!(!found.complete && found.cliques.len() == 3);
        assert!(found.cliques.iter().all(|c| c.len() == 20 && is_clique(&graph, c)));
    }

    #[test]
    fn components_are_what_hangs_together() {
        let graph = graph(130, [(0, 3), (3, 129), (5, 70)]);
        let found = graph.components();
        assert_eq!(&found[..2], [vec![0, 3, 129], vec![1]]);
        assert!(found.contains(&vec![5, 70]));
        assert_eq!(found.len(), 127);
        assert_eq!(Graph::new(0).components(), Vec::<Vec<u32>>::new());
    }

    #[test]
    fn edges_come_and_go_and_survive_growth() {
        let mut graph = graph(3, [(0, 2)]);
        graph.grow(130);
        graph.set(129, 0, true);
        assert!(graph.has(0, 2) && graph.has(0, 129) && !graph.has(1, 2));
        assert_eq!((graph.edges(), graph.len()), (2, 130));
        graph.set(2, 0, false);
        assert!(!graph.has(0, 2) && graph.edges() == 1);
    }

    #[test]
    fn a_node_that_is_gone_leaves_no_trace() {
        let all = [(0, 1), (0, 63), (1, 64), (64, 128), (63, 128), (5, 128)];
        let without = |gone: usize| all.into_iter().filter(move |(i, j)| *i != gone && *j != gone);
        let mut isolated = graph(129, all);
        isolated.isolate(64);
        isolated.isolate(999);
        assert_eq!(isolated, graph(129, without(64)));
        let mut cut = graph(129, all);
        cut.resize(128);
        assert_eq!(cut, graph(128, without(128)));
        cut.resize(2);
        assert_eq!(cut, graph(2, [(0, 1)]));
        cut.resize(129);
        assert_eq!(cut, graph(129, [(0, 1)]));
    }
}
