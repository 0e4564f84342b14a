//! The simulator's driver: one federation, one world, one seed, one thread.
//!
//! A step is: messages and late rewards that are due, then arrivals in index
//! order, then the wakes of this tick; after each, messages are delivered until
//! all is quiet.

mod blocks;
mod books;
mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

use cahoots_core::drive::{Encoded, Event, Host, Incoming, LearnerHost, Outcome, Typed};
use cahoots_core::{
    Algorithm, ArmBuffer, DecisionId, Effects, Keys, Learner, Machine, Membership, NodeId, Seats, Tick,
    UserId, message,
};

pub use books::{Decided, DecisionObserver, MessageObserver};

use self::books::{Books, Sending};
use crate::arrivals::Arrivals;
use crate::ledger::{ClientTotals, Ledger};
use crate::network::{Network, Wire};
use crate::poison::Liars;
use crate::rewards::{Fate, Rewards};
use crate::world::World;

/// How a run is driven. None of it changes a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Send every message through its encoded bytes, as a network would.
    pub encode: bool,
    /// Save and restore a machine after each of its steps.
    pub restore: bool,
    /// Never run planned pulls as a block.
    pub single_steps: bool,
    /// Count client by client, too.
    pub per_client: bool,
}

/// A federation in a world, by type: step by step, or to its end.
///
/// ```
/// use cahoots_algorithms::async_linucb::AsyncLinucb;
/// use cahoots_sim::driver::Options;
/// use cahoots_sim::run::{Scenario, prepare};
/// use cahoots_sim::worlds::Worlds;
/// use serde_json::json;
///
/// let environment = json!({ "kind": "linear", "clients": 3, "dim": 2, "arms": 4 });
/// let scenario: Scenario =
///     serde_json::from_value(json!({ "horizon": 50, "environment": environment })).unwrap();
/// let params = json!({ "ratio": 1.5 });
/// let mut simulation =
///     prepare::<AsyncLinucb>(&Worlds::ours(), &params, &scenario, 1, Options::default()).unwrap();
/// simulation.step();
/// assert_eq!(simulation.ledger().steps, 1);
/// let ledger = simulation.run(&mut |_| true).expect("nobody stops it");
/// assert_eq!(ledger.steps, 50);
/// assert!(ledger.traffic.uploads > 0);
/// ```
pub struct Simulation<A: Algorithm> {
    valid: A::Valid,
    engine: Engine<A::Client, A::Server>,
}

/// All of a simulation that depends on its machines alone: algorithms that share machines share this code too.
pub struct Engine<C: Learner, S> {
    world: Box<dyn World>,
    arrivals: Arrivals,
    rewards: Rewards,
    liars: Liars,
    options: Options,
    seed: u64,
    horizon: Tick,
    now: Tick,
    keys: Keys,
    seats: Seats,
    /// What clients clip rewards to, where one may lie outside: the sum of a block does not allow that.
    clipped: Option<(f64, f64)>,
    clients: Vec<LearnerHost<C>>,
    server: Host<S>,
    joined: Vec<bool>,
    books: Books<C::Msg>,
    wakes: BTreeSet<(Tick, NodeId)>,
    late: BTreeMap<Tick, Vec<LateReward>>,
    effects: Effects<C::Msg>,
    arms: ArmBuffer,
    arriving: Vec<UserId>,
}

impl<A: Algorithm> Deref for Simulation<A> {
    type Target = Engine<A::Client, A::Server>;

    fn deref(&self) -> &Self::Target {
        &self.engine
    }
}

impl<A: Algorithm> DerefMut for Simulation<A> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.engine
    }
}

struct LateReward {
    client: NodeId,
    decision: DecisionId,
    what: Due,
}

/// What happens to a decision that was waiting.
#[derive(Clone, Copy)]
enum Due {
    /// Its reward comes.
    Reward(f64),
    /// Its client gives up.
    GivenUp,
    /// Its reward comes after that.
    TooLate,
}

