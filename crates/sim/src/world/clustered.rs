//! The clustered world: clients of a cluster share their parameter exactly,
//! clusters lie apart (paper 000).

use cahoots_core::ParamError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contextual::{Contextual, Noise};
use super::linear::{LinearLaw, LinearParams};
use super::pool::PoolKind;
use super::vectors::centres;
use super::{Part, World, check};
use crate::arrivals::{ArrivalLaw, Arrivals};

/// Clusters where neither `clusters` nor `sizes` is given.
const CLUSTERS: usize = 4;

/// One linear model per cluster of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClusteredParams {
    /// Number of clients.
    #[schemars(range(min = 1))]
    pub clients: usize,
    /// Features of an arm.
    #[schemars(range(min = 1))]
    pub dim: usize,
    /// Arms offered per decision.
    #[schemars(range(min = 1))]
    pub arms: usize,
    /// Standard deviation of the Gaussian reward noise.
    #[schemars(range(min = 0.0))]
    pub reward_noise: f64,
    /// Who acts at a tick.
    pub arrivals: ArrivalLaw,
    /// Where the arms come from. Cluster parameters have unit norm; with `authors` they are drawn as
    /// unevenly as the arms, otherwise uniform on the sphere.
    pub pool: PoolKind,
    /// Rows of a finite pool; unused when the pool is `ball`.
    #[schemars(range(min = 1))]
    pub pool_size: usize,
    /// Number of clusters: 4, or as many as there are sizes.
    #[schemars(range(min = 1))]
    pub clusters: Option<usize>,
    /// Smallest distance between the parameters of two clusters.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub separation: f64,
    /// Clients of each cluster; they sum to the number of clients.
    pub sizes: Option<Vec<usize>>,
    /// Which clients belong to which cluster.
    pub assignment: Assignment,
}

/// Which clients belong to which cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// Each client to a cluster at random, so that some may stay empty; where sizes are given, a
    /// random choice of clients fills each.
    #[default]
    Random,
    /// Neighbours in the order of clients, in clusters of equal size (or of the given sizes).
    Even,
}

impl Default for ClusteredParams {
    fn default() -> ClusteredParams {
        ClusteredParams {
            clients: 30,
            dim: 25,
            arms: 25,
            reward_noise: 0.1,
            arrivals: ArrivalLaw::All,
            pool: PoolKind::Ball,
            pool_size: 1000,
            clusters: None,
            separation: 0.0,
            sizes: None,
            assignment: Assignment::Random,
        }
    }
}

impl ClusteredParams {
    /// Refuses what cannot be built; whether the separation can be had is only known by trying.
    pub fn check(&self) -> Result<(), ParamError> {
        self.linear().check()?;
        check::separation(self.separation)?;
        check::groups("clusters", self.count(), "clients", self.clients)?;
        let Some(sizes) = &self.sizes else { return Ok(()) };
        if self.count() != sizes.len() {
            let problem = format!("{} clusters but {} sizes: make them agree", self.count(), sizes.len());
            return Err(ParamError::new("clusters", problem));
        }
        if sizes.contains(&0) {
            return Err(ParamError::new("sizes", "each must be at least 1, not 0"));
        }
        let sum = sizes.iter().fold(0usize, |sum, size| sum.saturating_add(*size));
        if sum != self.clients {
            let problem = format!("must sum to clients ({}), not {sum}", self.clients);
            return Err(ParamError::new("sizes", problem));
        }
        Ok(())
    }

