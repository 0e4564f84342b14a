//! The K-armed world: every arm is always on offer and has a mean reward, the
//! same for all clients or their own (as in DP-MAB and PF-UCB).
//!
//! Noise is keyed by (seed, client, arm, pull number), so the world counts
//! pulls, for those clients that have made any. A block of pulls is one draw: it
//! equals single pulls exactly where there is no noise, and in distribution
//! otherwise.

use cahoots_core::{ArmBuffer, ArmIndex, ParamError, Setting, Tick, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::means::{Means, MeansLaw, Table};
pub use super::objective::Objective;
use super::objective::Worths;
use super::{BlockPull, Pull, World, Worth, check};
use crate::arrivals::{ArrivalLaw, Arrivals};
use crate::draw::{Draw, Purpose};

/// Clients and arms where neither they nor a matrix of means is given.
const USUAL: usize = 10;

/// Arms without features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArmsParams {
    /// Number of clients: 10, or as many as the means have rows.
    #[schemars(range(min = 1))]
    pub clients: Option<usize>,
    /// Number of arms: 10, or as many as the means have columns.
    #[schemars(range(min = 1))]
    pub arms: Option<usize>,
    /// The law of the rewards.
    pub rewards: Rewards,
    /// Standard deviation of Gaussian rewards (1). Bernoulli rewards do not depend on it: there it is
    /// the sub-Gaussian scale that algorithms are told (0.5).
    #[schemars(range(min = 0.0))]
    pub reward_noise: Option<f64>,
    /// Mean rewards: `uniform`, a matrix with one row for all clients or one row each, or a CSV file
    /// that holds such a matrix.
    pub means: Means,
    /// Smallest gap between the best and the second best of uniform means, before clients deviate: where
    /// it is smaller, the best is raised, and the others shrink in proportion, until it is exactly this.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_gap: f64,
    /// Each client has its own means: the common ones plus N(0, 0.2), kept between 0 and 1.
    pub heterogeneous: bool,
    /// What regret is measured against: what the algorithm pursues, or, where it does not say, the
    /// client's own means.
    pub objective: Option<Objective>,
    /// Who acts at a tick.
    pub arrivals: ArrivalLaw,
}

/// The law of the rewards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rewards {
    /// 0 or 1.
    #[default]
    Bernoulli,
    /// Normal.
    Gaussian,
}

impl Default for ArmsParams {
    fn default() -> ArmsParams {
        ArmsParams {
            clients: None,
            arms: None,
            rewards: Rewards::Bernoulli,
            reward_noise: None,
            means: Means::Law(MeansLaw::Uniform),
            min_gap: 0.0,
            heterogeneous: false,
            objective: None,
            arrivals: ArrivalLaw::All,
        }
    }
}

impl ArmsParams {
    /// Refuses what cannot be built. Reads the file of means, if there is one.
    pub fn check(&self) -> Result<(), ParamError> {
        self.checked_means().map(|_| ())
    }

    /// Every client's means, where all seeds have the same.
    pub fn fixed_means(&self) -> Option<Vec<Vec<f64>>> {
        let rows = self.checked_means().ok().flatten().filter(|_| !self.heterogeneous)?;
        let clients = self.clients.unwrap_or(if rows.len() > 1 { rows.len() } else { USUAL });
        Some(if rows.len() == 1 { vec![rows[0].clone(); clients] } else { rows })
    }

    /// The means as given, if they are, and all keys found right.
    fn checked_means(&self) -> Result<Option<Vec<Vec<f64>>>, ParamError> {
        check::count("clients", self.clients.unwrap_or(USUAL))?;
        check::count("arms", self.arms.unwrap_or(USUAL))?;
        ParamError::not_negative("reward_noise", self.reward_noise.unwrap_or(0.0))?;
        unit("min_gap", self.min_gap)?;
        if let Some(Objective::Mixed(own)) = self.objective {
            unit("objective", own)?;
        }
        self.arrivals.check()?;
        let Some(rows) = self.means.given()? else { return Ok(None) };
        if self.min_gap > 0.0 {
            return Err(ParamError::new("min_gap", "is for means = \"uniform\": these are given"));
        }
        self.check_shape(&rows)?;
        Ok(Some(rows))
    }