impl<A: Algorithm> Simulation<A> {
    /// A federation at tick 0.
    pub fn new(
        valid: A::Valid,
        mut world: Box<dyn World>,
        arrivals: Arrivals,
        network: Network,
        rewards: Rewards,
        seed: u64,
        options: Options,
    ) -> Self {
        if let Some(own) = A::personalization(&valid) {
            world.pursue(own);
        }
        let clipped = A::clips(&valid).filter(|&(low, high)| {
            world.reward_range().is_none_or(|(least, most)| least < low || most > high)
        });
        let setting = world.setting();
        let seats = Seats::of::<A>(&valid, setting);
        let clients: Vec<_> = (0..seats.clients() as u32)
            .map(|client| {
                let seat = seats.seat(NodeId(client));
                let learner = A::client(&valid, &seat);
                // Simulated apps do not repeat their rewards.
                LearnerHost::new(seat, learner, 0)
            })
            .collect();
        let seat = seats.seat(NodeId::SERVER);
        let horizon = setting.horizon;
        let server = A::server(&valid, &seat);
        let mut ledger = Ledger::new(horizon);
        if options.per_client {
            ledger.clients = vec![ClientTotals::default(); clients.len()];
        }
        let liars = Liars::draw(&rewards, seed, setting, world.reward_range());
        if rewards.liars > 0.0 {
            ledger.metrics.insert("liars".into(), liars.count() as f64);
        }
        let engine = Engine {
            server: Host::new(seat, server),
            arrivals,
            rewards,
            liars,
            options,
            seed,
            horizon,
            now: 0,
            keys: Keys::from_seed(seed),
            seats,
            clipped,
            joined: vec![false; clients.len()],
            clients,
            books: Books { wire: Wire::new(network, seed), ledger, observer: None, watcher: None },
            wakes: BTreeSet::new(),
            late: BTreeMap::new(),
            effects: Effects::default(),
            arms: ArmBuffer::default(),
            arriving: Vec::new(),
            world,
        };
        Simulation { valid, engine }
    }
}

impl<C: Learner, S: Machine<Msg = C::Msg>> Engine<C, S> {
    /// Shows every message to `observer` as it is sent (once, however often the network repeats it).
    pub fn on_message(&mut self, observer: MessageObserver<C::Msg>) {
        self.books.observer = Some(observer);
    }

    /// Shows every decision to `watcher` as it is made, with its probability and its reward.
    pub fn on_decision(&mut self, watcher: DecisionObserver) {
        self.books.watcher = Some(watcher);
    }

    /// Runs to the horizon. `progress` is called now and then with the tick; its
    /// `false` stops the run, and then `None` is returned.
    pub fn run(&mut self, progress: &mut dyn FnMut(Tick) -> bool) -> Option<&Ledger> {
        while self.now < self.horizon {
            if self.now.is_multiple_of(64) && !progress(self.now) {
                return None;
            }
            self.step();
        }
        Some(&self.books.ledger)
    }

    /// One tick, or one block of planned ticks.
    pub fn step(&mut self) {
        if self.now == 0 {
            self.start();
        }
        let block = self.block_length();
        if block > 1 {
            self.run_block(block);
            return;
        }
        self.now += 1;
        self.books.wire.advance(self.now);
        self.deliver();
        self.late_rewards();
        let mut arriving = std::mem::take(&mut self.arriving);
        self.arrivals.at(self.now, &mut arriving);
        for &user in &arriving {
            self.arrive(user);
        }
        self.arriving = arriving;
        self.wake_due();
        self.books.ledger.tick(self.now);
    }

    fn start(&mut self) {
        self.event::<Typed<_>>(NodeId::SERVER, Event::Start);
        for client in 0..self.clients.len() as u32 {
            self.event::<Typed<_>>(NodeId(client), Event::Start);
        }
        self.deliver();
    }