    pub(crate) fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        let linear = self.linear();
        let thetas = centres(seed, self.count(), self.dim, self.separation, self.pool.law())?;
        let law = LinearLaw::new(seed, thetas, self.membership(seed), &linear);
        let world = Contextual::new(linear.setting(horizon), seed, Noise::Gaussian(self.reward_noise), law);
        Ok((Box::new(world), Arrivals::new(&self.arrivals, self.clients, seed)))
    }

    /// Cluster of each client.
    pub(crate) fn membership(&self, seed: u64) -> Vec<u32> {
        let count = self.count();
        let mut draw = Part::Assignment.draw(seed, 0);
        let mut clusters: Vec<u32> = match &self.sizes {
            Some(sizes) => (0..).zip(sizes).flat_map(|(k, &size)| std::iter::repeat_n(k, size)).collect(),
            None if self.assignment == Assignment::Random => {
                return (0..self.clients).map(|_| draw.below(count as u64) as u32).collect();
            }
            None => (0..self.clients).map(|i| block(i, self.clients, count)).collect(),
        };
        if self.assignment == Assignment::Random {
            draw.shuffle(&mut clusters);
        }
        clusters
    }

    fn count(&self) -> usize {
        self.clusters.or(self.sizes.as_ref().map(Vec::len)).unwrap_or(CLUSTERS)
    }

    /// What a clustered world has in common with a linear one.
    fn linear(&self) -> LinearParams {
        LinearParams {
            clients: self.clients,
            dim: self.dim,
            arms: self.arms,
            reward_noise: self.reward_noise,
            arrivals: self.arrivals.clone(),
            pool: self.pool,
            pool_size: self.pool_size,
        }
    }
}

/// Group of member `i` when `members` in a row form `groups` of equal size, give or take one.
pub(crate) fn block(i: usize, members: usize, groups: usize) -> u32 {
    (i as u128 * groups as u128 / members as u128) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{ArmBuffer, ArmIndex, UserId};

    fn counts(clusters: &[u32]) -> Vec<usize> {
        let most = *clusters.iter().max().unwrap();
        (0..=most).map(|k| clusters.iter().filter(|cluster| **cluster == k).count()).collect()
    }

    #[test]
    fn sizes_and_assignments_are_as_asked() {
        let even = ClusteredParams { assignment: Assignment::Even, ..Default::default() };
        assert_eq!(counts(&even.membership(1)), [8, 7, 8, 7]);
        assert!(even.membership(1).is_sorted());

        let sizes = Some(vec![26, 2, 1, 1]);
        let sized = ClusteredParams { sizes: sizes.clone(), ..Default::default() };
        assert_eq!(Some(counts(&sized.membership(1))), sizes);
        assert!(!sized.membership(1).is_sorted());
        assert_ne!(sized.membership(1), sized.membership(2));
        let in_order = ClusteredParams { assignment: Assignment::Even, ..sized };
        assert_eq!(Some(counts(&in_order.membership(1))), sizes);
        assert!(in_order.membership(1).is_sorted());

        let random = ClusteredParams { clients: 40_000, ..Default::default() };
        let error = (40_000.0 * 0.25 * 0.75f64).sqrt();
        for size in counts(&random.membership(1)) {
            assert!((size as f64 - 10_000.0).abs() < 5.0 * error);
        }
    }

    #[test]
    fn a_cluster_shares_its_parameter_exactly() {
        // One arm, and as many as the pool holds: every client is offered the same row.
        let params = ClusteredParams {
            pool: PoolKind::Authors,
            pool_size: 1,
            arms: 1,
            clients: 12,
            assignment: Assignment::Even,
            ..Default::default()
        };
        let (mut world, _) = params.build(10, 3).unwrap();
        let mut arms = ArmBuffer::default();
        let worth: Vec<f64> = (0..12)
            .map(|user| {
                world.offer(1, UserId(user), &mut arms);
                world.pull(1, UserId(user), &arms, ArmIndex(0)).expected
            })
            .collect();
        for cluster in worth.chunks(3) {
            assert!(cluster.iter().all(|value| *value == cluster[0]));
        }
        assert_ne!(worth[0], worth[3]);
    }

    #[test]
    fn one_cluster_is_the_linear_world() {
        for pool in [PoolKind::Ball, PoolKind::Gaussian] {
            let clustered = ClusteredParams { clusters: Some(1), pool, ..Default::default() };
            let (mut one, _) = clustered.build(10, 3).unwrap();
            let (mut other, _) = clustered.linear().build(10, 3).unwrap();
            let mut arms = ArmBuffer::default();
            for tick in 1..5 {
                let pull = one.pull(tick, UserId(2), &arms, ArmIndex(4));
                other.offer(tick, UserId(2), &mut arms);
                assert_eq!(pull, other.pull(tick, UserId(2), &arms, ArmIndex(4)));
            }
        }
    }
}
