//! Users on local servers: clusters of users with one preference each, items
//! that they like or not (FCLUB).
//!
//! Items and preferences are (unit vector / sqrt 2, 1 / sqrt 2), so that expected
//! rewards, (1 + cosine) / 2, lie between 0 and 1; rewards are 0 or 1.

use std::f64::consts::FRAC_1_SQRT_2;

use cahoots_core::{ArmBuffer, NodeId, ParamError, Setting, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clustered::block;
use super::contextual::{Contextual, Law, RewardNoise};
use super::vectors::{centres, dot, on_sphere};
use super::{World, WorldKind, WorldPart, check};
use crate::arrivals::{ArrivalLaw, Arrivals};
use crate::draw::Draw;
use crate::files::{Files, Here};

/// Users in clusters, seated at local servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UsersParams {
    /// Number of users.
    #[schemars(range(min = 1))]
    pub users: usize,
    /// Number of local servers.
    #[schemars(range(min = 1))]
    pub servers: usize,
    /// Clusters of users, of equal size, each with one preference; neighbours in the order of users.
    #[schemars(range(min = 1))]
    pub clusters: usize,
    /// Where the clusters' preferences come from: drawn at random when absent, or chosen from the
    /// rows of a matrix or of a CSV file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferences: Option<Preferences>,
    /// Which users sit at which server.
    pub layout: Layout,
    /// Features of an item; the last is the same for all items.
    #[schemars(range(min = 2))]
    pub dim: usize,
    /// Items offered per decision, fresh each time.
    #[schemars(range(min = 1))]
    pub arms: usize,
    /// Sub-Gaussian scale of the noise that algorithms are told. Rewards are 0 or 1 whatever it says.
    #[schemars(range(min = 0.0, max = 1e100))]
    pub reward_noise: f64,
    /// Who acts at a tick.
    pub arrivals: ArrivalLaw,
}

/// Preferences that somebody else found: the last feature is the constant 1 / sqrt 2. A row may come often; each seed
/// draws its clusters' preferences from the different ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "preferences must be a matrix such as [[0.5, 0.0, 0.70710678]], or { file = \"preferences.csv\" }"
)]
pub enum Preferences {
    /// One preference per row.
    Rows(Vec<Vec<f64>>),
    /// A CSV file without a header: one preference per line.
    File {
        /// Its path.
        file: String,
    },
}

impl Preferences {
    /// With the rows of the file that is named, if one is.
    fn read_file(self, dim: usize, files: &dyn Files) -> Result<Preferences, ParamError> {
        let Preferences::File { file } = self else { return Ok(self) };
        let complain = |problem: String| ParamError::new("preferences", problem);
        let text = files.text(&file).map_err(|error| complain(format!("cannot read {file}: {error}")))?;
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let numbers = text.split(',').map(|number| number.trim().parse::<f64>());
            let row = numbers
                .collect::<Result<Vec<f64>, _>>()
                .map_err(|_| complain(format!("line {line} of {file} has something else than numbers")))?;
            scaled(&row, dim).map_err(|problem| complain(format!("line {line} of {file} {problem}")))?;
            rows.push(row);
        }
        Ok(Preferences::Rows(rows))
    }

    /// One preference per cluster, as this seed draws them from the different rows in order of appearance.
    fn draw(&self, clusters: usize, dim: usize, seed: u64) -> Result<Vec<f64>, ParamError> {
        let complain = |problem: String| ParamError::new("preferences", problem);
        let rows = match self {
            Preferences::Rows(rows) => rows,
            Preferences::File { .. } => {
                return self.clone().read_file(dim, &Here)?.draw(clusters, dim, seed);
            }
        };
        let mut different: Vec<Vec<f64>> = Vec::new();
        for (number, row) in (1..).zip(rows) {
            let row = scaled(row, dim).map_err(|problem| complain(format!("row {number} {problem}")))?;
            if !different.contains(&row) {
                different.push(row);
            }
        }
        if different.len() < clusters {
            let problem = format!("there are {} different preferences: lower clusters", different.len());
            return Err(complain(problem));
        }
        WorldPart::Theta.draw(seed, 0).shuffle(&mut different);
        different.truncate(clusters);
        Ok(different.concat())
    }
}

