//! What happened in a run, folded as it happens: regret, reward, communication.
//! Nothing is stored per step; a curve keeps at most [`CURVE_POINTS`] points.

use std::collections::BTreeMap;

use cahoots_core::{Message, ReleaseFact, Tick, Traffic};
use serde::Serialize;

use crate::world::Pull;

/// Points of a curve, at most.
pub const CURVE_POINTS: u64 = 1000;

/// A run so far, at one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CurvePoint {
    /// When.
    pub tick: Tick,
    /// Pseudo-regret so far.
    pub regret: f64,
    /// Realised reward so far.
    pub reward: f64,
    /// Charged messages so far.
    pub transfers: u64,
    /// Their encoded bytes so far.
    pub bytes: u64,
}

/// Releases of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReleaseCount {
    /// What was released and how.
    pub fact: ReleaseFact,
    /// How often.
    pub times: u64,
}

/// Facts of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Ledger {
    /// Interactions.
    pub steps: u64,
    /// Pseudo-regret: best expectation on offer minus the chosen arm's.
    pub regret: f64,
    /// Realised reward.
    pub reward: f64,
    /// Messages.
    pub traffic: Traffic,
    /// Copies that receivers dropped because they had seen them.
    pub duplicates_dropped: u64,
    /// Messages that receivers refused.
    pub refused: u64,
    /// Decisions whose reward never came.
    pub abandoned: u64,
    /// Last value of each reported metric.
    pub metrics: BTreeMap<&'static str, f64>,
    /// Releases, by kind.
    pub releases: Vec<ReleaseCount>,
    /// The run over time.
    pub curve: Vec<CurvePoint>,
    #[serde(skip)]
    every: u64,
    #[serde(skip)]
    horizon: Tick,
}

impl Ledger {
    /// An empty ledger for `horizon` ticks.
    pub fn new(horizon: Tick) -> Self {
        Ledger {
            steps: 0,
            regret: 0.0,
            reward: 0.0,
            traffic: Traffic::default(),
            duplicates_dropped: 0,
            refused: 0,
            abandoned: 0,
            metrics: BTreeMap::new(),
            releases: Vec::new(),
            curve: Vec::new(),
            every: horizon.div_ceil(CURVE_POINTS).max(1),
            horizon,
        }
    }

    /// A pull.
    pub fn pull(&mut self, pull: &Pull) {
        self.steps += 1;
        self.regret += pull.best - pull.expected;
        self.reward += pull.reward;
    }

    /// Several pulls of one arm.
    pub fn block(&mut self, pulls: u64, block: &crate::world::BlockPull) {
        self.steps += pulls;
        self.regret += (block.best - block.expected) * pulls as f64;
        self.reward += block.sum;
    }

    /// A message that was sent (once, however often the network repeats it).
    pub fn message(&mut self, message: &impl Message) {
        self.traffic.count(message);
    }

    /// A value that a machine reported. Rounds add up; others keep their last value.
    pub fn metric(&mut self, name: &'static str, value: f64) {
        if name == "rounds" {
            self.traffic.rounds += value as u64;
        }
        self.metrics.insert(name, value);
    }

    /// A release.
    pub fn release(&mut self, fact: &ReleaseFact) {
        match self.releases.iter_mut().find(|known| known.fact == *fact) {
            Some(known) => known.times += 1,
            None => self.releases.push(ReleaseCount { fact: fact.clone(), times: 1 }),
        }
    }

    /// The next tick at which the curve gets a point.
    pub fn next_point(&self, now: Tick) -> Tick {
        ((now / self.every + 1) * self.every).min(self.horizon)
    }

    /// A tick is over.
    pub fn tick(&mut self, tick: Tick) {
        if tick.is_multiple_of(self.every) || tick == self.horizon {
            self.curve.push(CurvePoint {
                tick,
                regret: self.regret,
                reward: self.reward,
                transfers: self.traffic.transfers(),
                bytes: self.traffic.bytes,
            });
        }
    }
}
