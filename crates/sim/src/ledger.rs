//! What happened in a run, folded as it happens: regret, reward, communication.
//! Nothing is stored per step; a curve keeps at most [`CURVE_POINTS`] points.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use cahoots_core::{Fact, Kind, Message, NodeId, ReleaseFact, Tick, Traffic};
use cahoots_privacy::Accountant;
use serde::{Deserialize, Serialize};

use crate::world::{BlockPull, Pull, Sides, Worth};

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

/// Expected reward and pseudo-regret under one objective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Pseudo-regret, without any loss for communication.
    pub regret: f64,
    /// Expected reward.
    pub reward: f64,
}

impl Tally {
    fn add(&mut self, pulls: f64, worth: Worth) {
        self.regret += (worth.best - worth.expected) * pulls;
        self.reward += worth.expected * pulls;
    }
}

/// One run under three objectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Tallies {
    /// Each client's own reward.
    pub local: Tally,
    /// The average over clients of the pulled arm's reward.
    pub global: Tally,
    /// The run's own objective, which may mix the two.
    pub mixed: Tally,
}

/// What a run comes to. The same type all the way from the simulator to the files of results, flattened
/// where it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Decisions, of all clients together.
    pub steps: u64,
    /// Pseudo-regret: best expectation on offer minus the chosen arm's; and the loss for communication
    /// where the algorithm's paper counts one.
    pub regret: f64,
    /// Realised reward.
    pub reward: f64,
    /// What arms drawn uniformly from the same offers would have paid in expectation, where the world says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_reward: Option<f64>,
    /// Messages.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Copies that receivers dropped because they had seen them.
    pub duplicates_dropped: u64,
    /// Messages that receivers refused.
    pub refused: u64,
    /// Decisions on whose reward the client gave up: it never came, or too late.
    pub abandoned: u64,
    /// Rewards that came after that; nothing was learned from them.
    #[serde(default)]
    pub late_rewards: u64,
    /// Rewards outside of what the algorithm clips them to.
    #[serde(default)]
    pub clipped_rewards: u64,
}

impl Totals {
    /// The reward, as many times what a random choice earns; none where that is not known.
    pub fn normalised_reward(&self) -> Option<f64> {
        self.random_reward.filter(|random| *random != 0.0).map(|random| self.reward / random)
    }
}

/// What one client's part of a run comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientTotals {
    /// Interactions.
    pub steps: u64,
    /// Pseudo-regret, without any loss for communication.
    pub regret: f64,
    /// Realised reward.
    pub reward: f64,
    /// Charged messages that it sent.
    pub sent: u64,
    /// Charged messages that were sent to it.
    pub received: u64,
    /// Encoded bytes of those that it sent.
    pub sent_bytes: u64,
    /// Encoded bytes of those that were sent to it.
    pub received_bytes: u64,
}

/// Facts of one run: its [`Totals`], which it can be read as, and all that is behind them.
#[derive(Clone, Debug, Serialize)]
pub struct Ledger {
    /// What it comes to.
    #[serde(flatten)]
    pub totals: Totals,
    /// The part of the regret that is a loss for communication.
    pub communication_loss: f64,
    /// Where clients differ: the run under three objectives.
    pub objectives: Option<Tallies>,
    /// The part of the regret that comes from pulls made while waiting for others.
    pub waiting_regret: f64,
    /// Last value of each reported metric.
    pub metrics: BTreeMap<Cow<'static, str>, f64>,
    /// Releases, by kind.
    pub releases: Vec<ReleaseCount>,
    /// What they cost.
    #[serde(skip)]
    pub accountant: Accountant,
    /// The run over time.
    pub curve: Vec<CurvePoint>,
    /// Client by client, where that was asked for; empty otherwise.
    #[serde(skip)]
    pub clients: Vec<ClientTotals>,
    #[serde(skip)]
    every: u64,
    #[serde(skip)]
    horizon: Tick,
}

impl Deref for Ledger {
    type Target = Totals;

    fn deref(&self) -> &Totals {
        &self.totals
    }
}

impl DerefMut for Ledger {
    fn deref_mut(&mut self) -> &mut Totals {
        &mut self.totals
    }
}

impl Ledger {
    /// An empty ledger for `horizon` ticks.
    pub fn new(horizon: Tick) -> Self {
        Ledger {
            totals: Totals::default(),
            communication_loss: 0.0,
            objectives: None,
            waiting_regret: 0.0,
            metrics: BTreeMap::new(),
            releases: Vec::new(),
            accountant: Accountant::default(),
            curve: Vec::new(),
            clients: Vec::new(),
            every: horizon.div_ceil(CURVE_POINTS).max(1),
            horizon,
        }
    }

    /// A pull.
    pub fn pull(&mut self, pull: &Pull) {
        self.steps += 1;
        self.regret += pull.best - pull.expected;
        self.reward += pull.reward;
        self.tally(1, Worth { expected: pull.expected, best: pull.best }, pull.sides);
    }

    /// What a random choice would have paid in place of the last pull, where that is known.
    pub fn random(&mut self, expected: Option<f64>) {
        if let Some(expected) = expected {
            *self.random_reward.get_or_insert_default() += expected;
        }
    }

    /// Several pulls of one arm.
    pub fn block(&mut self, pulls: u64, block: &BlockPull) {
        self.steps += pulls;
        self.regret += (block.best - block.expected) * pulls as f64;
        self.reward += block.sum;
        self.tally(pulls, Worth { expected: block.expected, best: block.best }, block.sides);
    }

    /// Whose pulls they were: so many, each with this regret, with this reward in all.
    pub fn by_client(&mut self, client: NodeId, pulls: u64, regret: f64, reward: f64) {
        if let Some(own) = self.clients.get_mut(client.index()) {
            own.steps += pulls;
            own.regret += regret * pulls as f64;
            own.reward += reward;
        }
    }