/// A row without its constant, scaled so that a unit vector stands for the strongest taste.
fn scaled(row: &[f64], dim: usize) -> Result<Vec<f64>, String> {
    let Some((constant, rest)) = row.split_last().filter(|_| row.len() == dim) else {
        return Err(format!("has {} numbers, not dim ({dim})", row.len()));
    };
    let rest: Vec<f64> = rest.iter().map(|x| x * std::f64::consts::SQRT_2).collect();
    // Expected rewards must be chances.
    let right = (constant - FRAC_1_SQRT_2).abs() <= 1e-6
        && rest.iter().all(|x| x.is_finite())
        && dot(&rest, &rest) <= 1.0 + 1e-9;
    if right { Ok(rest) } else { Err("must end with 1/sqrt 2, and be at most that long without it".into()) }
}

/// Which users sit at which server; servers have equally many either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Users are spread at random, so that every server sees several clusters.
    #[default]
    Random,
    /// Neighbours sit together: with as many servers as clusters, one cluster per server.
    Block,
}

impl Default for UsersParams {
    fn default() -> UsersParams {
        UsersParams {
            users: 40,
            servers: 5,
            clusters: 5,
            preferences: None,
            layout: Layout::Random,
            dim: 10,
            arms: 10,
            // Hoeffding's lemma: what lies in [0, 1] is 1/2-sub-Gaussian.
            reward_noise: 0.5,
            arrivals: ArrivalLaw::default(),
        }
    }
}

impl WorldKind for UsersParams {
    const NAME: &'static str = "users";
    const SUMMARY: &'static str = "users in clusters on local servers, rewards 0 or 1";

    fn read_files(self, files: &dyn Files) -> Result<UsersParams, ParamError> {
        let preferences = self.preferences.map(|given| given.read_file(self.dim, files)).transpose()?;
        Ok(UsersParams { preferences, ..self })
    }

    fn check(&self) -> Result<(), ParamError> {
        check::count("users", self.users)?;
        check::groups("servers", self.servers, "users", self.users)?;
        check::groups("clusters", self.clusters, "users", self.users)?;
        check::count("arms", self.arms)?;
        check::count("dim", self.dim)?;
        if self.dim < 2 {
            return Err(ParamError::new("dim", "must be at least 2, not 1: the last feature is a constant"));
        }
        check::deviation("reward_noise", self.reward_noise)?;
        self.arrivals.check()
    }

    fn bytes(&self) -> f64 {
        let (users, dim) = (self.users as f64, self.dim as f64);
        self.arrivals.bytes(self.users)
            + 4.0 * users
            + 8.0 * dim * (self.clusters as f64 + 2.0 * self.arms as f64)
    }

    fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        let setting = Setting::linear(self.users, self.dim, self.arms)
            .with_hosts(self.hosts(seed))
            .with_horizon(horizon)
            .with_reward_noise(self.reward_noise);
        let law = UsersLaw {
            dim: self.dim,
            users: self.users,
            clusters: self.clusters,
            preferences: match &self.preferences {
                None => centres(seed, self.clusters, self.dim - 1, 0.0, on_sphere)?,
                Some(given) => given.draw(self.clusters, self.dim, seed)?,
            },
            items: vec![FRAC_1_SQRT_2; self.arms * self.dim],
        };
        let world = Contextual::new(setting, seed, RewardNoise::Bernoulli, law);
        Ok((Box::new(world), Arrivals::new(&self.arrivals, self.users, seed)))
    }
}

impl UsersParams {
    fn hosts(&self, seed: u64) -> Vec<NodeId> {
        let mut hosts: Vec<NodeId> =
            (0..self.users).map(|user| NodeId(block(user, self.users, self.servers))).collect();
        if self.layout == Layout::Random {
            WorldPart::Layout.draw(seed, 0).shuffle(&mut hosts);
        }
        hosts
    }
}

struct UsersLaw {
    dim: usize,
    users: usize,
    clusters: usize,
    /// Unit vectors or shorter, without the constant feature.
    preferences: Vec<f64>,
    items: Vec<f64>,
}

impl Law for UsersLaw {
    fn draw(&mut self, user: UserId, draw: &mut Draw, expected: &mut [f64]) {
        let free = self.dim - 1;
        let cluster = block(user.index(), self.users, self.clusters) as usize;
        let preference = &self.preferences[cluster * free..][..free];
        for (value, item) in expected.iter_mut().zip(self.items.chunks_exact_mut(self.dim)) {
            let item = &mut item[..free];
            on_sphere(draw, item);
            *value = (0.5 + 0.5 * dot(preference, item)).clamp(0.0, 1.0);
            item.iter_mut().for_each(|x| *x *= FRAC_1_SQRT_2);
        }
    }

