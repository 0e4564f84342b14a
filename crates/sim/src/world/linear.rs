//! The linear world: the expected reward of an arm is its inner product with a
//! parameter that all clients share. With one parameter per cluster it is also
//! the clustered world (see [`super::clustered`]).

use cahoots_core::{ArmBuffer, ParamError, Setting, Tick, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contextual::{Contextual, Law, RewardNoise};
use super::pool::{Fresh, Pool, PoolKind};
use super::vectors::{centres, dot, on_sphere};
use super::{World, WorldKind, check};
use crate::arrivals::{ArrivalLaw, Arrivals};
use crate::draw::Draw;

/// Entries of the largest table of expected rewards that is kept: 128 MiB.
const LARGEST_TABLE: usize = 1 << 24;

/// One linear model for all clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinearParams {
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
    /// Where the arms come from. It does not decide where the parameter is.
    pub pool: PoolKind,
    /// Rows of a finite pool; unused when arms are fresh (`ball`, `cube`).
    #[schemars(range(min = 1))]
    pub pool_size: usize,
    /// Where the parameter is: drawn on the unit `sphere`, or `ones`, (1, ..., 1) / sqrt(d); `sphere` when absent.
    #[serde(skip_serializing_if = "is_default")]
    pub theta: ThetaKind,
    /// Radians that the parameter turns in 1000 ticks, pair of features by pair; 0 where it stays.
    #[schemars(range(min = 0.0, max = 1000.0))]
    #[serde(skip_serializing_if = "is_zero")]
    pub drift: f64,
}

/// Where the parameter of a linear world is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThetaKind {
    /// Uniform on the unit sphere, drawn with the seed.
    #[default]
    Sphere,
    /// The same for every seed: (1, ..., 1) / sqrt(d).
    Ones,
}

impl ThetaKind {
    fn law(self) -> fn(&mut Draw, &mut [f64]) {
        match self {
            ThetaKind::Sphere => on_sphere,
            ThetaKind::Ones => |_, out| {
                let each = 1.0 / (out.len() as f64).sqrt();
                out.fill(each);
            },
        }
    }
}

/// What is as ever is written as ever: runs keep their keys.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_default(theta: &ThetaKind) -> bool {
    *theta == ThetaKind::default()
}

/// What does not drift is written as it was before anything did: runs keep their keys.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
pub(crate) fn is_zero(drift: &f64) -> bool {
    *drift == 0.0
}

impl Default for LinearParams {
    fn default() -> LinearParams {
        LinearParams {
            clients: 100,
            dim: 25,
            arms: 25,
            reward_noise: 0.1,
            arrivals: ArrivalLaw::default(),
            pool: PoolKind::Ball,
            pool_size: 1000,
            theta: ThetaKind::default(),
            drift: 0.0,
        }
    }
}

impl WorldKind for LinearParams {
    const NAME: &'static str = "linear";
    const SUMMARY: &'static str = "one linear model for all clients";

    fn check(&self) -> Result<(), ParamError> {
        check::count("clients", self.clients)?;
        check::count("dim", self.dim)?;
        check::pool(self.pool, self.pool_size, self.arms)?;
        check::deviation("reward_noise", self.reward_noise)?;
        check::drift(self.drift, self.dim)?;
        self.arrivals.check()
    }

    fn bytes(&self) -> f64 {
        self.arrivals.bytes(self.clients) + pool_bytes(self.pool, self.pool_size, self.arms, self.dim)
    }

    fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        let thetas = centres(seed, 1, self.dim, 0.0, self.theta.law())?;
        let law = LinearLaw::new(seed, thetas, Vec::new(), self);
        let noise = RewardNoise::Gaussian(self.reward_noise);
        let world = Contextual::new(self.setting(horizon), seed, noise, law);
        Ok((Box::new(world), Arrivals::new(&self.arrivals, self.clients, seed)))
    }
}

