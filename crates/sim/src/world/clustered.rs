//! The clustered world: clients of a cluster share their parameter, exactly or
//! nearly so, clusters lie apart (HetoFedBandit).

use cahoots_core::ParamError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contextual::{Contextual, RewardNoise};
use super::linear::{LinearLaw, LinearParams, ThetaKind, is_zero};
use super::pool::PoolKind;
use super::vectors::{anisotropic, centres, on_sphere};
use super::{World, WorldKind, WorldPart, check};
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
    #[schemars(range(min = 0.0, max = 1e100))]
    pub reward_noise: f64,
    /// Who acts at a tick.
    pub arrivals: ArrivalLaw,
    /// Where the arms come from.
    pub pool: PoolKind,
    /// Rows of a finite pool; unused when arms are fresh (`ball`, `cube`).
    #[schemars(range(min = 1))]
    pub pool_size: usize,
    /// Number of clusters: 4, or as many as there are sizes.
    #[schemars(range(min = 1))]
    pub clusters: Option<usize>,
    /// Where the parameters of clusters come from.
    pub centres: Centres,
    /// Smallest distance between the parameters of two clusters.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub separation: f64,
    /// Largest distance of a client's own parameter from its cluster's: 0 where they share it exactly (HetoFedBandit: 1 / (N sqrt T)).
    #[schemars(range(min = 0.0, max = 1e100))]
    pub spread: f64,
    /// Clients of each cluster; they sum to the number of clients.
    pub sizes: Option<Vec<usize>>,
    /// Which clients belong to which cluster.
    pub assignment: Assignment,
    /// Ticks from which on clients have new parameters; none for a world that does not change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<u64>,
    /// What changes at those ticks.
    pub changing: Changing,
    /// Radians that all parameters turn in 1000 ticks, pair of features by pair: how far clusters are apart stays. 0
    /// where they do not.
    #[schemars(range(min = 0.0, max = 1000.0))]
    #[serde(skip_serializing_if = "is_zero")]
    pub drift: f64,
}

/// What changes at a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Changing {
    /// Every cluster has a new parameter.
    #[default]
    Parameters,
    /// Clients are assigned to the same clusters anew, at random.
    Assignment,
}

/// Where the parameters of clusters come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Centres {
    /// Uniform on the unit sphere.
    #[default]
    Sphere,
    /// As the rows of the pool `authors`: of norm 1, with more weight on the first features.
    Authors,
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
            arrivals: ArrivalLaw::default(),
            pool: PoolKind::Ball,
            pool_size: 1000,
            clusters: None,
            centres: Centres::Sphere,
            separation: 0.0,
            spread: 0.0,
            sizes: None,
            assignment: Assignment::Random,
            changes: Vec::new(),
            changing: Changing::Parameters,
            drift: 0.0,
        }
    }
}

impl WorldKind for ClusteredParams {
    const NAME: &'static str = "clustered";
    const SUMMARY: &'static str = "one linear model per cluster of clients";

    // Whether the separation can be had is only known by trying.
    fn check(&self) -> Result<(), ParamError> {
        self.linear().check()?;
        check::separation(self.separation)?;
        check::deviation("spread", self.spread)?;
        check::groups("clusters", self.count(), "clients", self.clients)?;
        if self.changes.first() == Some(&0) || !self.changes.is_sorted_by(|a, b| a < b) {
            return Err(ParamError::new("changes", "must be ticks from 1 on, each after the one before"));
        }
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

    fn bytes(&self) -> f64 {
        let epochs = 1.0 + self.changes.len() as f64;
        let parameters = if self.spread > 0.0 { self.clients } else { self.count() };
        self.linear().bytes()
            + epochs * (4.0 * self.clients as f64 + 8.0 * self.dim as f64 * parameters as f64)
    }

    fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        let linear = self.linear();
        let (count, epochs) = (self.count(), 1 + self.changes.len());
        let lists = if self.changing == Changing::Parameters { epochs } else { 1 };
        let law = match self.centres {
            Centres::Sphere => on_sphere,
            Centres::Authors => anisotropic,
        };
        let mut thetas = centres(seed, count * lists, self.dim, self.separation, law)?;
        let mut clusters: Vec<u32> = (0..epochs).flat_map(|epoch| self.membership_in(seed, epoch)).collect();
        if self.spread > 0.0 {
            thetas = self.own_parameters(seed, &thetas, &clusters);
            clusters = (0..clusters.len() as u32).collect();
        }
        let law = LinearLaw::new(seed, thetas, clusters, &linear).changing(self.changes.clone());
        let world =
            Contextual::new(linear.setting(horizon), seed, RewardNoise::Gaussian(self.reward_noise), law);
        Ok((Box::new(world), Arrivals::new(&self.arrivals, self.clients, seed)))
    }
}