    fn check_shape(&self, rows: &[Vec<f64>]) -> Result<(), ParamError> {
        if let Some(arms) = self.arms.filter(|arms| *arms != rows[0].len()) {
            let problem = format!("must have {arms} columns, as many as arms, not {}", rows[0].len());
            return Err(ParamError::new("means", problem));
        }
        if let Some(clients) = self.clients.filter(|clients| rows.len() != 1 && rows.len() != *clients) {
            let problem = format!("must have one row, or {clients}, as many as clients, not {}", rows.len());
            return Err(ParamError::new("means", problem));
        }
        if self.heterogeneous && rows.len() > 1 {
            return Err(ParamError::new(
                "heterogeneous",
                "is for means in one row: these are each client's own",
            ));
        }
        if self.rewards == Rewards::Gaussian && !self.heterogeneous {
            return Ok(());
        }
        for (i, row) in rows.iter().enumerate() {
            if let Some(j) = row.iter().position(|mean| !(0.0..=1.0).contains(mean)) {
                let why = if self.heterogeneous { "heterogeneous = true" } else { "rewards = \"bernoulli\"" };
                let problem = format!(
                    "row {}, column {} must lie between 0 and 1 with {why}, not {}",
                    i + 1,
                    j + 1,
                    row[j]
                );
                return Err(ParamError::new("means", problem));
            }
        }
        Ok(())
    }

    pub(crate) fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        let world = self.world(horizon, seed)?;
        let arrivals = Arrivals::new(&self.arrivals, world.setting.users, seed);
        Ok((Box::new(world), arrivals))
    }

    fn world(&self, horizon: u64, seed: u64) -> Result<ArmsWorld, ParamError> {
        let given = self.checked_means()?;
        let rows = given.as_ref().map_or(1, Vec::len);
        let clients = self.clients.unwrap_or(if rows > 1 { rows } else { USUAL });
        let common = match given {
            Some(rows) => Table::given(&rows),
            None => Table::uniform(seed, self.arms.unwrap_or(USUAL), self.min_gap),
        };
        let means = if self.heterogeneous { common.scattered(seed, clients) } else { common };
        let worths = Worths::new(&means, self.objective.unwrap_or_default());
        let (deviation, told) = match self.rewards {
            Rewards::Bernoulli => (None, 0.5),
            Rewards::Gaussian => (Some(self.reward_noise.unwrap_or(1.0)), 1.0),
        };
        let setting = Setting {
            users: clients,
            dim: 0,
            local_dims: Vec::new(),
            arms: means.arms(),
            horizon,
            reward_noise: self.reward_noise.unwrap_or(told),
            hosts: Vec::new(),
            smallest_gap: means.mixed(0.0).gap(),
        };
        let pulls = [vec![Box::default(); clients], vec![Box::default(); clients]];
        let stated = self.objective.is_some();
        Ok(ArmsWorld { setting, seed, deviation, means, worths, stated, pulls, waiting: false })
    }
}

fn unit(key: &str, value: f64) -> Result<(), ParamError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(ParamError::new(key, format!("must lie between 0 and 1, not {value}")))
}

struct ArmsWorld {
    setting: Setting,
    seed: u64,
    /// Of Gaussian rewards; none for Bernoulli ones.
    deviation: Option<f64>,
    means: Table,
    worths: Worths,
    /// Whether the experiment says what regret is measured against.
    stated: bool,
    /// Pulls of each arm by each client; empty before a client's first. Those made while waiting for others
    /// are counted apart.
    pulls: [Vec<Box<[u64]>>; 2],
    waiting: bool,
}

impl ArmsWorld {
    /// Counts pulls of an arm, and gives the noise that belongs to the first of them.
    fn count(&mut self, user: UserId, arm: ArmIndex, pulls: u64) -> Draw {
        let counts = &mut self.pulls[usize::from(self.waiting)][user.index()];
        if counts.is_empty() {
            *counts = vec![0; self.setting.arms].into();
        }
        let number = counts[arm.index()];
        counts[arm.index()] += pulls;
        let number = if self.waiting { number | 1 << 63 } else { number };
        Draw::keyed(self.seed, Purpose::Noise, u64::from(user.0) << 32 | u64::from(arm.0), number)
    }
}

impl World for ArmsWorld {
    fn setting(&self) -> &Setting {
        &self.setting
    }

    fn offer(&mut self, _tick: Tick, _user: UserId, arms: &mut ArmBuffer) {
        arms.features.reset(0);
        arms.local.reset(0);
        arms.plain = self.setting.arms;
    }

    fn pursue(&mut self, own: f64) {
        if !self.stated {
            self.worths = Worths::new(&self.means, Objective::Mixed(own));
        }
    }

    fn pull(&mut self, _tick: Tick, user: UserId, _arms: &ArmBuffer, arm: ArmIndex) -> Pull {
        let mean = self.means.row(user)[arm.index()];
        let mut draw = self.count(user, arm, 1);
        let reward = match self.deviation {
            Some(deviation) => mean + deviation * draw.normal(),
            None => f64::from(draw.uniform() < mean),
        };
        let Worth { expected, best } = self.worths.of(&self.means, user, arm);
        Pull { reward, expected, best, sides: self.worths.sides(&self.means, user, arm) }
    }