impl LinearParams {
    pub(crate) fn setting(&self, horizon: u64) -> Setting {
        Setting::linear(self.clients, self.dim, self.arms)
            .with_horizon(horizon)
            .with_reward_noise(self.reward_noise)
    }
}

/// The memory of arms that are drawn afresh or from a pool, in bytes: the rows, and those on offer.
pub(crate) fn pool_bytes(pool: PoolKind, pool_size: usize, arms: usize, dim: usize) -> f64 {
    let rows = if pool.fresh().is_some() { arms as f64 } else { arms as f64 + pool_size as f64 };
    8.0 * dim as f64 * (rows + arms as f64)
}

/// Linear rewards, with one parameter per cluster of clients.
pub(crate) struct LinearLaw {
    dim: usize,
    thetas: Vec<f64>,
    /// Cluster of each client, epoch by epoch; empty where there is only one.
    clusters: Vec<u32>,
    /// Ticks at which a new epoch begins.
    changes: Vec<Tick>,
    clients: usize,
    epoch: usize,
    /// Radians per tick that parameters turn, and how far they have.
    drift: f64,
    turned: Turned,
    source: Source,
}

/// Where a parameter is by now.
#[derive(Default)]
struct Turned {
    sine: f64,
    cosine: f64,
    theta: Vec<f64>,
}

impl Turned {
    /// A parameter after its turn: neighbouring features in pairs, so that all parameters keep their lengths and their
    /// distances from each other. Of an odd number of features the last stays.
    fn of(&mut self, theta: &[f64]) -> &[f64] {
        self.theta.clear();
        let (pairs, last) = theta.as_chunks::<2>();
        for [x, y] in pairs {
            self.theta.extend([self.cosine * x - self.sine * y, self.sine * x + self.cosine * y]);
        }
        self.theta.extend(last);
        &self.theta
    }
}

enum Source {
    /// Arms drawn for this offer.
    Fresh { law: Fresh, rows: Vec<f64> },
    /// A pool, and the expected reward of every row in every cluster (empty where that is too much).
    Pool { pool: Pool, table: Vec<f64>, size: usize },
}

impl LinearLaw {
    /// The law of these parameters and these clusters.
    pub(crate) fn new(seed: u64, thetas: Vec<f64>, clusters: Vec<u32>, params: &LinearParams) -> LinearLaw {
        let LinearParams { dim, arms, pool, pool_size: size, .. } = *params;
        let source = if let Some(law) = pool.fresh() {
            Source::Fresh { law, rows: vec![0.0; arms * dim] }
        } else {
            let pool = Pool::new(seed, pool, size, dim, arms);
            let fits = (thetas.len() / dim).saturating_mul(size) <= LARGEST_TABLE && params.drift == 0.0;
            let thetas = if fits { thetas.chunks_exact(dim) } else { [].chunks_exact(dim) };
            let table = thetas.flat_map(|theta| pool.products(theta)).collect();
            Source::Pool { pool, table, size }
        };
        let clients = params.clients;
        let (drift, turned) = (params.drift / 1000.0, Turned::default());
        LinearLaw { dim, thetas, clusters, changes: Vec::new(), clients, epoch: 0, drift, turned, source }
    }

    /// At these ticks clients go on to the next list of clusters.
    pub(crate) fn changing(self, changes: Vec<Tick>) -> LinearLaw {
        LinearLaw { changes, ..self }
    }
}

impl Law for LinearLaw {
    fn at(&mut self, tick: Tick) {
        self.epoch = self.changes.partition_point(|change| *change <= tick);
        if self.drift > 0.0 {
            let angle = self.drift * tick.saturating_sub(1) as f64;
            (self.turned.sine, self.turned.cosine) = libm::sincos(angle);
        }
    }