    /// A user arrives: decision, reward, and all that follows from it.
    fn arrive(&mut self, user: UserId) {
        let node = self.seats.seat_of(user);
        let index = node.index();
        if !std::mem::replace(&mut self.joined[index], true) {
            self.event::<Typed<_>>(NodeId::SERVER, Event::Membership(Membership::Joined(node)));
            self.deliver();
        }
        self.world.offer(self.now, user, &mut self.arms);
        let client = &mut self.clients[index];
        let arms = self.arms.arm_set(client.host().seat()).expect("worlds offer arms that fit their setting");
        let choice = client.choose(user, arms, &self.keys);
        if !self.world.answers(self.now, user, choice.arm()) {
            return;
        }
        let waits = client.machine().waits();
        self.world.set_waiting(waits);
        let pull = self.world.pull(self.now, user, &self.arms, choice.arm());
        if let Some(watcher) = &mut self.books.watcher {
            let (tick, picked, reward) = (self.now, choice.picked, pull.reward);
            watcher(&Decided { tick, user, arms: &self.arms, picked, reward });
        }
        // What liars earn is nobody's loss.
        let lies = self.liars.has(user);
        if !lies {
            self.books.ledger.pull(&pull);
            self.books.ledger.random(self.world.random_reward(self.now, user, &self.arms));
            if self.clipped.is_some_and(|(low, high)| pull.reward < low || pull.reward > high) {
                self.books.ledger.clipped_rewards += 1;
            }
            self.books.ledger.by_client(node, 1, pull.best - pull.expected, pull.reward);
            if waits {
                self.books.ledger.waited(1, pull.best - pull.expected);
            }
        }
        let told = if lies { self.liars.said(&self.arms, choice.arm(), pull.reward) } else { pull.reward };
        let pending = choice.pending;
        match self.rewards.fate(self.seed, self.now, user) {
            Fate::AtOnce if !self.options.restore => {
                self.learner(index, |client, now, keys, effects, out| {
                    client.settle(now, pending, told, keys, effects, out);
                })
            }
            Fate::AtOnce => {
                let decision = self.decide(index, pending);
                self.reward(index, decision, told);
            }
            Fate::Late(due) => self.await_reward(index, pending, &[(due, Due::Reward(told))]),
            Fate::Lost(due) => self.await_reward(index, pending, &[(due, Due::GivenUp)]),
            Fate::TooLate { given_up, comes } => {
                self.await_reward(index, pending, &[(given_up, Due::GivenUp), (comes, Due::TooLate)]);
            }
        }
        self.deliver();
        if lies {
            self.forge(index, user);
        }
    }

    /// A liar decides among the same arms again, as often as it says that it has.
    fn forge(&mut self, index: usize, user: UserId) {
        for _ in 1..self.liars.copies() {
            let client = &mut self.clients[index];
            let arms = self.arms.arm_set(client.host().seat()).expect("offered a moment ago");
            let choice = client.choose(user, arms, &self.keys);
            let told = self.liars.said(&self.arms, choice.arm(), 0.0);
            let decision = self.decide(index, choice.pending);
            self.reward(index, decision, told);
            self.deliver();
        }
    }

    fn decide(&mut self, index: usize, pending: C::Pending) -> DecisionId {
        let decision = self.clients[index].next_id(0);
        self.learner(index, |client, now, keys, effects, out| {
            client.decide(now, decision, pending, keys, effects, out);
        });
        decision
    }

    fn reward(&mut self, index: usize, decision: DecisionId, reward: f64) {
        self.learner(index, |client, now, keys, effects, out| {
            client.reward(now, decision, reward, keys, effects, out).expect("the decision is open");
        });
    }

    fn await_reward(&mut self, index: usize, pending: C::Pending, dues: &[(Tick, Due)]) {
        let decision = self.decide(index, pending);
        for &(due, what) in dues {
            let late = LateReward { client: NodeId(index as u32), decision, what };
            self.late.entry(due).or_default().push(late);
        }
    }

