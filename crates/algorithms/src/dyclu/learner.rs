//! The one learner of dyclu, which sees every user's data.

use std::collections::VecDeque;
use std::sync::Arc;

use cahoots_core::graph::Graph;
use cahoots_core::homogeneity::{HomogeneityTest, Sample, chi_square};
use cahoots_core::policy::{Distribution, LinearPolicy};
use cahoots_core::{ArmSet, Choice, Cx, Learner, LinearStats, Silence, Stream, UserId, View, hears_nothing};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use crate::kit::clusters::{ChosenFor, Knowledge};

/// A model per user and stationary stretch of time, and a neighbourhood of similar ones for each.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dynamic {
    ridge: f64,
    policy: LinearPolicy,
    nothing: Arc<View>,
    test: HomogeneityTest,
    variance: f64,
    outlier: f64,
    window: usize,
    alarm: f64,
    keep_past: bool,
    users: Vec<User>,
    /// What was observed in one stretch of one user, present or past.
    samples: Vec<Sample>,
    /// Whose samples are similar.
    graph: Graph,
    changes: u64,
}

/// A user: where its present sample is, and how surprising its last observations were.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct User {
    sample: Option<u32>,
    surprises: VecDeque<bool>,
}

impl Dynamic {
    pub(super) fn new(valid: &Valid) -> Self {
        Dynamic {
            ridge: valid.linear.ridge,
            policy: valid.linear.policy,
            nothing: valid.linear.nothing.clone(),
            test: valid.test.clone(),
            variance: valid.variance,
            outlier: valid.outlier,
            window: valid.window,
            alarm: valid.alarm,
            keep_past: valid.keep_past,
            users: Vec::new(),
            samples: Vec::new(),
            graph: Graph::new(0),
            changes: 0,
        }
    }

    /// Changes that have been detected.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The summed statistics of everyone who is similar to `user`, itself included.
    pub fn neighbourhood(&self, user: UserId) -> LinearStats {
        let mut sum = self.nothing.stats().clone();
        // Tests come with rewards: before its first one, a user is on its own.
        let Some(own) = self.users.get(user.index()).and_then(|user| user.sample) else { return sum };
        for (other, sample) in self.samples.iter().enumerate() {
            if own as usize == other || self.graph.has(own as usize, other) {
                sum.merge(sample.stats());
            }
        }
        sum
    }

    /// The present sample of a user, made with its first observation.
    fn sample_of(&mut self, user: UserId) -> usize {
        if self.users.len() <= user.index() {
            self.users.resize_with(user.index() + 1, User::default);
        }
        match self.users[user.index()].sample {
            Some(sample) => sample as usize,
            None => self.begin(user),
        }
    }

    fn begin(&mut self, user: UserId) -> usize {
        let sample = self.samples.len();
        self.samples.push(Sample::of(self.nothing.stats().clone()));
        self.graph.grow(sample + 1);
        self.users[user.index()] = User { sample: Some(sample as u32), surprises: VecDeque::new() };
        sample
    }

    /// Is this observation unlike what the user's own model says? `None` as long as it cannot be told.
    fn is_outlier(&self, sample: usize, x: &[f64], reward: f64) -> Option<bool> {
        let (mean, width2) = self.samples[sample].predict(x)?;
        let residual = reward - mean;
        let statistic = residual * residual / (self.variance * (1.0 + width2));
        Some(chi_square::survival(statistic, 1.0, 0.0) < self.outlier)
    }

    /// Notes whether the last observation was an outlier; true if there have been too many of them.
    fn is_changed(&mut self, user: UserId, outlier: bool) -> bool {
        let surprises = &mut self.users[user.index()].surprises;
        if surprises.len() == self.window {
            surprises.pop_front();
        }
        surprises.push_back(outlier);
        surprises.iter().filter(|surprise| **surprise).count() as f64 > self.alarm
    }

    /// The user's old model is no longer its own.
    fn change(&mut self, user: UserId, before: usize) -> usize {
        self.changes += 1;
        if !self.keep_past {
            (0..self.samples.len()).filter(|&other| other != before).for_each(|other| {
                self.graph.set(before, other, false);
            });
            self.samples[before] = Sample::of(self.nothing.stats().clone());
            self.users[user.index()].surprises.clear();
            return before;
        }
        self.begin(user)
    }

    /// Tests one sample against all others.
    fn renew(&mut self, own: usize) {
        for other in (0..self.samples.len()).filter(|&other| other != own) {
            let similar = self.test.similar(&self.samples[own], &self.samples[other]);
            self.graph.set(own, other, similar);
        }
    }
}

hears_nothing!(Dynamic);

impl Learner for Dynamic {
    type Pending = ChosenFor;

    fn choose(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<ChosenFor> {
        let known = Knowledge::of(self.neighbourhood(user), self.ridge);
        let picked = known.choose(&self.policy, arms, rng);
        picked.keeping(ChosenFor { user, context: arms.context(picked.arm) })
    }

    fn odds(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        Knowledge::of(self.neighbourhood(user), self.ridge).odds(&self.policy, arms, rng)
    }

    fn observe(&mut self, pending: ChosenFor, reward: f64, cx: &mut Cx<'_, Silence>) {
        let ChosenFor { user, context } = pending;
        let mut own = self.sample_of(user);
        let mut outlier = self.is_outlier(own, &context, reward);
        if outlier.is_some_and(|outlier| self.is_changed(user, outlier)) {
            own = self.change(user, own);
            outlier = None;
            cx.level("changes", self.changes as f64);
        }
        if outlier != Some(true) {
            self.samples[own].observe(&context, reward);
        }
        self.renew(own);
    }
}