    fn draw(&mut self, user: UserId, draw: &mut Draw, expected: &mut [f64]) {
        let place = self.epoch * self.clients + user.index();
        let cluster = self.clusters.get(place).map_or(0, |&cluster| cluster as usize);
        let theta = &self.thetas[cluster * self.dim..][..self.dim];
        let theta = if self.drift > 0.0 { self.turned.of(theta) } else { theta };
        match &mut self.source {
            Source::Fresh { law, rows } => {
                law(draw, self.dim, rows);
                for (value, row) in expected.iter_mut().zip(rows.chunks_exact(self.dim)) {
                    *value = dot(theta, row);
                }
            }
            Source::Pool { pool, table, size } => {
                pool.pick(draw);
                let known = table.get(cluster * *size..(cluster + 1) * *size);
                for (value, &row) in expected.iter_mut().zip(pool.picked()) {
                    *value = known.map_or_else(|| dot(theta, pool.row(row)), |known| known[row as usize]);
                }
            }
        }
    }

    fn copy(&self, arms: &mut ArmBuffer) {
        match &self.source {
            Source::Fresh { rows, .. } => arms.features.fill(self.dim, rows.chunks_exact(self.dim)),
            Source::Pool { pool, .. } => pool.offer(0..self.dim, &mut arms.features),
        }
        arms.local.reset(0);
        arms.plain = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::{rows, seat};
    use cahoots_core::ArmIndex;

    #[test]
    fn rewards_are_inner_products_plus_noise() {
        for pool in [PoolKind::Ball, PoolKind::Cube, PoolKind::Gaussian, PoolKind::Authors] {
            let params = LinearParams { pool, clients: 4, ..Default::default() };
            let (mut world, _) = params.build(100, 6).unwrap();
            let theta = centres(6, 1, 25, 0.0, on_sphere).unwrap();
            let mut arms = ArmBuffer::default();
            let n = 4_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for tick in 1..=n {
                let user = UserId((tick % 4) as u32);
                world.offer(tick, user, &mut arms);
                let pull = world.pull(tick, user, &arms, ArmIndex(7));
                let mut row = [0.0; 25];
                arms.features.row_into(7, &mut row);
                assert!((pull.expected - dot(&theta, &row)).abs() < 1e-14);
                let noise = pull.reward - pull.expected;
                sum += noise;
                squares += noise * noise;
                if pool.fresh().is_none() {
                    assert!((dot(&row, &row) - 1.0).abs() < 1e-14);
                }
            }
            let n = n as f64;
            assert!((sum / n).abs() < 5.0 * 0.1 / n.sqrt());
            assert!((squares / n - 0.01).abs() < 5.0 * 0.01 * (2.0 / n).sqrt());
            assert!(arms.arm_set(&seat(world.as_ref(), 0)).is_ok());
        }
    }

    #[test]
    fn a_table_too_large_to_keep_changes_nothing() {
        let params = LinearParams { pool: PoolKind::Gaussian, ..Default::default() };
        let thetas = centres(6, 3, 25, 0.0, on_sphere).unwrap();
        let mut law = LinearLaw::new(6, thetas, vec![2, 0, 1], &params);
        let (mut with, mut without) = ([0.0; 25], [0.0; 25]);
        for user in 0..3 {
            law.draw(UserId(user), &mut Draw::keyed(1, crate::draw::Purpose::Arms, 1, 1), &mut with);
            let Source::Pool { table, .. } = &mut law.source else { unreachable!() };
            let kept = std::mem::take(table);
            law.draw(UserId(user), &mut Draw::keyed(1, crate::draw::Purpose::Arms, 1, 1), &mut without);
            assert_eq!(with, without);
            let Source::Pool { table, .. } = &mut law.source else { unreachable!() };
            *table = kept;
        }
    }

    /// What the arms of an offer are worth, and their features.
    fn offered(world: &mut dyn World, tick: Tick) -> (Vec<f64>, Vec<Vec<f64>>, f64) {
        let mut arms = ArmBuffer::default();
        world.offer(tick, UserId(0), &mut arms);
        let pulls = (0..25).map(|arm| world.pull(tick, UserId(0), &arms, ArmIndex(arm)));
        let (worth, best): (Vec<f64>, Vec<f64>) = pulls.map(|pull| (pull.expected, pull.best)).unzip();
        (worth, rows(&arms.features), best[0])
    }

    #[test]
    fn a_parameter_that_drifts_turns_by_the_stated_angle() {
        for (pool, dim) in [(PoolKind::Ball, 6), (PoolKind::Gaussian, 6), (PoolKind::Ball, 5)] {
            let params = LinearParams { pool, dim, drift: 0.7, ..Default::default() };
            let (mut world, _) = params.build(10_000, 6).unwrap();
            let (mut still, _) = LinearParams { drift: 0.0, ..params }.build(10_000, 6).unwrap();
            let theta = centres(6, 1, dim, 0.0, on_sphere).unwrap();
            for tick in [1, 501, 1001, 4001] {
                let angle = 0.7 * (tick - 1) as f64 / 1000.0;
                let mut now = theta.clone();
                for pair in now.as_chunks_mut::<2>().0 {
                    let [x, y] = *pair;
                    *pair = [angle.cos() * x - angle.sin() * y, angle.sin() * x + angle.cos() * y];
                }
                if dim == 6 {
                    assert!((dot(&now, &theta) - angle.cos()).abs() < 1e-12, "as far as is said");
                }
                let (worth, features, best) = offered(world.as_mut(), tick);
                let (before, same, _) = offered(still.as_mut(), tick);
                assert_eq!(features, same, "the same arms are offered");
                for (worth, row) in worth.iter().zip(&features) {
                    assert!((worth - dot(&now, row)).abs() < 1e-12);
                }
                let largest = worth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                assert_eq!(best, largest, "regret is against what is best by now");
                assert_eq!(worth == before, tick == 1);
            }
        }
        let error =
            |drift, dim| LinearParams { drift, dim, ..Default::default() }.check().unwrap_err().to_string();
        assert_eq!(error(0.1, 1), "drift: one feature cannot turn: raise dim, or leave drift out");
        assert_eq!(error(-1.0, 2), "drift: must lie between 0 and 1000, not -1");
        assert_eq!(error(f64::NAN, 2), "drift: must lie between 0 and 1000, not NaN");
    }

    #[test]
    fn a_parameter_of_ones_is_the_same_for_every_seed() {
        for seed in [1, 6] {
            let params =
                LinearParams { pool: PoolKind::Cube, theta: ThetaKind::Ones, dim: 4, ..Default::default() };
            let (mut world, _) = params.build(100, seed).unwrap();
            let (worth, features, best) = offered(world.as_mut(), 3);
            for (worth, row) in worth.iter().zip(&features) {
                assert!((worth - row.iter().sum::<f64>() / 2.0).abs() < 1e-14);
            }
            assert_eq!(best, worth.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        }
    }

    #[test]
    fn a_world_that_stays_is_written_as_ever() {
        let written = toml::to_string(&LinearParams::default()).unwrap();
        assert!(!written.contains("drift") && !written.contains("theta"), "{written}");
        let drifting = toml::to_string(&LinearParams { drift: 0.5, ..Default::default() }).unwrap();
        assert!(drifting.contains("drift = 0.5"), "{drifting}");
    }

    #[test]
    fn offers_come_from_one_pool() {
        let params = LinearParams { pool: PoolKind::Gaussian, pool_size: 30, dim: 3, ..Default::default() };
        let (mut world, _) = params.build(100, 6).unwrap();
        let mut arms = ArmBuffer::default();
        let mut seen = std::collections::BTreeSet::new();
        for tick in 1..=50 {
            world.offer(tick, UserId(0), &mut arms);
            seen.extend(rows(&arms.features).iter().map(|row| row[0].to_bits()));
        }
        assert_eq!(seen.len(), 30);
    }
}
