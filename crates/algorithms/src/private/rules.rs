//! What becomes of the parameters of the private family.

use cahoots_core::plausible::Noised;
use cahoots_core::policy::LinearPolicy;
use cahoots_core::{
    Alone, Claim, LinearStats, Misbehaviour, ParamError, Plausible, Setting, Tick, Unit, UserId,
};
use cahoots_privacy::aggregation::{GroupNoise, NOT_PROTECTED, OBSERVER, Terms};
use cahoots_privacy::{Batches, Budget, Calibration, Randomised, Schedule, calibration};
use serde::{Deserialize, Serialize};

use super::message::Summed;
use super::params::{Decide, PrivateParams, Trust};
use crate::kit::clusters::users_by_host;

/// What all machines of a federation go by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    pub(crate) dim: usize,
    pub(crate) ridge: f64,
    pub(crate) policy: LinearPolicy,
    pub(crate) noise: Noising,
    pub(crate) times: Times,
    pub(crate) decide: Decide,
    /// Observations of one user that are used; all of them at event level.
    pub(crate) per_user: u64,
    pub(crate) unit: Unit,
    pub(crate) rewards: Rewards,
    /// `None`: sums are used as they are, under a ridge that is larger than their noise.
    pub(crate) weighing: Option<Weighing>,
    /// Users are told apart, each with a sum of its own; `None`: one sum for all of a client's users.
    pub(crate) apart: Option<Apart>,
    pub(crate) budget: Budget,
}

/// Rewards as they are learned: within a range, less its middle if they are centred.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rewards {
    pub(crate) range: (f64, f64),
    pub(crate) middle: f64,
}

impl Rewards {
    pub(crate) fn new(range: Option<(f64, f64)>, centred: bool) -> Result<Rewards, ParamError> {
        let range = range.unwrap_or((-1.0, 1.0));
        if !(range.0 < range.1 && range.0.is_finite() && range.1.is_finite()) {
            let problem = format!("must be the smallest and the largest reward, not {range:?}");
            return Err(ParamError::new("reward_range", problem));
        }
        Ok(Rewards { range, middle: if centred { 0.5 * (range.0 + range.1) } else { 0.0 } })
    }

    /// b: what is learned is at most this.
    pub(crate) fn largest(&self) -> f64 {
        (self.range.0 - self.middle).abs().max((self.range.1 - self.middle).abs())
    }
}

/// How sums are made fit to leave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Noising {
    /// Sums get noise when they are released.
    Sums(Schedule),
    /// Observations get noise when they are made.
    Observations(Randomised),
    /// Sums over groups get noise in shares, when they are released.
    Group(GroupNoise),
    /// Sums get the noise of a tree, batch by batch.
    Batches(Batches),
}

/// When users are of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Apart {
    /// Squared distance, in units of what uncertainty explains, up to which two are alike.
    pub(super) separation: f64,
    /// Expected squared errors of both, added up, above which nobody can tell.
    pub(super) certainty: f64,
}

/// What noisy sums are worth beside exact observations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Weighing {
    /// Variance of a reward.
    pub(super) reward_variance: f64,
    /// `1 + |theta|^2`: noise in the moment, and noise in the Gram matrix times what is to be learned.
    pub(super) both: f64,
    /// Squared bound on what is to be learned.
    pub(super) preference2: f64,
}

/// When sums are released: known to all in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Times {
    /// At ticks that double.
    Doubling { first: Tick, releases: u32 },
    /// Every so many ticks.
    Every { batch: Tick, releases: u32 },
}

impl Times {
    fn doubling(first: Option<u64>, releases: u32, horizon: u64) -> Times {
        let first = first.unwrap_or_else(|| (horizon >> releases.min(63)).max(1));
        // What lies beyond the horizon needs no noise.
        let within = (0..releases).take_while(|&k| doubled(first, k).is_some_and(|tick| tick < horizon));
        Times::Doubling { first, releases: (within.count() as u32).max(1) }
    }