    /// Pulls that were made while waiting for others, and each one's regret.
    pub fn waited(&mut self, pulls: u64, regret: f64) {
        self.waiting_regret += regret * pulls as f64;
        self.metrics.insert("waiting_regret".into(), self.waiting_regret);
        *self.metrics.entry("waiting_pulls".into()).or_default() += pulls as f64;
    }

    fn tally(&mut self, pulls: u64, mixed: Worth, sides: Option<Sides>) {
        let Some(sides) = sides else { return };
        let pulls = pulls as f64;
        let tallies = self.objectives.get_or_insert_default();
        tallies.local.add(pulls, sides.local);
        tallies.global.add(pulls, sides.global);
        tallies.mixed.add(pulls, mixed);
    }

    /// A message that was sent (once, however often the network repeats it).
    pub fn message(&mut self, from: NodeId, to: NodeId, message: &impl Message) {
        self.traffic.count(message);
        if self.clients.is_empty() || message.kind() == Kind::Control {
            return;
        }
        // The server is nobody's index.
        let bytes = message.wire_len() as u64;
        if let Some(sender) = self.clients.get_mut(from.index()) {
            sender.sent += 1;
            sender.sent_bytes += bytes;
        }
        if let Some(receiver) = self.clients.get_mut(to.index()) {
            receiver.received += 1;
            receiver.received_bytes += bytes;
        }
    }

    /// What a machine reported.
    pub fn fact(&mut self, machine: NodeId, fact: Fact) {
        match fact {
            Fact::Release(fact) => self.release(machine, &fact),
            Fact::Rounds(rounds) => self.traffic.rounds += rounds,
            Fact::CommunicationLoss(loss) => {
                self.communication_loss += loss;
                self.regret += loss;
                self.metrics.insert("communication_loss".into(), self.communication_loss);
            }
            Fact::Clusters(clusters) => {
                self.metrics.insert("clusters".into(), clusters as f64);
            }
            Fact::Level(name, value) => {
                self.metrics.insert(name, value);
            }
            // Counted where it was refused.
            Fact::Refused { .. } => {}
            Fact::Count(name, value) => *self.metrics.entry(name).or_default() += value,
        }
    }

    fn release(&mut self, machine: NodeId, fact: &ReleaseFact) {
        self.accountant.record(machine, fact);
        match self.releases.iter_mut().find(|known| known.fact == *fact) {
            Some(known) => known.times += 1,
            None => self.releases.push(ReleaseCount { fact: fact.clone(), times: 1 }),
        }
    }

    /// Shows the objectives among the metrics.
    fn report_objectives(&mut self) {
        let Some(Tallies { local, global, mixed }) = self.objectives else { return };
        for (regret, reward, tally) in [
            ("regret_local", "reward_local", local),
            ("regret_global", "reward_global", global),
            ("regret_mixed", "reward_mixed", mixed),
        ] {
            self.metrics.insert(regret.into(), tally.regret);
            self.metrics.insert(reward.into(), tally.reward);
        }
    }

    /// The next tick at which the curve gets a point.
    pub fn next_point(&self, now: Tick) -> Tick {
        ((now / self.every + 1) * self.every).min(self.horizon)
    }

    /// A tick is over.
    pub fn tick(&mut self, tick: Tick) {
        if tick.is_multiple_of(self.every) || tick == self.horizon {
            self.report_objectives();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_counts_under_every_objective() {
        let worth = |expected, best| Worth { expected, best };
        let sides = Some(Sides { local: worth(0.25, 1.0), global: worth(0.5, 0.5) });
        let mut ledger = Ledger::new(10);
        ledger.pull(&Pull { reward: 1.0, expected: 0.375, best: 0.625, sides });
        ledger.block(3, &BlockPull { sum: 2.0, expected: 0.375, best: 0.625, sides });
        let tallies = ledger.objectives.unwrap();
        assert_eq!((tallies.local.regret, tallies.local.reward), (3.0, 1.0));
        assert_eq!((tallies.global.regret, tallies.global.reward), (0.0, 2.0));
        assert_eq!((tallies.mixed.regret, tallies.mixed.reward), (1.0, 1.5));
        assert_eq!((ledger.regret, ledger.reward), (1.0, 3.0));
        ledger.tick(10);
        assert_eq!(ledger.metrics["reward_global"], 2.0);
    }

    #[test]
    fn rewards_are_seen_beside_those_of_a_random_choice_where_these_are_known() {
        let mut ledger = Ledger::new(10);
        let pull = Pull { reward: 1.0, expected: 1.0, best: 1.0, sides: None };
        ledger.pull(&pull);
        ledger.random(None);
        assert_eq!((ledger.random_reward, ledger.normalised_reward()), (None, None));
        for _ in 0..3 {
            ledger.pull(&pull);
            ledger.random(Some(0.25));
        }
        assert_eq!((ledger.random_reward, ledger.normalised_reward()), (Some(0.75), Some(4.0 / 0.75)));
    }

    #[test]
    fn a_loss_for_communication_is_inside_the_regret_and_apart() {
        let mut ledger = Ledger::new(10);
        ledger.pull(&Pull { reward: 0.0, expected: 0.0, best: 0.5, sides: None });
        for fact in [Fact::CommunicationLoss(8.0), Fact::CommunicationLoss(8.0), Fact::Rounds(2)] {
            ledger.fact(NodeId::SERVER, fact);
        }
        assert_eq!((ledger.regret, ledger.communication_loss, ledger.traffic.rounds), (16.5, 16.0, 2));
        assert_eq!(ledger.metrics["communication_loss"], 16.0);
        assert_eq!(ledger.objectives, None);
    }
}