    fn set_waiting(&mut self, waiting: bool) {
        self.waiting = waiting;
    }

    fn reward_range(&self) -> Option<(f64, f64)> {
        match self.deviation {
            None => Some((0.0, 1.0)),
            Some(0.0) => Some(self.means.range()),
            Some(_) => None,
        }
    }

    fn pull_block(&mut self, user: UserId, arm: ArmIndex, pulls: u64) -> Option<BlockPull> {
        let mean = self.means.row(user)[arm.index()];
        let mut draw = self.count(user, arm, pulls);
        let sum = match self.deviation {
            Some(deviation) => pulls as f64 * mean + deviation * (pulls as f64).sqrt() * draw.normal(),
            None => draw.binomial(pulls, mean) as f64,
        };
        let Worth { expected, best } = self.worths.of(&self.means, user, arm);
        Some(BlockPull { sum, expected, best, sides: self.worths.sides(&self.means, user, arm) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(params: ArmsParams) -> ArmsWorld {
        params.world(1000, 5).unwrap()
    }

    fn matrix(rows: &[&[f64]]) -> Means {
        Means::Rows(rows.iter().map(|row| row.to_vec()).collect())
    }

    #[test]
    fn shapes_follow_from_the_means() {
        let homogeneous = world(ArmsParams { means: matrix(&[&[0.1, 0.2, 0.3]]), ..Default::default() });
        assert_eq!((homogeneous.setting.users, homogeneous.setting.arms), (10, 3));
        let means = matrix(&[&[0.1, 0.2], &[0.3, 0.0]]);
        let mut own = world(ArmsParams { means, ..Default::default() });
        assert_eq!((own.setting.users, own.setting.arms, own.setting.dim), (2, 2, 0));
        let pull = own.pull(1, UserId(1), &ArmBuffer::default(), ArmIndex(1));
        assert_eq!((pull.expected, pull.best), (0.0, 0.3));
        let mut arms = ArmBuffer::default();
        own.offer(1, UserId(0), &mut arms);
        assert_eq!(arms.plain, 2);
    }

    #[test]
    fn the_noise_an_algorithm_is_told() {
        let told = |rewards, reward_noise| {
            world(ArmsParams { rewards, reward_noise, ..Default::default() }).setting.reward_noise
        };
        assert_eq!(told(Rewards::Bernoulli, None), 0.5);
        assert_eq!(told(Rewards::Gaussian, None), 1.0);
        assert_eq!(told(Rewards::Gaussian, Some(0.2)), 0.2);
    }

    #[test]
    fn noise_belongs_to_the_pull_and_not_to_the_order() {
        let params = ArmsParams { rewards: Rewards::Gaussian, ..Default::default() };
        let (mut one, mut other) = (world(params.clone()), world(params));
        let none = ArmBuffer::default();
        let pull = |world: &mut ArmsWorld, tick, user, arm| {
            world.pull(tick, UserId(user), &none, ArmIndex(arm)).reward
        };
        let first: Vec<f64> = [(0, 1), (0, 1), (1, 1), (0, 2)]
            .iter()
            .map(|&(user, arm)| pull(&mut one, 1, user, arm))
            .collect();
        let second: Vec<f64> = [(0, 2), (1, 1), (0, 1), (0, 1)]
            .iter()
            .map(|&(user, arm)| pull(&mut other, 9, user, arm))
            .collect();
        assert_eq!(first, [second[2], second[3], second[1], second[0]]);
        assert!(first[0] != first[1]);
    }

    #[test]
    fn pulls_made_while_waiting_change_no_other_reward() {
        let params = ArmsParams { rewards: Rewards::Gaussian, ..Default::default() };
        let (mut patient, mut prompt) = (world(params.clone()), world(params));
        let none = ArmBuffer::default();
        let pull = |world: &mut ArmsWorld| world.pull(1, UserId(0), &none, ArmIndex(1)).reward;
        let first = [pull(&mut patient), pull(&mut prompt)];
        patient.set_waiting(true);
        let waited = pull(&mut patient);
        patient.set_waiting(false);
        let second = [pull(&mut patient), pull(&mut prompt)];
        assert_eq!((first[0], second[0]), (first[1], second[1]));
        assert!(waited != first[0] && waited != second[0]);
    }

    #[test]
    fn blocks_equal_single_pulls_where_there_is_no_noise() {
        let certain = ArmsParams { means: matrix(&[&[0.0, 1.0]]), ..Default::default() };
        let noiseless = ArmsParams {
            rewards: Rewards::Gaussian,
            reward_noise: Some(0.0),
            means: matrix(&[&[0.25, -1.5]]),
            ..Default::default()
        };
        for params in [certain, noiseless] {
            let (mut singles, mut blocks) = (world(params.clone()), world(params));
            for arm in [ArmIndex(0), ArmIndex(1)] {
                for pulls in [1, 16, 17, 1000] {
                    let pull = |_| singles.pull(1, UserId(3), &ArmBuffer::default(), arm).reward;
                    let sum: f64 = (0..pulls).map(pull).sum();
                    assert_eq!(blocks.pull_block(UserId(3), arm, pulls).unwrap().sum, sum);
                }
            }
            assert_eq!(singles.pulls, blocks.pulls);
            // Only the client that acted has counters.
            assert_eq!(blocks.pulls[0].iter().filter(|counts| !counts.is_empty()).count(), 1);
        }
    }

    #[test]
    fn blocks_have_the_law_of_single_pulls() {
        let (blocks, pulls) = (2_000, 50u64);
        for (rewards, variance) in [(Rewards::Bernoulli, 0.3 * 0.7), (Rewards::Gaussian, 0.04)] {
            let params = ArmsParams {
                rewards,
                reward_noise: Some(0.2),
                means: matrix(&[&[0.3]]),
                ..Default::default()
            };
            let sums = |single: bool| -> Vec<f64> {
                let mut world = world(params.clone());
                let none = ArmBuffer::default();
                let mut block = |user| match single {
                    true => (0..pulls).map(|_| world.pull(1, user, &none, ArmIndex(0)).reward).sum(),
                    false => world.pull_block(user, ArmIndex(0), pulls).unwrap().sum,
                };
                (0..blocks).map(|_| block(UserId(0))).collect()
            };
            let (n, sum_variance) = (blocks as f64, pulls as f64 * variance);
            for single in [true, false] {
                let sums = sums(single);
                let mean = sums.iter().sum::<f64>() / n;
                let spread = sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / n;
                assert!((mean - 0.3 * pulls as f64).abs() < 5.0 * (sum_variance / n).sqrt());
                // Nearly normal: the variance of a sample variance is 2 v^2 / n.
                assert!((spread - sum_variance).abs() < 5.0 * sum_variance * (2.0 / n).sqrt());
            }
        }
    }

    #[test]
    fn objectives_change_regret_and_not_rewards() {
        let means = matrix(&[&[1.0, 0.0], &[0.0, 0.5]]);
        let pull = |objective, arm| {
            let mut world =
                world(ArmsParams { means: means.clone(), objective: Some(objective), ..Default::default() });
            world.pull(1, UserId(0), &ArmBuffer::default(), ArmIndex(arm))
        };
        let local = pull(Objective::Local, 0);
        assert_eq!((local.reward, local.expected, local.best), (1.0, 1.0, 1.0));
        let global = pull(Objective::Global, 0);
        assert_eq!((global.reward, global.expected, global.best), (1.0, 0.5, 0.5));
        let mixed = pull(Objective::Mixed(0.5), 1);
        assert_eq!((mixed.reward, mixed.expected, mixed.best), (0.0, 0.125, 0.75));
    }

    #[test]
    fn an_algorithm_has_its_own_objective_unless_the_experiment_states_one() {
        let means = matrix(&[&[1.0, 0.0], &[0.0, 0.5]]);
        let best = |objective| {
            let mut world = world(ArmsParams { means: means.clone(), objective, ..Default::default() });
            world.pursue(0.0);
            world.pull_block(UserId(0), ArmIndex(0), 3).unwrap().best
        };
        assert_eq!(best(None), 0.5);
        assert_eq!(best(Some(Objective::Local)), 1.0);
    }

    #[test]
    fn means_that_no_seed_changes_are_known_beforehand() {
        let given = |means, heterogeneous| {
            ArmsParams { means, heterogeneous, clients: Some(2), ..Default::default() }.fixed_means()
        };
        assert_eq!(given(matrix(&[&[0.5, 0.25]]), false), Some(vec![vec![0.5, 0.25]; 2]));
        assert_eq!(given(matrix(&[&[0.5], &[1.0]]), false), Some(vec![vec![0.5], vec![1.0]]));
        assert_eq!(given(matrix(&[&[0.5, 0.25]]), true), None);
        assert_eq!(given(Means::Law(MeansLaw::Uniform), false), None);
    }

    #[test]
    fn means_can_come_from_a_file() {
        let file = std::env::temp_dir().join(format!("cahoots-means-{}.csv", std::process::id()));
        std::fs::write(&file, "0.1,0.9\n0.8,0.2\n").unwrap();
        let path = file.to_str().unwrap().to_string();
        let read =
            ArmsParams { means: Means::File { file: path }, ..Default::default() }.world(10, 1).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!((read.setting.users, read.setting.arms), (2, 2));
        assert_eq!(read.means.row(UserId(1)), [0.8, 0.2]);
    }
}