    /// Every `batch` ticks before the horizon; `None` where that is too often to count.
    pub(crate) fn every(batch: u64, horizon: u64) -> Option<Times> {
        let releases = u32::try_from(horizon.saturating_sub(1) / batch).ok()?.max(1);
        Some(Times::Every { batch, releases })
    }

    /// Releases, at most.
    pub(crate) fn releases(&self) -> u32 {
        let (Times::Doubling { releases, .. } | Times::Every { releases, .. }) = self;
        *releases
    }

    /// The tick of the k-th release, from 0 on.
    fn at(&self, k: u32) -> Option<Tick> {
        match *self {
            Times::Doubling { first, .. } => doubled(first, k),
            Times::Every { batch, .. } => batch.checked_mul(u64::from(k) + 1),
        }
    }

    /// Half of what lies between a release and the next: so long a round waits for those who are late.
    fn patience(&self, tick: Tick) -> Tick {
        let between = match *self {
            Times::Doubling { .. } => tick,
            Times::Every { batch, .. } => batch,
        };
        (between / 2).max(1)
    }

    /// The first release after `now`.
    pub(super) fn next(&self, now: Tick) -> Option<Tick> {
        self.from(now).find(|&tick| tick > now)
    }

    /// Half-way between a release and the next.
    pub(super) fn next_deadline(&self, now: Tick) -> Option<Tick> {
        let ticks = self.from(now).map(|tick| tick.saturating_add(self.patience(tick)));
        ticks.into_iter().find(|&tick| tick > now)
    }

    /// Releases, from one on whose deadline is not after `now`.
    fn from(&self, now: Tick) -> impl Iterator<Item = Tick> {
        let passed = match *self {
            Times::Doubling { .. } => 0,
            Times::Every { batch, .. } => (now / batch).saturating_sub(2).min(u32::MAX.into()) as u32,
        };
        let times = *self;
        (passed..self.releases()).filter_map(move |k| times.at(k))
    }
}

/// Where a round has several steps, all by the server's clock.
impl Times {
    /// The round that is due.
    pub(super) fn round(&self, now: Tick) -> u32 {
        (0..self.releases()).take_while(|&k| self.at(k).is_some_and(|tick| tick <= now)).count() as u32
    }

    /// How long a step of a round waits for those who are late: an eighth of the time until the next round.
    pub(super) fn wait(&self, round: u32) -> Tick {
        self.at(round.saturating_sub(1)).map_or(1, |tick| (self.patience(tick) / 4).max(1))
    }
}

fn doubled(first: Tick, k: u32) -> Option<Tick> {
    first.checked_mul(1u64.checked_shl(k)?)
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(crate) rules: Rules,
    /// Users of each client.
    pub(crate) users: Vec<Vec<UserId>>,
    /// How a client would choose by its own data alone, without noise; `None` where nobody has these, or where what is learned
    /// is not of rewards as they come.
    pub(crate) alone: Option<Alone>,
}

/// Refuses a policy that needs more than what is released.
pub(crate) fn released_alone(policy: &LinearPolicy) -> Result<(), ParamError> {
    if policy.needs_contexts() {
        return Err(ParamError::new(
            "policy",
            "linphe needs sums that are not released here; linucb or lints",
        ));
    }
    Ok(())
}

