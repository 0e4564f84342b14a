//! The split world: an arm has features whose parameter all clients share, and
//! features whose parameter is the client's own (Async-LinUCB-AM, Figure 3 of its paper).
//!
//! Both parameters are uniform on their unit spheres. With fresh arms both
//! feature vectors are uniform in their unit balls (or cubes), independently; a row of a
//! finite pool has the length of both together and is cut in two, the shared
//! features first. A client's own parameter is drawn again when it is needed, so
//! that idle clients cost no memory.

use cahoots_core::{ArmBuffer, ParamError, Setting, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contextual::{Contextual, Law, RewardNoise};
use super::linear::pool_bytes;
use super::pool::{Fresh, Pool, PoolKind};
use super::vectors::{dot, on_sphere};
use super::{World, WorldKind, WorldPart, check};
use crate::arrivals::{ArrivalLaw, Arrivals};
use crate::draw::Draw;

/// A shared linear model, and one more for each client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SplitParams {
    /// Number of clients.
    #[schemars(range(min = 1))]
    pub clients: usize,
    /// Features whose parameter all clients share.
    #[schemars(range(min = 1))]
    pub dim_global: usize,
    /// Features whose parameter is the client's own: 13, or with shared features as many as are global.
    pub dim_local: Option<LocalDim>,
    /// The multi-task case: the local features are the same vector as the global ones.
    pub shared_features: bool,
    /// Arms offered per decision.
    #[schemars(range(min = 1))]
    pub arms: usize,
    /// Standard deviation of the Gaussian reward noise.
    #[schemars(range(min = 0.0, max = 1e100))]
    pub reward_noise: f64,
    /// Who acts at a tick.
    pub arrivals: ArrivalLaw,
    /// Where the arms come from. A row of a finite pool is cut in two, global features first.
    pub pool: PoolKind,
    /// Rows of a finite pool; unused when arms are fresh (`ball`, `cube`).
    #[schemars(range(min = 1))]
    pub pool_size: usize,
}

/// Features of a client's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "dim_local must be a number, { per_client = [...] } or { total = number }"
)]
pub enum LocalDim {
    /// The same number for every client.
    Same(#[schemars(range(min = 1))] usize),
    /// One number per client.
    PerClient {
        /// Features of each client.
        per_client: Vec<usize>,
    },
    /// As many as give every client so many features in all.
    Total {
        /// Global and local features together.
        #[schemars(range(min = 2))]
        total: usize,
    },
}

/// Features of each client's own, worked out.
#[derive(Clone, Debug)]
enum LocalDims {
    Same(usize),
    PerClient(Vec<usize>),
}

impl LocalDims {
    fn of(&self, user: UserId) -> usize {
        match self {
            LocalDims::Same(dim) => *dim,
            LocalDims::PerClient(per_client) => per_client[user.index()],
        }
    }

    fn largest(&self) -> usize {
        match self {
            LocalDims::Same(dim) => *dim,
            LocalDims::PerClient(per_client) => per_client.iter().copied().max().unwrap_or(0),
        }
    }

    fn check(&self, clients: usize) -> Result<(), ParamError> {
        match self {
            LocalDims::Same(dim) => check::count("dim_local", *dim),
            LocalDims::PerClient(per_client) if per_client.len() != clients => {
                let problem = format!("per_client needs {clients} numbers, not {}", per_client.len());
                Err(ParamError::new("dim_local", problem))
            }
            LocalDims::PerClient(per_client) => {
                per_client.iter().try_for_each(|&dim| check::count("dim_local", dim))
            }
        }
    }
}

impl Default for SplitParams {
    fn default() -> SplitParams {
        SplitParams {
            clients: 100,
            dim_global: 12,
            dim_local: None,
            shared_features: false,
            arms: 25,
            reward_noise: 0.1,
            arrivals: ArrivalLaw::default(),
            pool: PoolKind::Ball,
            pool_size: 1000,
        }
    }
}

impl WorldKind for SplitParams {
    const NAME: &'static str = "split";
    const SUMMARY: &'static str = "a shared linear model, and one more for each client";

