//! SCLUB at one local server: clusters are sets, which users leave and which are merged again.

use cahoots_core::policy::{Distribution, LinearPolicy};
use cahoots_core::{ArmSet, Choice, Cx, Learner, LinearStats, Seat, Silence, Stream, UserId, hears_nothing};
use serde::{Deserialize, Serialize};

use super::cohort::{Member, sum};
use super::params::Valid;
use crate::kit::clusters::{ChosenFor, Knowledge, distance, novelty, reach};

/// Splits and merges, in stages of doubling length.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sclub {
    ridge: f64,
    policy: LinearPolicy,
    nothing: LinearStats,
    deletion: f64,
    frequency: f64,
    members: Vec<Member>,
    /// By member: seen in this stage.
    checked: Vec<bool>,
    sets: Vec<Set>,
    /// Observations so far, and when the stage ends.
    time: u64,
    stage_end: u64,
    stage: u32,
}

/// A cluster, and what it was at the start of the stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Set {
    users: Vec<u32>,
    knowledge: Knowledge,
    frozen: Vec<f64>,
    frozen_count: u64,
}

impl Set {
    fn of(users: Vec<u32>, stats: LinearStats, ridge: f64) -> Self {
        let mut set =
            Set { users, frozen: Vec::new(), frozen_count: 0, knowledge: Knowledge::of(stats, ridge) };
        set.freeze();
        set
    }

    fn freeze(&mut self) {
        self.frozen = self.knowledge.factor.theta();
        self.frozen_count = self.knowledge.stats.count;
    }
}

impl Sclub {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        let ridge = valid.linear.ridge;
        let nothing = valid.linear.nothing.stats().clone();
        let members = Member::of_host(valid, seat);
        let everyone = (0..members.len() as u32).collect();
        Sclub {
            ridge,
            policy: valid.linear.policy,
            deletion: valid.deletion,
            frequency: valid.frequency,
            checked: vec![false; members.len()],
            sets: vec![Set::of(everyone, nothing.clone(), ridge)],
            nothing,
            members,
            time: 0,
            stage_end: 2,
            stage: 1,
        }
    }

    /// Its clusters of users.
    pub fn clusters(&self) -> impl Iterator<Item = Vec<UserId>> {
        self.sets.iter().map(|set| set.users.iter().map(|&i| self.members[i as usize].id).collect())
    }

    fn position(&self, user: UserId) -> Option<usize> {
        self.members.iter().position(|member| member.id == user)
    }

    /// What a user is chosen for by.
    fn known_of(&self, user: UserId) -> &Knowledge {
        let group = self.position(user).map_or(0, |position| self.members[position].group);
        &self.sets[group as usize].knowledge
    }

    fn admit(&mut self, user: UserId) -> usize {
        self.position(user).unwrap_or_else(|| {
            let position = self.members.len();
            self.members.push(Member::new(user, &self.nothing, self.ridge));
            self.checked.push(false);
            self.sets[0].users.push(position as u32);
            position
        })
    }

    /// A stage is over: estimates are frozen, everyone is to be looked at again.
    fn next_stage(&mut self) {
        self.stage += 1;
        self.stage_end += 1u64 << self.stage.min(62);
        self.sets.iter_mut().for_each(Set::freeze);
        self.checked.fill(false);
    }

    fn rate(&self, user: u32) -> f64 {
        self.members[user as usize].count() as f64 / self.time as f64
    }

    fn mean_rate(&self, set: &Set) -> f64 {
        set.users.iter().map(|&user| self.rate(user)).sum::<f64>() / set.users.len() as f64
    }

    /// Does this user no longer belong where it is?
    fn differs(&self, own: usize) -> bool {
        let member = &self.members[own];
        let set = &self.sets[member.group as usize];
        if set.users.len() < 2 {
            return false;
        }
        let limit = reach(self.deletion, member.count(), set.frozen_count);
        let rarely = 2.0 * self.frequency * novelty(self.time);
        distance(&member.estimate, &set.frozen) > limit
            || set.users.iter().any(|&other| (self.rate(own as u32) - self.rate(other)).abs() > rarely)
    }

    fn split(&mut self, own: usize) {
        let group = self.members[own].group as usize;
        self.sets[group].users.retain(|&user| user as usize != own);
        let rest = sum(&self.members, &self.sets[group].users, &self.nothing);
        self.sets[group].knowledge = Knowledge::of(rest, self.ridge);
        let alone = self.members[own].own.stats.clone();
        self.members[own].group = self.sets.len() as u32;
        self.sets.push(Set::of(vec![own as u32], alone, self.ridge));
    }

    fn is_checked(&self, set: &Set) -> bool {
        set.users.iter().all(|&user| self.checked[user as usize])
    }

    /// The first checked cluster that this one is like.
    fn alike(&self, group: usize) -> Option<usize> {
        let own = &self.sets[group];
        let theta = own.knowledge.factor.theta();
        (0..self.sets.len()).filter(|&other| other != group && self.is_checked(&self.sets[other])).find(
            |&other| {
                let set = &self.sets[other];
                let limit = reach(0.5 * self.deletion, own.knowledge.stats.count, set.knowledge.stats.count);
                distance(&theta, &set.knowledge.factor.theta()) < limit
                    && (self.mean_rate(own) - self.mean_rate(set)).abs() < self.frequency * novelty(self.time)
            },
        )
    }

    fn merge(&mut self, one: usize, other: usize) {
        let (first, second) = (one.min(other), one.max(other));
        let gone = self.sets.remove(second);
        let users: Vec<u32> = self.sets[first].users.iter().chain(&gone.users).copied().collect();
        let stats = sum(&self.members, &users, &self.nothing);
        self.sets[first] = Set::of(users, stats, self.ridge);
        for (group, set) in self.sets.iter().enumerate() {
            set.users.iter().for_each(|&user| self.members[user as usize].group = group as u32);
        }
    }
}

hears_nothing!(Sclub);

impl Learner for Sclub {
    type Pending = ChosenFor;

    fn choose(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<ChosenFor> {
        let picked = self.known_of(user).choose(&self.policy, arms, rng);
        picked.keeping(ChosenFor { user, context: arms.context(picked.arm) })
    }

    fn odds(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        self.known_of(user).odds(&self.policy, arms, rng)
    }

    fn observe(&mut self, pending: ChosenFor, reward: f64, cx: &mut Cx<'_, Silence>) {
        let own = self.admit(pending.user);
        self.time += 1;
        self.members[own].observe(&pending.context, reward);
        let group = self.members[own].group as usize;
        self.sets[group].knowledge.observe(&pending.context, reward);
        self.checked[own] = true;
        if self.differs(own) {
            self.split(own);
        }
        let group = self.members[own].group as usize;
        if self.is_checked(&self.sets[group]) {
            let mut group = group;
            while let Some(other) = self.alike(group) {
                self.merge(group, other);
                group = group.min(other);
            }
        }
        if self.time == self.stage_end {
            self.next_stage();
            cx.level("local_clusters", self.sets.len() as f64);
        }
    }
}