impl PrivateParams {
    pub(super) fn check(&self, apart: Option<(f64, f64)>, setting: &Setting) -> Result<Valid, ParamError> {
        let linear = self.linear.check(setting)?;
        released_alone(&linear.policy)?;
        let reward_noise = self.linear.reward_noise.unwrap_or(setting.reward_noise);
        let reward_noise = ParamError::positive("reward_noise", reward_noise)?;
        let norm = ParamError::positive("preference_norm", self.preference_norm)?;
        if !(1..=64).contains(&self.releases) {
            return Err(ParamError::new("releases", format!("must be 1 to 64, not {}", self.releases)));
        }
        if self.first_release == Some(0) {
            return Err(ParamError::new("first_release", "must be at least 1, not 0"));
        }
        let (per_user, group) = match (self.unit, self.per_user) {
            (Unit::Event, None) => (u64::MAX, 1.0),
            (Unit::Event, Some(_)) => {
                return Err(ParamError::new("per_user", "is for unit = \"user\" alone"));
            }
            (Unit::User, Some(most)) if most > 0 => (most, most as f64),
            (Unit::User, _) => {
                return Err(ParamError::new(
                    "per_user",
                    "say how many observations of one user are used at most",
                ));
            }
        };
        if self.robust.is_some() {
            let problem = match self.trust {
                Trust::Group => {
                    "cannot be had with trust = \"group\": the server sees sums over groups and never what one client \
                     contributes, so that it cannot tell who lies"
                }
                Trust::Silo | Trust::Nobody => {
                    "cannot be had with noise: what it hides of honest clients is what would tell who lies"
                }
            };
            return Err(ParamError::new("robust", problem));
        }
        if self.trust == Trust::Nobody && self.decide == Decide::Own {
            let problem = "\"released\", with trust = \"nobody\": nobody has the exact data to decide with";
            return Err(ParamError::new("decide", problem));
        }
        let rewards = Rewards::new(self.reward_range.or(setting.reward_range), self.centred)?;
        let times = Times::doubling(self.first_release, self.releases, setting.horizon);
        let budget = self.stated.budget(Calibration::Analytic)?;
        // Of m observations each moves by at most as much, and moves add up.
        let sensitivity = group * calibration::sensitivity(rewards.largest());
        let most = self.group_most.map(|_| "group_most");
        if let (true, Some(key)) = (self.trust != Trust::Group, self.group.first_given().or(most)) {
            return Err(ParamError::new(key, "is for trust = \"group\" alone"));
        }
        if self.trust == Trust::Group && apart.is_some() {
            let problem =
                "\"silo\": sums over a group do not tell its users apart (private-linucb takes \"group\")";
            return Err(ParamError::new("trust", problem));
        }
        let noise = match self.trust {
            Trust::Group => {
                let schedule = Schedule::new(&budget, times.releases(), sensitivity, setting.dim)?;
                let most = self.group_most.unwrap_or(Terms::USUAL.most);
                let usual = Terms { most, ..Terms::USUAL };
                let terms = self.group.check(usual, users_by_host(setting).len())?;
                Noising::Group(GroupNoise::new(schedule, terms, setting.dim)?)
            }
            Trust::Silo => Noising::Sums(Schedule::new(&budget, times.releases(), sensitivity, setting.dim)?),
            Trust::Nobody => Noising::Observations(Randomised::new(&budget, sensitivity, setting.dim)?),
        };
        let apart = match apart {
            Some((separation, certainty)) => Some(Apart {
                separation: ParamError::not_negative("separation", separation)?,
                certainty: ParamError::not_negative("certainty", certainty)? * norm * norm,
            }),
            None => None,
        };
        let rules = Rules {
            dim: setting.dim,
            ridge: linear.ridge,
            policy: linear.policy,
            noise,
            times,
            decide: self.decide,
            per_user,
            unit: self.unit,
            rewards,
            weighing: Some(Weighing {
                reward_variance: reward_noise * reward_noise,
                both: 1.0 + norm * norm,
                preference2: norm * norm,
            }),
            apart,
            budget,
        };
        let plain = self.trust != Trust::Nobody && !self.centred;
        let alone = linear.alone().filter(|_| plain).map(|alone| alone.with_norm(norm));
        Ok(Valid { rules, users: users_by_host(setting), alone })
    }
}