    fn check(&self) -> Result<(), ParamError> {
        check::count("clients", self.clients)?;
        check::count("dim_global", self.dim_global)?;
        check::pool(self.pool, self.pool_size, self.arms)?;
        check::deviation("reward_noise", self.reward_noise)?;
        self.arrivals.check()?;
        let local = self.local();
        local.check(self.clients)?;
        let same = (0..self.clients as u32).all(|user| local.of(UserId(user)) == self.dim_global);
        if self.shared_features && !same {
            let problem = format!("must be dim_global ({}) when shared_features = true", self.dim_global);
            return Err(ParamError::new("dim_local", problem));
        }
        Ok(())
    }

    fn bytes(&self) -> f64 {
        let features = self.dim_global.saturating_add(self.local().largest());
        8.0 * self.clients as f64
            + self.arrivals.bytes(self.clients)
            + pool_bytes(self.pool, self.pool_size, self.arms, features)
    }

    fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        let local = self.local();
        let setting = Setting::linear(self.clients, self.dim_global, self.arms)
            .with_local_dims((0..self.clients as u32).map(|user| local.of(UserId(user))).collect::<Vec<_>>())
            .with_horizon(horizon)
            .with_reward_noise(self.reward_noise);
        let law = SplitLaw::new(seed, self);
        let world = Contextual::new(setting, seed, RewardNoise::Gaussian(self.reward_noise), law);
        Ok((Box::new(world), Arrivals::new(&self.arrivals, self.clients, seed)))
    }
}

impl SplitParams {
    fn local(&self) -> LocalDims {
        match &self.dim_local {
            Some(LocalDim::Same(dim)) => LocalDims::Same(*dim),
            Some(LocalDim::PerClient { per_client }) => LocalDims::PerClient(per_client.clone()),
            Some(LocalDim::Total { total }) => LocalDims::Same(total.saturating_sub(self.dim_global)),
            None if self.shared_features => LocalDims::Same(self.dim_global),
            None => LocalDims::Same(13),
        }
    }
}

/// Linear rewards from shared and own features.
struct SplitLaw {
    seed: u64,
    dims: LocalDims,
    theta: Vec<f64>,
    /// The parameter and the client it belongs to.
    own_theta: Vec<f64>,
    owner: Option<UserId>,
    shared_features: bool,
    source: Source,
}

enum Source {
    /// Arms drawn for this offer: global rows, local rows (none where they are the same).
    Fresh { law: Fresh, global: Vec<f64>, local: Vec<f64> },
    /// A pool, and what the global part of each row is worth.
    Pool { pool: Pool, worth: Vec<f64> },
}

impl SplitLaw {
    fn new(seed: u64, params: &SplitParams) -> SplitLaw {
        let dims = params.local();
        let (dim, arms, shared_features) = (params.dim_global, params.arms, params.shared_features);
        let mut theta = vec![0.0; dim];
        on_sphere(&mut WorldPart::Theta.draw(seed, 0), &mut theta);
        let source = if let Some(law) = params.pool.fresh() {
            let local = Vec::with_capacity(arms * dims.largest());
            Source::Fresh { law, global: vec![0.0; arms * dim], local }
        } else {
            let length = if shared_features { dim } else { dim + dims.largest() };
            let pool = Pool::new(seed, params.pool, params.pool_size, length, arms);
            let worth = pool.products(&theta).collect();
            Source::Pool { pool, worth }
        };
        SplitLaw { seed, dims, theta, own_theta: Vec::new(), owner: None, shared_features, source }
    }

    /// Where a client's own features begin and end in a pool's row.
    fn own_part(&self) -> std::ops::Range<usize> {
        let start = if self.shared_features { 0 } else { self.theta.len() };
        start..start + self.own_theta.len()
    }
}

