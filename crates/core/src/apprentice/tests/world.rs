//! A world of plain arms with rewards of 0 or 1, and learners that chase what they have seen.

use std::collections::BTreeMap;

use crate::apprentice::{Apprentice, Settings, Toss, Turn};
use crate::{Keys, NodeId, Stream};

/// How a learner picks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Learner {
    /// The arm with the highest upper confidence bound.
    Ucb,
    /// The arm with the highest mean so far, which is luck as much as anything.
    Greedy,
    /// Another arm than the baseline's while its own picks do well, and the baseline's otherwise.
    Lucky,
    /// Always the last arm.
    Last,
}

/// When rewards come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Delay {
    None,
    /// What makes own picks look good comes at once, the rest after so many decisions.
    Flattering(u64),
}

/// All of a run.
#[derive(Clone, Debug)]
pub(super) struct World {
    /// What each arm earns on average; the baseline is arm 0.
    pub(super) arms: Vec<f64>,
    pub(super) learner: Learner,
    pub(super) delay: Delay,
    /// The share of rewards that never come.
    pub(super) lost: f64,
    pub(super) settings: Settings,
}

/// What is drawn for what.
const WORLD: NodeId = NodeId(1);
const COIN: NodeId = NodeId(2);

impl World {
    pub(super) fn new(arms: &[f64], learner: Learner) -> World {
        let settings = Settings { explore: 0.1, error: 0.05, range: (0.0, 1.0) };
        World { arms: arms.to_vec(), learner, delay: Delay::None, lost: 0.0, settings }
    }
}

/// A run under way.
pub(super) struct Run {
    pub(super) world: World,
    pub(super) apprentice: Apprentice,
    /// The same comparisons, told as rewards come.
    pub(super) by_arrival: Option<Apprentice>,
    keys: Keys,
    pub(super) decision: u64,
    pulls: Vec<f64>,
    sums: Vec<f64>,
    late: BTreeMap<u64, Vec<(u64, f64, Toss, bool)>>,
    /// What became of it: the decisions after which the learner took over or gave back.
    pub(super) turns: Vec<(u64, Turn)>,
    /// Rewards of the baseline and of own picks: how many, and their sum.
    naive: [(f64, f64); 2],
    pub(super) naive_displaced: bool,
}

impl Run {
    pub(super) fn new(world: World, seed: u64) -> Run {
        let arms = world.arms.len();
        Run {
            apprentice: Apprentice::new(world.settings).unwrap(),
            by_arrival: None,
            world,
            keys: Keys::from_seed(seed),
            decision: 0,
            pulls: vec![0.0; arms],
            sums: vec![0.0; arms],
            late: BTreeMap::new(),
            turns: Vec::new(),
            naive: [(0.0, 0.0); 2],
            naive_displaced: false,
        }
    }

    fn pick(&self, rng: &mut Stream) -> usize {
        let arms = self.world.arms.len();
        // Every arm begins with half a success in one try.
        let mean = |arm: usize| (self.sums[arm] + 0.5) / (self.pulls[arm] + 1.0);
        let best = |index: &dyn Fn(usize) -> f64| {
            (0..arms).fold(0, |best, arm| if index(arm) > index(best) { arm } else { best })
        };
        match self.world.learner {
            Learner::Ucb => {
                let total = 1.0 + self.pulls.iter().sum::<f64>();
                best(&|arm| mean(arm) + (0.5 * libm::log(total) / (self.pulls[arm] + 1.0)).sqrt())
            }
            Learner::Greedy if rng.uniform() < 0.1 => rng.below(arms as u64) as usize,
            Learner::Greedy => best(&mean),
            Learner::Lucky if mean(arms - 1) >= mean(0) => arms - 1,
            Learner::Lucky if rng.uniform() < 0.2 => arms - 1,
            Learner::Lucky => 0,
            Learner::Last => arms - 1,
        }
    }

    /// One decision, and all rewards that come with it.
    pub(super) fn step(&mut self) {
        self.decision += 1;
        let number = self.decision;
        let mut rng = self.keys.choice(WORLD, number);
        let own = self.pick(&mut rng);
        let toss = self.apprentice.toss(&mut self.keys.coin(COIN, number));
        let arm = if toss.own { own } else { 0 };
        let reward = f64::from(rng.uniform() < self.world.arms[arm]);
        let lost = rng.uniform() < self.world.lost;
        self.apprentice.decided(number, toss, own != 0, None);
        let wait = match self.world.delay {
            Delay::None => 0,
            Delay::Flattering(_) if toss.own == (reward == 1.0) => 0,
            Delay::Flattering(wait) => wait,
        };
        self.pulls[arm] += 1.0;
        self.sums[arm] += reward;
        if lost {
            let turn = self.apprentice.missing(number);
            self.turns.extend(turn.map(|turn| (number, turn)));
        } else {
            self.late.entry(number + wait).or_default().push((number, reward, toss, own != 0));
        }
        for (settled, reward, toss, differ) in self.late.remove(&number).unwrap_or_default() {
            let turn = self.apprentice.settle(settled, reward).unwrap();
            self.turns.extend(turn.map(|turn| (number, turn)));
            if let Some(other) = &mut self.by_arrival {
                // As if it had been decided when its reward came.
                other.decided(settled, toss, differ, None);
                other.settle(settled, reward).unwrap();
            }
            if differ {
                self.look_naively(toss, reward);
            }
        }
    }

    /// A test at the same level that is fine once, looked at after every reward.
    fn look_naively(&mut self, toss: Toss, reward: f64) {
        let side = &mut self.naive[usize::from(toss.own)];
        *side = (side.0 + 1.0, side.1 + reward);
        let [(n0, s0), (n1, s1)] = self.naive;
        if n0.min(n1) >= 20.0 {
            let mean = (s0 + s1) / (n0 + n1);
            let error = (mean * (1.0 - mean) * (1.0 / n0 + 1.0 / n1)).sqrt();
            self.naive_displaced |= s1 / n1 - s0 / n0 > 1.645 * error;
        }
    }

    pub(super) fn steps(&mut self, decisions: u64) -> &mut Run {
        (0..decisions).for_each(|_| self.step());
        self
    }

    /// Was the baseline ever displaced?
    pub(super) fn displaced(&self) -> bool {
        self.turns.iter().any(|(_, turn)| *turn == Turn::TookOver)
    }

    /// Until the learner takes over, or `most` decisions are taken.
    pub(super) fn until_takeover(&mut self, most: u64) -> u64 {
        while !self.apprentice.in_charge() && self.decision < most {
            self.step();
        }
        self.decision
    }
}

/// The largest count that `runs` runs, each with this probability, come to but for one time in 1,000 (3.1 deviations).
pub(super) fn most(runs: u64, probability: f64) -> u64 {
    let mean = runs as f64 * probability;
    (mean + 3.1 * (mean * (1.0 - probability)).sqrt()).floor() as u64
}