impl Rules {
    /// What one unit is, for the accountant.
    pub(super) fn unit_in_words(&self) -> &'static str {
        match self.unit {
            Unit::Event => "one observation (context and reward)",
            Unit::User => "one user (all observations, of which a stated number is used)",
        }
    }

    /// From whom it is protected.
    pub(super) fn observer(&self) -> &'static str {
        match self.noise {
            Noising::Sums(_) | Noising::Batches(_) => "all parties outside its client",
            Noising::Observations(_) => "everyone, its own client included",
            Noising::Group(_) => OBSERVER,
        }
    }

    /// Releases of one sum, at most.
    pub(super) fn releases(&self) -> u32 {
        self.times.releases()
    }

    /// Variance of the noise in the `number`-th release of a sum of so many observations: public.
    pub(super) fn variance(&self, number: u32, observations: u64) -> f64 {
        match &self.noise {
            Noising::Sums(schedule) => schedule.variance(number),
            Noising::Observations(randomised) => randomised.variance(observations),
            // Depends on how many took part: each sum says its own.
            Noising::Group(_) => 0.0,
            Noising::Batches(batches) => batches.variance(number),
        }
    }

    /// Refuses shared sums that are none.
    pub(super) fn check_shared(&self, sum: &Summed) -> Result<(), Misbehaviour> {
        sum.stats.check(self.dim, false)?;
        if !(sum.variance >= 0.0 && sum.variance.is_finite()) {
            return Err(Misbehaviour::Implausible(format!("noise of variance {}", sum.variance)));
        }
        Ok(())
    }

    /// The same for a sum over groups, of noise of this variance, in shares of so many.
    pub(super) fn check_sum(
        &self,
        stats: &LinearStats,
        variance: f64,
        members: usize,
    ) -> Result<(), Misbehaviour> {
        let Noising::Group(noise) = &self.noise else { return Ok(()) };
        stats.check(self.dim, false)?;
        let plausible = Plausible::CLIPPED.with_reward(self.rewards.largest());
        let step = noise.step() * members as f64;
        plausible.check_noised(stats, &Noised { deviation: variance.sqrt(), shift: 0.0, step })
    }

    /// Refuses what no observations can have led to, but for noise of the scale that all know.
    pub(super) fn check(&self, number: u32, stats: &LinearStats) -> Result<(), Misbehaviour> {
        stats.check(self.dim, false)?;
        let plausible = Plausible::CLIPPED.with_reward(self.rewards.largest());
        let deviation = self.variance(number, stats.count).sqrt();
        let step = match &self.noise {
            Noising::Sums(schedule) => schedule.noise.step() * f64::from(number),
            Noising::Observations(randomised) => randomised.noise().step(),
            Noising::Group(_) => return Err(Misbehaviour::Unexpected("a sum of one client".into())),
            Noising::Batches(batches) => batches.noise.step(),
        };
        if deviation == 0.0 && step == 0.0 {
            return plausible.check(stats);
        }
        plausible.check_noised(stats, &Noised { deviation, shift: 0.0, step })
    }
}

impl Valid {
    pub(crate) fn claim(&self) -> Claim {
        let Rules { budget, noise, decide, unit, .. } = &self.rules;
        let noiseless = budget.epsilon == f64::INFINITY;
        let calibration = match noise {
            _ if noiseless => "none",
            Noising::Sums(_) => "analytic Gaussian, correlated over a public schedule of releases",
            Noising::Observations(_) => "analytic Gaussian on every observation",
            Noising::Group(_) => {
                "analytic Gaussian in shares over a group, correlated over a public schedule of releases"
            }
            Noising::Batches(_) => "analytic Gaussian, a binary tree over a public schedule of batches",
        };
        let mut not_protected = vec![match unit {
            Unit::Event => {
                "that an observation was made, and when: counts are exact and releases come at public times"
            }
            Unit::User => "that a user is there, and when observations are made",
        }];
        if *unit == Unit::Event {
            not_protected
                .push("a person as a whole: the promise is for one observation, and a person has many");
        }
        if *decide == Decide::Own {
            not_protected.push(
                "what is chosen later: decisions use the client's own exact data, so that the promise is for an \
                 observation in whose place another leaves the later ones as they are (decide = \"released\" has no \
                 such gap)",
            );
        }
        if matches!(noise, Noising::Group(_)) {
            not_protected.extend(NOT_PROTECTED);
        }
        if !matches!(noise, Noising::Observations(_)) {
            not_protected.push("what a user's own client learns, which sees all of it");
        }
        Claim {
            epsilon: budget.epsilon,
            delta: budget.delta,
            calibration: calibration.into(),
            not_protected: not_protected.into_iter().map(Into::into).collect(),
        }
    }
}