impl Law for SplitLaw {
    fn draw(&mut self, user: UserId, draw: &mut Draw, expected: &mut [f64]) {
        if self.owner != Some(user) {
            self.own_theta.resize(self.dims.of(user), 0.0);
            on_sphere(&mut WorldPart::LocalTheta.draw(self.seed, user.0.into()), &mut self.own_theta);
            self.owner = Some(user);
        }
        let own_part = self.own_part();
        let (dim, own_dim) = (self.theta.len(), self.own_theta.len());
        match &mut self.source {
            Source::Fresh { law, global, local } => {
                law(draw, dim, global);
                if self.shared_features {
                    local.clear();
                    local.extend_from_slice(global);
                } else {
                    local.resize(expected.len() * own_dim, 0.0);
                    law(draw, own_dim, local);
                }
                let rows = global.chunks_exact(dim).zip(local.chunks_exact(own_dim));
                for (value, (global, local)) in expected.iter_mut().zip(rows) {
                    *value = dot(&self.theta, global) + dot(&self.own_theta, local);
                }
            }
            Source::Pool { pool, worth } => {
                pool.pick(draw);
                for (value, &row) in expected.iter_mut().zip(pool.picked()) {
                    let own = &pool.row(row)[own_part.clone()];
                    *value = worth[row as usize] + dot(&self.own_theta, own);
                }
            }
        }
    }

    fn copy(&self, arms: &mut ArmBuffer) {
        let (dim, own_dim) = (self.theta.len(), self.own_theta.len());
        match &self.source {
            Source::Fresh { global, local, .. } => {
                arms.features.fill(dim, global.chunks_exact(dim));
                arms.local.fill(own_dim, local.chunks_exact(own_dim));
            }
            Source::Pool { pool, .. } => {
                pool.offer(0..dim, &mut arms.features);
                pool.offer(self.own_part(), &mut arms.local);
            }
        }
        arms.plain = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::{rows, seat};
    use cahoots_core::ArmIndex;

    fn parameter(seed: u64, part: WorldPart, index: u64, dim: usize) -> Vec<f64> {
        let mut theta = vec![0.0; dim];
        on_sphere(&mut part.draw(seed, index), &mut theta);
        theta
    }

    #[test]
    fn rewards_add_a_shared_and_an_own_part() {
        for pool in [PoolKind::Ball, PoolKind::Cube, PoolKind::Gaussian, PoolKind::Authors] {
            let dim_local = Some(LocalDim::PerClient { per_client: vec![3, 1, 4] });
            let params =
                SplitParams { clients: 3, dim_global: 5, dim_local, pool, arms: 6, ..Default::default() };
            let (mut world, _) = params.build(10, 8).unwrap();
            assert_eq!(world.setting().local_dims, [3, 1, 4]);
            let theta = parameter(8, WorldPart::Theta, 0, 5);
            let mut arms = ArmBuffer::default();
            for (user, dim) in [(0, 3), (1, 1), (2, 4), (1, 1)] {
                let own_theta = parameter(8, WorldPart::LocalTheta, user.into(), dim);
                world.offer(1, UserId(user), &mut arms);
                assert!(arms.arm_set(&seat(world.as_ref(), user)).is_ok());
                let (global, local) = (rows(&arms.features), rows(&arms.local));
                for arm in 0..6 {
                    let expected = world.pull(1, UserId(user), &arms, ArmIndex(arm as u32)).expected;
                    let worth = dot(&theta, &global[arm]) + dot(&own_theta, &local[arm]);
                    assert!((expected - worth).abs() < 1e-14);
                    assert!(dot(&global[arm], &global[arm]) <= 1.0 + 1e-14);
                    assert!(dot(&local[arm], &local[arm]) <= 1.0 + 1e-14);
                }
            }
        }
    }

    #[test]
    fn shared_features_are_offered_twice() {
        for pool in [PoolKind::Ball, PoolKind::Authors] {
            let params = SplitParams { clients: 2, shared_features: true, pool, ..Default::default() };
            let (mut world, _) = params.build(10, 8).unwrap();
            let mut arms = ArmBuffer::default();
            world.offer(1, UserId(1), &mut arms);
            assert_eq!(rows(&arms.features), rows(&arms.local));
            assert_eq!(world.setting().local_dims, [12, 12]);
        }
    }
}
