//! Graphs by name. Those that are drawn come connected, or not at all.

use super::Topology;
use crate::rng::Stream;

/// Drawings of a random graph before it is given up.
const ATTEMPTS: usize = 1000;

impl Topology {
    fn valid(n: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        Self::from_edges(n, edges).expect("edges between clients")
    }

    fn is_connected(&self) -> bool {
        self.components().len() <= 1
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

    /// A rectangle, row by row.
    pub fn grid(rows: usize, columns: usize) -> Self {
        let (rows, columns) = (rows as u32, columns as u32);
        let place = |row: u32, column: u32| row * columns + column;
        let right = (0..rows).flat_map(|r| (1..columns).map(move |c| (place(r, c - 1), place(r, c))));
        let down = (1..rows).flat_map(|r| (0..columns).map(move |c| (place(r - 1, c), place(r, c))));
        Self::valid((rows * columns) as usize, right.chain(down))
    }

    /// Each pair with probability `p`, drawn again until connected.
    pub fn random_connected(n: usize, p: f64, rng: &mut Stream) -> Option<Self> {
        let size = n as u32;
        (0..ATTEMPTS).find_map(|_| {
            let mut edges = Vec::new();
            for i in 0..size {
                for j in i + 1..size {
                    if rng.uniform() < p {
                        edges.push((i, j));
                    }
                }
            }
            Some(Self::valid(n, edges)).filter(Self::is_connected)
        })
    }

    /// Each client with `degree` neighbours, drawn: free ends are joined in pairs at random, never
    /// twice the same pair, and again from the start where that comes to a dead end.
    pub fn random_regular(n: usize, degree: usize, rng: &mut Stream) -> Option<Self> {
        if degree >= n || !(n * degree).is_multiple_of(2) {
            return None;
        }
        (0..ATTEMPTS).find_map(|_| {
            let graph = pairs(n, degree, rng).map(|edges| Self::valid(n, edges))?;
            Some(graph).filter(Self::is_connected)
        })
    }

    /// A ring of `neighbours` nearest neighbours, half of them on each side; each edge's far end is
    /// moved to a client drawn at random with probability `rewire` (Watts and Strogatz). Drawn again
    /// until connected.
    pub fn small_world(n: usize, neighbours: usize, rewire: f64, rng: &mut Stream) -> Option<Self> {
        if neighbours < 2 || !neighbours.is_multiple_of(2) || neighbours >= n {
            return None;
        }
        (0..ATTEMPTS).find_map(|_| {
            let mut joined = vec![vec![false; n]; n];
            let near = |i: usize, hop: usize| (i + hop) % n;
            for hop in 1..=neighbours / 2 {
                for i in 0..n {
                    let j = near(i, hop);
                    (joined[i][j], joined[j][i]) = (true, true);
                }
            }
            for hop in 1..=neighbours / 2 {
                for i in 0..n {
                    let j = near(i, hop);
                    let degree = joined[i].iter().filter(|edge| **edge).count();
                    if rng.uniform() >= rewire || degree == n - 1 {
                        continue;
                    }
                    let free: Vec<usize> = (0..n).filter(|k| *k != i && !joined[i][*k]).collect();
                    let k = free[rng.below(free.len() as u64) as usize];
                    (joined[i][j], joined[j][i]) = (false, false);
                    (joined[i][k], joined[k][i]) = (true, true);
                }
            }
            let edges = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
            let edges = edges.filter(|(i, j)| joined[*i][*j]).map(|(i, j)| (i as u32, j as u32));
            Some(Self::valid(n, edges)).filter(Self::is_connected)
        })
    }
}

/// One attempt at a regular graph.
fn pairs(n: usize, degree: usize, rng: &mut Stream) -> Option<Vec<(u32, u32)>> {
    let mut ends: Vec<u32> = (0..n as u32).flat_map(|i| std::iter::repeat_n(i, degree)).collect();
    let mut joined = vec![vec![false; n]; n];
    let mut edges = Vec::with_capacity(n * degree / 2);
    while !ends.is_empty() {
        let fits = |a: u32, b: u32, joined: &[Vec<bool>]| a != b && !joined[a as usize][b as usize];
        let mut found = None;
        for _ in 0..100 {
            let a = rng.below(ends.len() as u64) as usize;
            let b = rng.below(ends.len() as u64) as usize;
            if fits(ends[a], ends[b], &joined) {
                found = Some((a.max(b), a.min(b)));
                break;
            }
        }
        // Unlucky, or nothing fits any more: start again.
        let (a, b) = found?;
        let (i, j) = (ends.swap_remove(a), ends.swap_remove(b));
        (joined[i as usize][j as usize], joined[j as usize][i as usize]) = (true, true);
        edges.push((i, j));
    }
    Some(edges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;

    fn stream(seed: u64) -> Stream {
        crate::Keys::from_seed(seed).policy(NodeId(0), 0)
    }

    #[test]
    fn random_graphs_come_connected() {
        for seed in 0..20 {
            let mut rng = stream(seed);
            assert!(Topology::random_connected(40, 0.15, &mut rng).unwrap().is_connected());
            assert!(Topology::small_world(40, 4, 0.3, &mut rng).unwrap().is_connected());
        }
        assert!(Topology::random_connected(40, 0.0, &mut stream(1)).is_none());
    }

    #[test]
    fn regular_graphs_are_regular() {
        for (n, degree) in [(50, 3), (50, 4), (10, 9), (12, 5), (2, 1)] {
            let graph = Topology::random_regular(n, degree, &mut stream(n as u64)).unwrap();
            assert!((0..n as u32).all(|i| graph.neighbours(NodeId(i)).len() == degree), "{n}, {degree}");
            assert!(graph.is_connected());
        }
        assert!(Topology::random_regular(5, 3, &mut stream(1)).is_none(), "an odd number of ends");
        assert!(Topology::random_regular(5, 5, &mut stream(1)).is_none());
    }

    #[test]
    fn a_small_world_is_a_ring_that_was_rewired() {
        let ring = Topology::small_world(20, 4, 0.0, &mut stream(1)).unwrap();
        assert_eq!((ring.edges(), ring.diameter()), (40, 5));
        let world = Topology::small_world(200, 4, 0.5, &mut stream(1)).unwrap();
        assert_eq!(world.edges(), 400);
        assert!(world.diameter() < 15, "a ring of this size would have 50");
        assert!(Topology::small_world(20, 3, 0.1, &mut stream(1)).is_none());
    }

    #[test]
    fn a_grid_has_its_shape() {
        let grid = Topology::grid(7, 7);
        assert_eq!((grid.len(), grid.edges(), grid.diameter()), (49, 84, 12));
        assert_eq!(Topology::grid(1, 4).edges(), 3);
    }
}