    fn copy(&self, arms: &mut ArmBuffer) {
        arms.features.fill(self.dim, self.items.chunks_exact(self.dim));
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
    fn rewards_are_coin_flips_with_the_expected_chance() {
        let (mut world, _) = UsersParams::default().build(10_000, 2).unwrap();
        let mut arms = ArmBuffer::default();
        let (mut surplus, mut variance) = (0.0, 0.0);
        for tick in 1..=10_000 {
            let user = UserId((tick % 40) as u32);
            world.offer(tick, user, &mut arms);
            let pull = world.pull(tick, user, &arms, ArmIndex((tick % 10) as u32));
            assert!((0.0..=1.0).contains(&pull.expected) && (0.0..=1.0).contains(&pull.best));
            assert!(pull.reward == 0.0 || pull.reward == 1.0);
            surplus += pull.reward - pull.expected;
            variance += pull.expected * (1.0 - pull.expected);
        }
        assert!(surplus.abs() < 5.0 * variance.sqrt());
        assert!(arms.arm_set(&seat(world.as_ref(), 0)).is_ok());
    }

    #[test]
    fn items_have_unit_norm_and_a_constant_last_feature() {
        let (mut world, _) = UsersParams::default().build(10, 2).unwrap();
        let preferences = centres(2, 5, 9, 0.0, on_sphere).unwrap();
        let mut arms = ArmBuffer::default();
        world.offer(3, UserId(39), &mut arms);
        for (arm, item) in rows(&arms.features).iter().enumerate() {
            assert!((dot(item, item) - 1.0).abs() < 1e-14);
            assert_eq!(item[9], FRAC_1_SQRT_2);
            let mut preference = preferences[36..].to_vec();
            preference.iter_mut().for_each(|x| *x *= FRAC_1_SQRT_2);
            preference.push(FRAC_1_SQRT_2);
            let expected = world.pull(3, UserId(39), &arms, ArmIndex(arm as u32)).expected;
            assert!((expected - dot(&preference, item)).abs() < 1e-14);
        }
    }

    #[test]
    fn preferences_can_come_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("preferences.csv");
        let file = path.display().to_string();
        let params = |clusters| UsersParams {
            users: 4,
            servers: 2,
            clusters,
            dim: 3,
            preferences: Some(Preferences::File { file: file.clone() }),
            ..UsersParams::default()
        };
        let half = FRAC_1_SQRT_2;
        std::fs::write(&path, format!("0.5,0,{half}\n0,0.5,{half}\n0.5,0,{half}\n")).unwrap();
        let (mut world, _) = params(2).build(10, 1).unwrap();
        let mut arms = ArmBuffer::default();
        world.offer(1, UserId(0), &mut arms);
        let item = rows(&arms.features)[0].clone();
        let expected = world.pull(1, UserId(0), &arms, ArmIndex(0)).expected;
        let from_rows = [0.5 + 0.5 * item[0], 0.5 + 0.5 * item[1]];
        assert!(from_rows.iter().any(|value| (value - expected).abs() < 1e-12), "{expected} {from_rows:?}");
        let complaint = |clusters| params(clusters).build(10, 1).map(|_| ()).unwrap_err().to_string();
        assert!(complaint(3).contains("there are 2 different preferences"));
        std::fs::write(&path, "0.5,0\n").unwrap();
        assert!(complaint(1).contains("line 1") && complaint(1).contains("not dim (3)"));
        std::fs::write(&path, "0.9,0,0.70710678\n").unwrap();
        assert!(complaint(1).contains("must end with 1/sqrt 2"));
    }

    #[test]
    fn servers_have_equally_many_users_in_both_layouts() {
        let block = UsersParams { layout: Layout::Block, ..Default::default() };
        let hosts = block.hosts(1);
        assert!(hosts.is_sorted());
        // One cluster per server.
        assert!(hosts.iter().enumerate().all(|(user, host)| host.0 == super::block(user, 40, 5)));
        let random = UsersParams::default().hosts(1);
        assert_ne!(hosts, random);
        for server in 0..5 {
            assert_eq!(random.iter().filter(|host| host.0 == server).count(), 8);
        }
        let (world, _) = UsersParams::default().build(10, 1).unwrap();
        assert_eq!(world.setting().hosts, random);
    }
}