    fn late_rewards(&mut self) {
        while let Some(entry) = self.late.first_entry()
            && *entry.key() <= self.now
        {
            for LateReward { client, decision, what } in entry.remove() {
                match what {
                    Due::Reward(reward) => self.reward(client.index(), decision, reward),
                    Due::GivenUp => {
                        self.books.ledger.abandoned += 1;
                        self.learner(client.index(), |client, now, keys, effects, out| {
                            client.abandon(now, decision, keys, effects, out).expect("the decision is open");
                        });
                    }
                    Due::TooLate => self.books.ledger.late_rewards += 1,
                }
                self.deliver();
            }
        }
    }

    fn wake_due(&mut self) {
        while let Some(&(tick, node)) = self.wakes.first()
            && tick <= self.now
        {
            self.event::<Typed<_>>(node, Event::Wake);
            self.deliver();
        }
    }

    /// Delivers messages until nothing is due any more.
    fn deliver(&mut self) {
        while let Some(delivery) = self.books.wire.take() {
            let (from, to, sequence) = (delivery.from, delivery.to, delivery.sequence);
            let outcome = if self.options.encode {
                let bytes = message::encode(&delivery.message);
                self.event(to, Event::Message { from, sequence, skipped: 0, message: Encoded(&bytes) })
            } else {
                let message = Typed(delivery.message);
                self.event(to, Event::Message { from, sequence, skipped: 0, message })
            };
            match outcome {
                Outcome::Done => {}
                Outcome::Seen => self.books.ledger.duplicates_dropped += 1,
                Outcome::Refused(misbehaviour) => {
                    self.books.ledger.refused += 1;
                    debug_assert!(false, "{to} refused a message from {from}: {misbehaviour}");
                }
            }
        }
    }

    /// Something happens to a machine.
    fn event<T: Incoming<C::Msg>>(&mut self, node: NodeId, event: Event<T>) -> Outcome {
        let mut outcome = Ok(Outcome::Done);
        if node == NodeId::SERVER {
            let before = self.server.wake();
            let (now, keys, effects) = (self.now, &self.keys, &mut self.effects);
            let mut out = Sending { now, from: node, books: &mut self.books };
            outcome = self.server.apply(now, event, keys, effects, &mut out);
            if self.options.restore {
                let bytes = self.server.save();
                self.server = Host::restore(self.server.seat().clone(), &bytes).expect("saved a moment ago");
            }
            let after = self.server.wake();
            self.carry_out(node, before, after);
        } else {
            self.learner(node.index(), |client, now, keys, effects, out| {
                outcome = client.apply(now, event, keys, effects, out);
            });
        }
        outcome.unwrap_or_else(Outcome::Refused)
    }

    /// A step of one client.
    fn learner(
        &mut self,
        index: usize,
        step: impl FnOnce(&mut LearnerHost<C>, Tick, &Keys, &mut Effects<C::Msg>, &mut Sending<'_, C::Msg>),
    ) {
        let node = NodeId(index as u32);
        let client = &mut self.clients[index];
        let before = client.host().wake();
        let mut out = Sending { now: self.now, from: node, books: &mut self.books };
        step(client, self.now, &self.keys, &mut self.effects, &mut out);
        if self.options.restore {
            let seat = client.host().seat().clone();
            *client = LearnerHost::restore(seat, &client.save(), 0).expect("saved a moment ago");
        }
        let after = client.host().wake();
        self.carry_out(node, before, after);
    }

    /// Notes a changed wake, and what a step reported.
    fn carry_out(&mut self, node: NodeId, before: Option<Tick>, after: Option<Tick>) {
        if before != after {
            if let Some(tick) = before {
                self.wakes.remove(&(tick, node));
            }
            if let Some(tick) = after {
                self.wakes.insert((tick, node));
            }
        }
        for fact in self.effects.facts.drain(..) {
            self.books.ledger.fact(node, fact);
        }
    }
}