impl ClusteredParams {
    /// A parameter for every client and epoch: its cluster's, and its own step away from it, in a random
    /// direction and of a length uniform up to `spread`.
    fn own_parameters(&self, seed: u64, thetas: &[f64], clusters: &[u32]) -> Vec<f64> {
        let mut step = vec![0.0; self.dim];
        let own = clusters.iter().enumerate().flat_map(|(place, &cluster)| {
            let mut draw = WorldPart::Deviation.draw(seed, (place % self.clients) as u64);
            on_sphere(&mut draw, &mut step);
            let length = self.spread * draw.uniform();
            let centre = &thetas[cluster as usize * self.dim..][..self.dim];
            centre.iter().zip(&step).map(|(x, direction)| x + length * direction).collect::<Vec<f64>>()
        });
        own.collect()
    }

    /// Parameter of each client after so many changes.
    fn membership_in(&self, seed: u64, epoch: usize) -> Vec<u32> {
        match self.changing {
            Changing::Parameters => {
                let first = (epoch * self.count()) as u32;
                self.membership(seed, 0).into_iter().map(|cluster| first + cluster).collect()
            }
            Changing::Assignment => self.membership(seed, epoch),
        }
    }

    /// Cluster of each client, drawn for the `epoch`-th time.
    fn membership(&self, seed: u64, epoch: usize) -> Vec<u32> {
        let count = self.count();
        let mut draw = WorldPart::Assignment.draw(seed, epoch as u64);
        let mut clusters: Vec<u32> = match &self.sizes {
            Some(sizes) => (0..).zip(sizes).flat_map(|(k, &size)| std::iter::repeat_n(k, size)).collect(),
            None if self.assignment == Assignment::Random => {
                return (0..self.clients).map(|_| draw.below(count as u64) as u32).collect();
            }
            None => (0..self.clients).map(|i| block(i, self.clients, count)).collect(),
        };
        if self.assignment == Assignment::Random || epoch > 0 {
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
            theta: ThetaKind::default(),
            drift: self.drift,
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
        assert_eq!(counts(&even.membership(1, 0)), [8, 7, 8, 7]);
        assert!(even.membership(1, 0).is_sorted());

        let sizes = Some(vec![26, 2, 1, 1]);
        let sized = ClusteredParams { sizes: sizes.clone(), ..Default::default() };
        assert_eq!(Some(counts(&sized.membership(1, 0))), sizes);
        assert!(!sized.membership(1, 0).is_sorted());
        assert_ne!(sized.membership(1, 0), sized.membership(2, 0));
        let in_order = ClusteredParams { assignment: Assignment::Even, ..sized };
        assert_eq!(Some(counts(&in_order.membership(1, 0))), sizes);
        assert!(in_order.membership(1, 0).is_sorted());

        let random = ClusteredParams { clients: 40_000, ..Default::default() };
        let error = (40_000.0 * 0.25 * 0.75f64).sqrt();
        for size in counts(&random.membership(1, 0)) {
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
    fn centres_may_have_more_weight_on_the_first_features() {
        // The reward of a random arm of the same kind then spreads by sqrt(4 d / (3 (d + 1))) more.
        let spread = |law| {
            let params = ClusteredParams {
                pool: PoolKind::Authors,
                centres: law,
                clients: 400,
                clusters: Some(400),
                assignment: Assignment::Even,
                ..Default::default()
            };
            let (mut world, _) = params.build(10, 3).unwrap();
            let mut arms = ArmBuffer::default();
            let squares = (0..400).map(|user| {
                world.offer(1, UserId(user), &mut arms);
                let arm = |arm| world.pull(1, UserId(user), &arms, ArmIndex(arm)).expected;
                (0..25).map(arm).map(|mean| mean * mean).sum::<f64>()
            });
            squares.sum::<f64>() / 10_000.0
        };
        let (even, uneven) = (spread(Centres::Sphere), spread(Centres::Authors));
        // 400 parameters: a standard error of a few hundredths.
        assert!((even * 25.0 - 1.0).abs() < 0.1, "{even}");
        assert!((uneven * 25.0 - 1.3).abs() < 0.15, "{uneven}");
    }

    #[test]
    fn with_a_spread_every_client_has_its_own_parameter_near_its_clusters() {
        let together = ClusteredParams {
            clients: 12,
            assignment: Assignment::Even,
            changes: vec![4],
            ..Default::default()
        };
        let apart = ClusteredParams { spread: 0.01, ..together.clone() };
        for tick in [3, 4] {
            let (centres, own) = (worth(&together, tick), worth(&apart, tick));
            let gaps: Vec<f64> = centres.iter().zip(&own).map(|(x, y)| (x - y).abs()).collect();
            assert!(gaps.iter().all(|gap| *gap > 0.0 && *gap <= 0.01), "{gaps:?}");
            assert!(own.is_sorted_by(|x, y| x != y), "{own:?}");
        }
    }

    /// What the only arm of a pool is worth to each of twelve clients.
    fn worth(params: &ClusteredParams, tick: u64) -> Vec<f64> {
        let one_arm = ClusteredParams { pool: PoolKind::Gaussian, pool_size: 1, arms: 1, ..params.clone() };
        let (mut world, _) = one_arm.build(10, 3).unwrap();
        let mut arms = ArmBuffer::default();
        let expected = |user| {
            world.offer(tick, UserId(user), &mut arms);
            world.pull(tick, UserId(user), &arms, ArmIndex(0)).expected
        };
        (0..12).map(expected).collect()
    }

    #[test]
    fn parameters_change_when_they_should_and_members_stay_together() {
        let still = ClusteredParams { clients: 12, assignment: Assignment::Even, ..Default::default() };
        let changing = ClusteredParams { changes: vec![4, 7], ..still.clone() };
        assert_eq!(worth(&changing, 3), worth(&still, 3), "the same world until the first change");
        assert_eq!(worth(&changing, 4), worth(&changing, 6));
        for (before, after) in [(3, 4), (6, 7)] {
            let (before, after) = (worth(&changing, before), worth(&changing, after));
            assert!(before.iter().zip(&after).all(|(a, b)| a != b));
            assert!(after.chunks(3).all(|cluster| cluster.iter().all(|value| *value == cluster[0])));
        }
    }

    #[test]
    fn clients_may_move_between_clusters_instead() {
        let still = ClusteredParams { clients: 12, assignment: Assignment::Even, ..Default::default() };
        let moving = ClusteredParams { changes: vec![4], changing: Changing::Assignment, ..still };
        let (mut before, mut after) = (worth(&moving, 3), worth(&moving, 4));
        assert_ne!(before, after);
        before.sort_by(f64::total_cmp);
        after.sort_by(f64::total_cmp);
        assert_eq!(before, after, "the clusters keep their parameters and their sizes");
    }

    #[test]
    fn one_cluster_is_the_linear_world() {
        for pool in [PoolKind::Ball, PoolKind::Cube, PoolKind::Gaussian, PoolKind::Authors] {
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
