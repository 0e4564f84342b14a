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
use super::objective::{Aim, Worths};
use super::{BlockPull, Pull, World, WorldKind, Worth, check};
use crate::arrivals::{ArrivalLaw, Arrivals};
use crate::draw::{Draw, Purpose};
use crate::files::Files;

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
    #[schemars(range(min = 0.0, max = 1e100))]
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
    /// Clients are drawn from a population: each one's means are the common ones, which nobody sees, plus
    /// N(0, spread). Bernoulli means are kept between 0 and 1 by clipping the deviation to both sides alike,
    /// so that the common means stay the population's.
    #[schemars(range(min = 0.0, max = 1e100))]
    pub spread: Option<f64>,
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
            spread: None,
            objective: None,
            arrivals: ArrivalLaw::default(),
        }
    }
}

impl WorldKind for ArmsParams {
    const NAME: &'static str = "arms";
    const SUMMARY: &'static str = "arms without features, with Bernoulli or Gaussian rewards";

    fn read_files(self, files: &dyn Files) -> Result<ArmsParams, ParamError> {
        Ok(ArmsParams { means: self.means.read_file(files)?, ..self })
    }

    // Reads the file of means, if there still is one.
    fn check(&self) -> Result<(), ParamError> {
        self.checked_means().map(|_| ())
    }

    fn bytes(&self) -> f64 {
        let (clients, arms) = (self.clients.unwrap_or(USUAL), self.arms.unwrap_or(USUAL));
        let rows = if self.scatter().is_some() { clients as f64 } else { 1.0 };
        self.arrivals.bytes(clients) + 8.0 * arms as f64 * rows + 32.0 * clients as f64
    }

    fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        let world = self.world(horizon, seed)?;
        let arrivals = Arrivals::new(&self.arrivals, world.setting.users, seed);
        Ok((Box::new(world), arrivals))
    }
}

impl ArmsParams {
    /// Every client's means, where all seeds have the same.
    pub fn fixed_means(&self) -> Option<Vec<Vec<f64>>> {
        let rows = self.checked_means().ok()??;
        if self.heterogeneous || self.spread.is_some() {
            return None;
        }
        let clients = self.clients.unwrap_or(if rows.len() > 1 { rows.len() } else { USUAL });
        Some(if rows.len() == 1 { vec![rows[0].clone(); clients] } else { rows })
    }

    /// The means as given, if they are, and all keys found right.
    fn checked_means(&self) -> Result<Option<Vec<Vec<f64>>>, ParamError> {
        check::count("clients", self.clients.unwrap_or(USUAL))?;
        check::count("arms", self.arms.unwrap_or(USUAL))?;
        check::deviation("reward_noise", self.reward_noise.unwrap_or(0.0))?;
        unit("min_gap", self.min_gap)?;
        if let Some(Objective::Mixed(own)) = self.objective {
            unit("objective", own)?;
        }
        self.arrivals.check()?;
        self.check_population()?;
        let Some(rows) = self.means.given()? else { return Ok(None) };
        if self.min_gap > 0.0 {
            return Err(ParamError::new("min_gap", "is for means = \"uniform\": these are given"));
        }
        self.check_shape(&rows)?;
        Ok(Some(rows))
    }

    fn check_population(&self) -> Result<(), ParamError> {
        check::deviation("spread", self.spread.unwrap_or(0.0))?;
        if self.spread.is_some() && self.heterogeneous {
            return Err(ParamError::new(
                "spread",
                "heterogeneous = true is a spread of its own: leave one out",
            ));
        }
        if self.spread.is_none() && self.objective == Some(Objective::Population) {
            let problem = "population is what clients are drawn from: give a spread";
            return Err(ParamError::new("objective", problem));
        }
        Ok(())
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
        if let Some(key) = self.scatter().filter(|_| rows.len() > 1) {
            return Err(ParamError::new(key, "is for means in one row: these are each client's own"));
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

    /// The key that gives each client its own means, if there is one.
    fn scatter(&self) -> Option<&'static str> {
        if self.heterogeneous { Some("heterogeneous") } else { self.spread.map(|_| "spread") }
    }

    fn world(&self, horizon: u64, seed: u64) -> Result<ArmsWorld, ParamError> {
        let given = self.checked_means()?;
        let rows = given.as_ref().map_or(1, Vec::len);
        let clients = self.clients.unwrap_or(if rows > 1 { rows } else { USUAL });
        let common = match given {
            Some(rows) => Table::given(&rows),
            None => Table::uniform(seed, self.arms.unwrap_or(USUAL), self.min_gap),
        };
        let means = match self.spread {
            Some(spread) => common.around(seed, clients, spread, self.rewards == Rewards::Bernoulli),
            None if self.heterogeneous => common.scattered(seed, clients),
            None => common.clone(),
        };
        let objective = self.objective.unwrap_or_default();
        let worths = Worths::new(&means, &common, objective);
        let smallest_gap =
            if objective == Objective::Population { common.gap() } else { means.mixed(0.0).gap() };
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
            smallest_gap,
            context_norm: None,
            reward_range: None,
            keep_apart: false,
        };
        let pulls = [vec![Box::default(); clients], vec![Box::default(); clients]];
        let stated = self.objective;
        Ok(ArmsWorld { setting, seed, deviation, means, common, worths, stated, pulls, waiting: false })
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
    /// What the clients' means were drawn around; their own where nothing was drawn.
    common: Table,
    worths: Worths,
    /// What the experiment says that regret is measured against.
    stated: Option<Objective>,
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
        Draw::keyed(self.seed, Purpose::RewardNoise, u64::from(user.0) << 32 | u64::from(arm.0), number)
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
        if self.stated.is_none() {
            self.worths = Worths::new(&self.means, &self.common, Objective::Mixed(own));
        }
    }

    fn aim(&self) -> Aim {
        Aim { stated: self.stated, alike: !self.means.has_rows() }
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

    fn has_blocks(&self) -> bool {
        true
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
mod tests;
