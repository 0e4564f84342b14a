//! Sums that grow, released again and again (binary counting: Chan, Shi and Song 2011). Leaf i holds what
//! came between release i - 1 and release i; the sum of the first i leaves is made of as many nodes as i has
//! binary ones, each with noise of its own. One observation is in one node per level, so the whole tree is
//! one Gaussian mechanism, however often its sums are asked for.

use cahoots_core::{Stream, Symmetric};
use serde::{Deserialize, Serialize};

use crate::gaussian::Gaussian;

/// Noise on a Gram matrix and a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Perturbation {
    /// On the Gram matrix.
    pub gram: Symmetric,
    /// On the moment.
    pub moment: Box<[f64]>,
}

impl Perturbation {
    fn zero(dim: usize) -> Self {
        Perturbation { gram: Symmetric::zero(dim), moment: vec![0.0; dim].into() }
    }

    fn add(&mut self, other: &Perturbation, sign: f64) {
        let values = self.gram.packed_mut().iter_mut().zip(other.gram.packed());
        values.for_each(|(a, b)| *a += sign * b);
        self.moment.iter_mut().zip(&other.moment).for_each(|(a, b)| *a += sign * b);
    }

    /// `self` without `other`.
    pub fn minus(&self, other: Option<&Perturbation>) -> Perturbation {
        let mut difference = self.clone();
        other.into_iter().for_each(|other| difference.add(other, -1.0));
        difference
    }
}

/// A tree: its present nodes. Noise is drawn when the sum that needs it is released, and not before: whoever
/// goes on from an old copy of a tree draws anew for all that the copy has not released.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    noise: Gaussian,
    levels: u32,
    dim: usize,
    /// Leaves that are closed.
    leaves: u64,
    /// Noise of the node of each level that is part of the last sum.
    nodes: Vec<Option<Perturbation>>,
}

/// Levels of a tree for this many releases: the first leaf is in the nodes that end with leaves 1, 2, 4, ..., and no
/// leaf is in more. (Algorithm 5, line 2, counts one more: ceil(log2(releases + 1)) + 1.)
pub fn levels_for(releases: u64) -> u32 {
    u64::BITS - releases.max(1).leading_zeros()
}

/// Nodes in a sum, however large a tree is: a number of leaves has 64 binary digits at most.
const MOST_NODES: f64 = 64.0;

/// Deviation of the noise in one message off the diagonal, at most: an upload carries the difference of two sums'
/// noise. On the diagonal it is sqrt 2 times as much.
pub fn spread(noise: &Gaussian) -> f64 {
    noise.deviation() * (2.0 * MOST_NODES).sqrt()
}

impl Tree {
    /// A tree that has been asked for nothing yet.
    pub fn new(noise: Gaussian, dim: usize, levels: u32) -> Tree {
        Tree { noise, levels, dim, leaves: 0, nodes: Vec::new() }
    }

    /// The nodes that one observation is in.
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// All leaves are closed: one sum more would put observations into a node that nobody has paid for.
    pub fn is_full(&self) -> bool {
        self.leaves >= (1 << self.levels) - 1
    }

    /// Closes the leaf and gives the perturbation of the sum up to it. The tree must not be full.
    pub fn close(&mut self, rng: &mut Stream) -> Perturbation {
        assert!(!self.is_full(), "a sum more than the noise was made for");
        self.leaves += 1;
        // The node that ends with this leaf takes the place of all those below it.
        let level = self.leaves.trailing_zeros() as usize;
        if self.nodes.len() <= level {
            self.nodes.resize(level + 1, None);
        }
        self.nodes[..level].fill(None);
        self.nodes[level] = Some(self.node(rng));
        let mut sum = Perturbation::zero(self.dim);
        self.nodes.iter().flatten().for_each(|node| sum.add(node, 1.0));
        sum
    }

    fn node(&self, rng: &mut Stream) -> Perturbation {
        let mut node = Perturbation::zero(self.dim);
        self.noise.perturb(&mut node.gram, &mut node.moment, rng);
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{Keys, NodeId};

    fn rng(seed: u64) -> Stream {
        Keys::from_seed(seed).privacy(NodeId(0), 0)
    }

    fn noise(deviation: f64) -> Gaussian {
        Gaussian::of_deviation("noise", deviation).unwrap()
    }

    #[test]
    fn no_leaf_is_in_more_nodes_than_there_are_levels() {
        for releases in [1u64, 2, 3, 4, 511, 512, 513] {
            // Leaf i is in the node that ends with leaf j if that holds the leaves from j - lowest bit of j on.
            let nodes = |leaf: u64| (leaf..=releases).filter(|j| j - (j & j.wrapping_neg()) < leaf).count();
            let most = (1..=releases).map(nodes).max().unwrap();
            assert_eq!(most as u32, levels_for(releases), "{releases} releases");
        }
    }

    /// The noise of sum i has as many nodes as i has ones: its variance says so.
    #[test]
    fn a_sum_has_the_noise_of_its_nodes() {
        let (trials, s) = (3000, 5.0);
        let mut squares = [0.0f64; 8];
        for seed in 0..trials {
            let mut rng = rng(seed);
            let mut tree = Tree::new(noise(s), 1, 4);
            for square in &mut squares {
                let now = tree.close(&mut rng);
                *square += now.moment[0] * now.moment[0] / trials as f64;
            }
        }
        for (i, square) in squares.iter().enumerate() {
            let expected = s * s * f64::from((i as u32 + 1).count_ones());
            let error = expected * (2.0 / trials as f64).sqrt();
            assert!((square - expected).abs() < 5.0 * error, "sum {}: {square} for {expected}", i + 1);
        }
    }

    #[test]
    fn the_diagonal_has_twice_the_variance() {
        let (trials, s) = (4000, 3.0);
        let (mut diagonal, mut off) = (0.0, 0.0);
        for seed in 0..trials {
            let gram = Tree::new(noise(s), 2, 1).close(&mut rng(seed)).gram;
            diagonal += gram.get(0, 0) * gram.get(0, 0) / trials as f64;
            off += gram.get(1, 0) * gram.get(1, 0) / trials as f64;
        }
        let error = (2.0 / trials as f64).sqrt();
        assert!((off / (s * s) - 1.0).abs() < 5.0 * error, "{off}");
        assert!((diagonal / (2.0 * s * s) - 1.0).abs() < 5.0 * error, "{diagonal}");
    }

    #[test]
    #[should_panic(expected = "a sum more than the noise was made for")]
    fn a_tree_out_of_leaves_gives_no_sum() {
        let mut rng = rng(6);
        // Two levels: three leaves.
        let mut tree = Tree::new(noise(2.0), 1, 2);
        for _ in 0..3 {
            assert!(!tree.is_full());
            tree.close(&mut rng);
        }
        assert!(tree.is_full());
        tree.close(&mut rng);
    }

    #[test]
    fn a_restored_tree_goes_on_with_the_same_noise() {
        let keys = Keys::from_seed(8);
        let mut rng = keys.privacy(NodeId(0), 0);
        let mut tree = Tree::new(noise(2.0), 2, 4);
        tree.close(&mut rng);
        let bytes = cahoots_core::snapshot::save(&tree);
        let mut restored: Tree = cahoots_core::snapshot::restore(&bytes).unwrap();
        let mut again = keys.privacy(NodeId(0), rng.position());
        for _ in 0..6 {
            assert_eq!(restored.close(&mut again), tree.close(&mut rng));
        }
    }
}
