//! CLUB at one local server: a graph that only loses edges, a model for each of its components.

use cahoots_core::policy::{Distribution, LinearPolicy};
use cahoots_core::{ArmSet, Choice, Cx, Learner, LinearStats, Seat, Silence, Stream, UserId, hears_nothing};
use serde::{Deserialize, Serialize};

use super::cohort::{Member, sum};
use super::params::Valid;
use crate::kit::clusters::{Alike, ChosenFor, Knowledge, distance, reach};

/// Deletes the edges of a user that has turned out to differ.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Club {
    ridge: f64,
    policy: LinearPolicy,
    nothing: LinearStats,
    deletion: f64,
    members: Vec<Member>,
    alike: Alike,
    components: Vec<(Vec<u32>, Knowledge)>,
}

impl Club {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        let ridge = valid.linear.ridge;
        let nothing = valid.linear.nothing.stats().clone();
        let members = Member::of_host(valid, seat);
        let everyone = (0..members.len() as u32).collect();
        Club {
            ridge,
            policy: valid.linear.policy,
            components: vec![(everyone, Knowledge::of(nothing.clone(), ridge))],
            nothing,
            deletion: valid.deletion,
            alike: Alike::everyone(members.len()),
            members,
        }
    }

    /// Its clusters of users.
    pub fn clusters(&self) -> impl Iterator<Item = Vec<UserId>> {
        self.components.iter().map(|(users, _)| users.iter().map(|&i| self.members[i as usize].id).collect())
    }

    fn position(&self, user: UserId) -> Option<usize> {
        self.members.iter().position(|member| member.id == user)
    }

    /// What a user is chosen for by.
    fn known_of(&self, user: UserId) -> &Knowledge {
        let group = self.position(user).map_or(0, |position| self.members[position].group);
        &self.components[group as usize].1
    }

    /// A user that nobody announced: like everyone until seen otherwise.
    fn admit(&mut self, user: UserId) -> usize {
        self.position(user).unwrap_or_else(|| {
            let position = self.members.len();
            self.members.push(Member::new(user, &self.nothing, self.ridge));
            self.alike.admit();
            self.components = vec![];
            self.regroup();
            position
        })
    }

    /// Deletes the edges between this user and all who differ from it; true if there were any.
    fn delete_edges(&mut self, own: usize) -> bool {
        let mut deleted = false;
        for other in (0..self.members.len()).filter(|&other| other != own) {
            let (a, b) = (&self.members[own], &self.members[other]);
            if b.count() > 0
                && self.alike.are(own, other)
                && distance(&a.estimate, &b.estimate) > reach(self.deletion, a.count(), b.count())
            {
                self.alike.part(own, other);
                deleted = true;
            }
        }
        deleted
    }

    fn regroup(&mut self) {
        let found = self.alike.clusters();
        if found.len() == self.components.len() {
            return;
        }
        for (group, users) in found.iter().enumerate() {
            users.iter().for_each(|&user| self.members[user as usize].group = group as u32);
        }
        let model = |users: Vec<u32>| {
            let stats = sum(&self.members, &users, &self.nothing);
            (users, Knowledge::of(stats, self.ridge))
        };
        self.components = found.into_iter().map(model).collect();
    }
}

hears_nothing!(Club);

impl Learner for Club {
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
        self.members[own].observe(&pending.context, reward);
        let group = self.members[own].group as usize;
        self.components[group].1.observe(&pending.context, reward);
        if self.delete_edges(own) {
            self.regroup();
            cx.level("local_clusters", self.components.len() as f64);
        }
    }
}
